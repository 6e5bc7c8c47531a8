"""Runs the sections of the attack and writes their table. Standard library only."""

import argparse
import concurrent.futures
import datetime
import importlib
import json
import os
import pathlib
import platform
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from harness import Harness  # noqa: E402

SECTIONS = ["servers", "archives", "pairs", "kills", "images", "places"]


def rows_of(name, program, root, is_quick):
    """The rows of one section."""
    folder = tempfile.mkdtemp(prefix="attack.")
    harness = Harness(program, root, pathlib.Path(folder), is_quick)
    print(f"{name} …", flush=True)
    try:
        importlib.import_module(name).attack(harness)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return [vars(row) for row in harness.rows]


def main():
    root = pathlib.Path(__file__).resolve().parents[2]
    parser = argparse.ArgumentParser(description="Attack the built genbench program.")
    parser.add_argument("sections", nargs="*", help=" ".join(SECTIONS) + "; all when none is named")
    parser.add_argument("--program", help="the program; else the newest of .build/release and .build/debug")
    parser.add_argument("--report", default=str(root / "Reports/reference/robustness.md"), help="the table's file")
    parser.add_argument("--quick", action="store_true", help="a tenth of the counts")
    parser.add_argument("--jobs", type=int, default=1, help="sections at once; times are longer then")
    parser.add_argument("--rows", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    for name in arguments.sections:
        if name not in SECTIONS:
            parser.error(f"'{name}' is no section; expected some of {' '.join(SECTIONS)}")
    built = [root / ".build" / kind / "genbench" for kind in ("release", "debug")]
    built = sorted((path for path in built if path.exists()), key=lambda path: path.stat().st_mtime)
    program = arguments.program or (str(built[-1]) if built else None)
    if program is None or not os.access(program, os.X_OK):
        parser.error("the program isn't built; run 'swift build', or give --program FILE")
    program = os.path.abspath(program)
    sections = arguments.sections or SECTIONS
    if arguments.rows:
        pathlib.Path(arguments.rows).write_text(json.dumps(rows_of(sections[0], program, root, arguments.quick)))
        return 0

    def one(name):
        """A section in a process of its own, so that one that breaks takes no other along."""
        with tempfile.NamedTemporaryFile(prefix="attack-rows.") as file:
            words = [sys.executable, __file__, name, "--program", program, "--rows", file.name]
            ended = subprocess.run(words + (["--quick"] if arguments.quick else []), check=False)
            text = file.read()
        broken = {"section": name, "name": "the section itself", "count": 1, "faults": [f"exit {ended.returncode}"]}
        return json.loads(text) if text else [broken]

    harness = Harness(program, root, None, arguments.quick)
    with concurrent.futures.ThreadPoolExecutor(max(1, arguments.jobs)) as pool:
        for rows in pool.map(one, sections):
            harness.add(rows)
    kind = "debug" if "/debug/" in os.path.realpath(program) else "release"
    text = "\n".join(
        [
            "# Robustness",
            "",
            f"Written by `scripts/attack.sh` on {datetime.date.today()}, {platform.system()} {platform.machine()}, "
            f"{os.cpu_count()} processors, {kind} build{', --quick' if arguments.quick else ''}.",
            "",
            "An attempt holds when the program ends by itself within its time, with an exit code that the attempt allows, without a",
            "trap, with less than 256 MB of peak memory where it refuses, and when the store, what lies beside it and what was",
            "acknowledged are as they should be. Signals: the time from the signal to the end.",
            "",
            *harness.table(),
            "",
        ]
    )
    pathlib.Path(arguments.report).write_text(text)
    print(text)
    return 1 if harness.failures else 0


if __name__ == "__main__":
    sys.exit(main())
