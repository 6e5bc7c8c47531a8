"""Quiet stretches of the machine, and how quiet they were."""

import os
import pathlib
import resource
import shlex
import subprocess
import time

TICKS = os.sysconf("SC_CLK_TCK")


class Quiet:
    """Holds the machine quiet while a `with` block runs, through a command that silences it while its arguments run.

    Without a command it does nothing.
    """

    def __init__(self, command):
        self.command = shlex.split(command) if command else []
        self.process = None

    def __enter__(self):
        if self.command:
            self.process = subprocess.Popen(
                [*self.command, "sh", "-c", "echo ready; cat >/dev/null"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )
            self.process.stdout.readline()
        return self

    def __exit__(self, *_):
        if self.process:
            self.process.stdin.close()
            self.process.wait()
            self.process.stdout.close()
            self.process = None


def rename_process(name):
    """Gives this process another name in `ps`, so that it isn't taken for one of the programs that are silenced."""
    path = pathlib.Path("/proc/self/comm")
    if path.exists():
        path.write_text(name)


def process_seconds(pid):
    """CPU time of a process and of its children that it has waited for, or 0."""
    try:
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(int(field) for field in fields[11:15]) / TICKS


class ForeignLoad:
    """The share of the machine's CPU time that others took during a `with` block; None where /proc is absent.

    `pids` are processes of the measurement that go on living; one-shot children of this process count by themselves.
    """

    def __init__(self, *pids):
        self.pids = pids
        self.share = None

    def __enter__(self):
        self.start = self.read()
        return self

    def __exit__(self, *_):
        end = self.read()
        if self.start is None or end is None:
            return
        busy, own, clock = (b - a for a, b in zip(self.start, end))
        self.share = max(0.0, busy - own) / (clock * (os.cpu_count() or 1)) if clock > 0 else None

    def read(self):
        try:
            first = pathlib.Path("/proc/stat").read_text().splitlines()[0].split()
        except OSError:
            return None
        user, nice, system, _, _, irq, softirq, steal = (int(field) for field in first[1:9])
        children = resource.getrusage(resource.RUSAGE_CHILDREN)
        own = children.ru_utime + children.ru_stime + sum(process_seconds(pid) for pid in self.pids)
        return (user + nice + system + irq + softirq + steal) / TICKS, own, time.monotonic()
