"""Limits of the machine, and files that somebody else has put in the way."""

import json
import os
import pathlib
import resource
import time

from servers import Server, whole


def attack(harness):
    unreadable(harness)
    descriptors(harness)
    memory(harness)
    affinity(harness)
    groups(harness)
    in_use(harness)
    links(harness)


def unreadable(harness):
    row = harness.row("places", "lists that can't be read")
    if os.geteuid() != 0:
        row.skipped = "needs root, to be another user"
        return
    for name in ("index.json", "secrets.json"):
        outer = harness.place()
        outer.chmod(0o777)
        harness.folder.chmod(0o755)
        store = outer / "store"
        user = lambda: os.setuid(65534)  # noqa: E731
        harness.run(store, "models", "register", "m", "http://u:p@127.0.0.1:1/m.bin", before=user)
        if not (store / name).exists():
            row.skipped = "the other user can't run the program here"
            return
        before = (store / name).read_bytes()
        (store / name).chmod(0)
        result = harness.run(store, "models", "register", "n", "http://127.0.0.1:1/n.bin", before=user)
        extra = [] if (store / name).read_bytes() == before else [f"{name} was changed"]
        harness.judge(row, name, result, [73], extra)


def descriptors(harness):
    row = harness.row("places", "ulimit -n")
    steps = range(8, 210, 4 if not harness.is_quick else 40)
    works = {}
    for number in steps:
        for kind in ("download", "generate"):
            server = Server(lambda head, count: whole())
            store = harness.place() / "store"
            limits = {resource.RLIMIT_NOFILE: number}
            if kind == "download":
                harness.run(store, "models", "register", "m", server.url())
                result = harness.run(store, "models", "download", "m", "--retries", "0", limits=limits)
            else:
                words = ["generate", "--variant", "sd15", "--prompt", "x", "--steps", "1", "--width", "64", "--height", "64"]
                words += ["--output", harness.folder / "o.png"]
                result = harness.run(store, *words, limits=limits, timeout=120)
            server.stop()
            extra = ["'Bad file descriptor' tells nobody anything"] if "Bad file descriptor" in result.err else []
            if result.code == 0:
                works.setdefault(kind, number)
            elif kind in works:
                extra.append(f"worked with {works[kind]}")
            harness.judge(row, f"{kind} {number}", result, None, extra)
    row.note = "works from " + ", ".join(f"{number} ({kind})" for kind, number in works.items())


def memory(harness):
    row = harness.row("places", "ulimit -v, listing and downloading")
    for megabytes in (200, 400, 600, 800, 1200, 2000) if not harness.is_quick else (400, 2000):
        server = Server(lambda head, count: whole())
        store = harness.place() / "store"
        harness.run(store, "models", "register", "m", server.url())
        result = harness.run(store, "models", "download", "m", "--retries", "0", limits={resource.RLIMIT_AS: megabytes << 20})
        # Below what the runtime itself maps, the loader ends the program with its own message.
        extra = []
        started = "error while loading shared libraries" not in result.err and result.code != 127
        if not started:
            result.signal, result.code = None, 127
        harness.judge(row, f"{megabytes} MB", result, None, extra)
        server.stop()


def affinity(harness):
    row = harness.row("places", "affinity")
    if not hasattr(os, "sched_setaffinity"):
        row.skipped = "this system has none"
        return
    one = sorted(os.sched_getaffinity(0))[:1]
    result = harness.run(harness.place(), "doctor", "--no-probe", "--json", before=lambda: os.sched_setaffinity(0, one))
    try:
        found = json.loads(result.out)["environment"]["container"]["cpus_allowed"]
    except (ValueError, KeyError):
        found = None
    harness.judge(row, "one processor", result, [0], [] if found == 1 else [f"told as {found}"])


def groups(harness):
    row = harness.row("places", "groups of processes, nested")
    name = f"attack-{os.getpid()}"
    roots = {"memory": pathlib.Path("/sys/fs/cgroup/memory"), "cpu": pathlib.Path("/sys/fs/cgroup/cpu"), "new": pathlib.Path("/sys/fs/cgroup")}
    is_new = (roots["new"] / "cgroup.controllers").exists()
    made = []

    def make(kind, values):
        own = pathlib.Path(open("/proc/self/cgroup").read().strip().split("\n")[0].split(":", 2)[2].lstrip("/")) if is_new else own_path(kind)
        outer = roots["new" if is_new else kind] / own / name
        outer.mkdir()
        made.append(outer)
        for file, value in values.items():
            (outer / file).write_text(value)
        inner = outer / "inner"
        inner.mkdir()
        made.append(inner)
        return inner / "cgroup.procs"

    try:
        if is_new:
            places = [make("new", {"memory.max": str(2 << 30), "cpu.max": "150000 100000"})]
        else:
            places = [make("memory", {"memory.limit_in_bytes": str(2 << 30)}), make("cpu", {"cpu.cfs_period_us": "100000", "cpu.cfs_quota_us": "150000"})]
    except OSError as error:
        row.skipped = f"can't be made here: {error.strerror}"
        for place in reversed(made):
            place.rmdir()
        return

    def enter():
        for place in places:
            place.write_text(str(os.getpid()))

    try:
        result = harness.run(harness.place(), "doctor", "--no-probe", "--json", before=enter)
        try:
            found = json.loads(result.out)["environment"]["container"]
        except (ValueError, KeyError):
            found = {}
        extra = []
        if found.get("memory_limit_bytes") != 2 << 30:
            extra.append(f"memory told as {found.get('memory_limit_bytes')}")
        if found.get("cpu_quota") != 1.5:
            extra.append(f"quota told as {found.get('cpu_quota')}")
        harness.judge(row, "2 GiB, 1.5 processors, in the outer one", result, [0], extra)
    finally:
        for place in reversed(made):
            place.rmdir()


def own_path(kind):
    for line in open("/proc/self/cgroup").read().split("\n"):
        parts = line.split(":", 2)
        if len(parts) == 3 and kind in parts[1].split(","):
            return pathlib.Path(parts[2].lstrip("/"))
    return pathlib.Path()


def in_use(harness):
    row = harness.row("places", "remove while another process uses it")
    outer = harness.place()
    store = outer / "store"
    harness.run(store, "models", "register", "org/sd", harness.root / "Fixtures/Models/sd15")
    harness.run(store, "models", "download", "org/sd")
    running = harness.begin(store, "generate", "--model", "org/sd", "--prompt", "x", "--steps", "400", "--output", outer / "o.png")
    descriptors = pathlib.Path(f"/proc/{running.process.pid}/fd")
    for _ in range(600):
        if any("use.lock" in os.readlink(path) for path in descriptors.iterdir() if path.is_symlink()):
            break
        time.sleep(0.05)
    removed = harness.run(store, "models", "remove", "org/sd")
    running.send(2)
    ended = running.finish(60)
    harness.judge(row, "busy", removed, [64], [] if "loaded" in removed.err else [f"told as {removed.err.strip()[-80:]}"])
    harness.judge(row, "the user of it", ended, [130])
    harness.judge(row, "afterwards", harness.run(store, "models", "remove", "org/sd"), [0])


def links(harness):
    row = harness.row("places", "links in the way")
    outer = harness.place()
    (outer / "victim").mkdir()
    (outer / "victim/file").write_text("untouched")
    for name in ("locks", "partial", "models", "trash"):
        store = outer / f"store-{name}"
        server = Server(lambda head, count: whole())
        harness.run(store, "models", "register", "m", server.url())
        slugs = store / "models"
        harness.run(store, "models", "download", "m")
        slug = next((path.name for path in slugs.iterdir()), None)
        harness.run(store, "models", "remove", "m", "--keep-registration")
        if name == "locks":
            for path in (store / "locks").iterdir():
                path.unlink()
                path.symlink_to(outer / "victim/file")
        elif slug and name in ("partial", "models"):
            (store / name / slug / "files").mkdir(parents=True, exist_ok=True)
            (store / name / slug / "files/m.bin.part").symlink_to(outer / "victim/file")
        else:
            (store / "trash/x").symlink_to(outer / "victim")
        result = harness.run(store, "models", "download", "m")
        extra = [] if (outer / "victim/file").read_text() == "untouched" else ["the link's target was changed"]
        harness.judge(row, name, result, None, extra)
        server.stop()
