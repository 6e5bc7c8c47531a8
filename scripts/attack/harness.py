"""What all sections share: running the program under watch, and the table."""

import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import tempfile
import threading
import time

TRAPS = {signal.SIGILL, signal.SIGTRAP, signal.SIGABRT, signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE}
MOST_REFUSAL_BYTES = 256 << 20


class Result:
    """How a run of the program ended."""

    def __init__(self, code, signal_number, peak, seconds, out, err, timed_out):
        self.code, self.signal, self.peak, self.seconds = code, signal_number, peak, seconds
        self.out, self.err, self.timed_out = out, err, timed_out

    @property
    def is_trap(self):
        return self.signal in TRAPS or self.code in (132, 133, 134, 135, 136, 139)


class Running:
    """A run of the program that can be signalled."""

    def __init__(self, words, environment, limits, before):
        self.start = time.monotonic()
        self.out, self.err = tempfile.TemporaryFile(), tempfile.TemporaryFile()

        def prepare():
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            for name, value in limits.items():
                resource.setrlimit(name, (value, value))
            if before:
                before()

        self.process = subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=self.out, stderr=self.err, env=environment, preexec_fn=prepare
        )

    def send(self, number):
        try:
            os.kill(self.process.pid, number)
        except ProcessLookupError:
            pass

    def finish(self, timeout):
        """Waits for the end; a run that lasts too long is killed and counted."""
        timed_out = threading.Event()

        def kill():
            timed_out.set()
            self.send(signal.SIGKILL)

        timer = threading.Timer(timeout, kill)
        timer.start()
        _, status, usage = os.wait4(self.process.pid, 0)
        timer.cancel()
        self.process.returncode = 0
        seconds = time.monotonic() - self.start
        texts = []
        for file in (self.out, self.err):
            file.seek(0)
            texts.append(file.read(1 << 20).decode("utf-8", "replace"))
            file.close()
        code = os.WEXITSTATUS(status) if os.WIFEXITED(status) else None
        number = os.WTERMSIG(status) if os.WIFSIGNALED(status) else None
        return Result(code, number, usage.ru_maxrss * 1024, seconds, *texts, timed_out.is_set())


class Row:
    """The attempts of one class."""

    def __init__(self, section, name):
        self.section, self.name = section, name
        self.count, self.faults, self.skipped = 0, [], None
        self.peak, self.seconds, self.note = 0, 0.0, ""


class Harness:
    def __init__(self, program, root, folder, is_quick):
        self.program, self.root, self.folder, self.is_quick = program, root, folder, is_quick
        self.rows = []
        self.number = 0

    def count(self, wanted):
        return max(3, wanted // 10) if self.is_quick else wanted

    def place(self, name="place"):
        """An empty folder."""
        self.number += 1
        path = self.folder / f"{name}-{self.number}"
        path.mkdir()
        return path

    def row(self, section, name):
        row = Row(section, name)
        self.rows.append(row)
        return row

    def add(self, rows):
        """Takes rows of another process."""
        for values in rows:
            row = self.row(values["section"], values["name"])
            vars(row).update(values)

    def environment(self, store, **more):
        keep = {name: os.environ[name] for name in ("PATH", "LD_LIBRARY_PATH") if name in os.environ}
        return {
            **keep,
            "HOME": str(self.folder),
            "TMPDIR": str(self.folder),
            "GENBENCH_HOME": str(self.root),
            "GENBENCH_MODELS": str(store),
            "CI": "1",
            **more,
        }

    def begin(self, store, *words, limits=None, before=None, prefix=(), **more):
        command = [*prefix, self.program, *map(str, words)]
        return Running(command, self.environment(store, **more), limits or {}, before)

    def run(self, store, *words, timeout=60, **options):
        return self.begin(store, *words, **options).finish(timeout)

    def judge(self, row, what, result, allowed=None, extra=None):
        """Counts an attempt; `extra` are further faults that were seen."""
        row.count += 1
        row.seconds = max(row.seconds, result.seconds)
        faults = list(extra or [])
        if result.timed_out:
            faults.append("runs on")
        elif result.is_trap:
            faults.append(f"traps ({result.signal or result.code})")
        elif allowed is not None and result.code not in allowed:
            faults.append(f"exit {result.code if result.signal is None else -result.signal}: {result.err.strip()[-200:]}")
        if result.code != 0:
            row.peak = max(row.peak, result.peak)
            if result.peak > MOST_REFUSAL_BYTES:
                faults.append(f"{result.peak >> 20} MB")
        if faults:
            row.faults.append(f"{what}: {'; '.join(faults)}")
            print(f"  FAULT {row.section}/{row.name} {row.faults[-1]}", flush=True)
        return not faults

    @property
    def failures(self):
        return sum(len(row.faults) for row in self.rows)

    def table(self):
        lines = ["| section | class | attempts | held | longest, s | peak of refusals, MB | note |", "|---|---|---:|---:|---:|---:|---|"]
        for row in self.rows:
            if row.skipped:
                lines.append(f"| {row.section} | {row.name} | 0 | | | | skipped: {row.skipped} |")
                continue
            peak = str((row.peak >> 20) + 1) if row.peak else ""
            lines.append(
                f"| {row.section} | {row.name} | {row.count} | {row.count - len(row.faults)} | {row.seconds:.1f} | {peak} | {row.note} |"
            )
        total = sum(row.count for row in self.rows)
        lines += ["", f"{total} attempts, {total - self.failures} held."]
        faults = [f"* {row.section}, {row.name}: {fault}" for row in self.rows for fault in row.faults]
        if faults:
            lines += ["", "What fell:", "", *(re.sub(r"/tmp/attack\.[^/ ]*", "…", line.replace("\n", " ")) for line in faults[:60])]
        return lines


def tree(folder):
    """All names below a folder, with what they are."""
    names = set()
    for place, folders, files in os.walk(folder):
        for name in folders + files:
            names.add(os.path.relpath(os.path.join(place, name), folder))
    return names


def copy(source, target):
    shutil.copytree(source, target, symlinks=True)
    return pathlib.Path(target)
