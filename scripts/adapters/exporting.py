"""Exports that are made once: a folder of the cache named by the content of the model, the versions and the settings.

Standard library only: the adapters ask here for an export and have it made by another environment's Python.
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def cache():
    return os.environ.get("GENBENCH_CACHE") or os.path.expanduser("~/.cache/genbench")


def content_hash(path, *more):
    """Of a folder's or file's names and bytes, and of other words (versions, settings)."""
    total = hashlib.sha256("\0".join(more).encode())
    files = [path] if os.path.isfile(path) else sorted(os.path.join(folder, name) for folder, _, names in os.walk(path) for name in names)
    for name in files:
        total.update(os.path.relpath(name, path).encode() + b"\0")
        with open(name, "rb") as file:
            for block in iter(lambda: file.read(1 << 20), b""):
                total.update(block)
    return total.hexdigest()[:24]


def exported(kind, environment, model, *options, force=False):
    """The folder of an export, made now if it isn't there: `export_KIND.py MODEL FOLDER OPTIONS` in an environment of setup.sh.

    Returns the folder. Raises RuntimeError with the script's last words.
    """
    script = os.path.join(HERE, f"export_{kind}.py")
    with open(os.path.join(HERE, f"requirements-{environment}.txt")) as file, open(script) as text:
        versions = file.read() + text.read()
    folder = os.path.join(cache(), kind, content_hash(model, versions, *options))
    os.makedirs(os.path.dirname(folder), exist_ok=True)
    # Two sides of a run may ask for the same export at once.
    with open(f"{folder}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if os.path.isdir(folder) and not force:
            return folder
        python = os.path.join(cache(), "venvs", environment, "bin", "python")
        if not os.path.exists(python):
            raise RuntimeError(f"there is no export of {model} yet; run scripts/adapters/setup.sh {environment} so that one can be made")
        temporary = f"{folder}.part"
        shutil.rmtree(temporary, ignore_errors=True)
        done = subprocess.run([python, script, model, temporary, *options], stdin=subprocess.DEVNULL, stdout=sys.stderr, stderr=subprocess.PIPE, text=True)
        sys.stderr.write(done.stderr)
        if done.returncode:
            shutil.rmtree(temporary, ignore_errors=True)
            raise RuntimeError((done.stderr.strip().splitlines() or ["the export said nothing"])[-1])
        shutil.rmtree(folder, ignore_errors=True)
        os.rename(temporary, folder)
    return folder
