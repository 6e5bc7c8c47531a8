#!/usr/bin/env python3
"""Runs genbench and its peers on the same files and inputs, alternately, and prints how much faster which one is.

    scripts/peers/setup.sh                                  once: builds the peers into ~/.cache/genbench/peers
    swift build -c release
    scripts/peers/compare.py                                everything: about an hour on two cores
    scripts/peers/compare.py --only unet-sd15-32,decode-q4_1 --rounds 3
    scripts/peers/compare.py --list

Peers: torch + diffusers (UNet, VAE, text encoders; in both memory layouts), stable-diffusion.cpp (whole images), llama.cpp
(language models, vision). In the first round a peer tries all of its settings; the best one is kept for the others. Models of the
published sizes with random weights are made once (2 GB for sd15, 7 GB for sdxl), SmolLM2-135M is fetched by scripts/get-smollm2.sh.

Prints a table and writes peers.json, table.md and a plot to --out. Needs Python 3.10 and nothing else; torch runs in the peers'
own environment. Exit code 3 when a workload failed, 70 when the program changed meanwhile, 7 when --gate is given and an aim isn't reached.
"""

import argparse
import datetime
import json
import os
import pathlib
import signal
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import report  # noqa: E402
from engines import Failure, Unsupported  # noqa: E402
from quiet import Quiet, rename_process  # noqa: E402
from workloads import Files, groups  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "genbench"


def say(text):
    print(f"peers: {text}", file=sys.stderr, flush=True)


def available_memory():
    try:
        for line in pathlib.Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return None


class Measuring:
    """One group: rounds of genbench and its peers, and what they gave."""

    def __init__(self, group, wanted, options, known, digest):
        self.group, self.options = group, options
        self.quiet = Quiet(options.quiet_command)
        self.peer_of = {name: peer for peer in group.peers for name in peer.workloads}
        self.entries = {
            workload.name: {
                "name": workload.name, "title": workload.title, "unit": workload.unit, "aim": workload.aim,
                "peer": self.peer_of[workload.name].name, "genbench_setting": group.ours.settings[0],
                "peer_setting": None, "date": report.date(), "genbench_sha256": digest, "rounds": [],
            }
            for workload in group.workloads if workload.name in wanted
        }  # fmt: skip
        # The peers' best settings of an earlier run; one that isn't tried any more is forgotten.
        self.known = {}
        for name in self.entries:
            setting = known.get(name) or known.get(name.replace("-bf16", ""))
            if setting in self.peer_of[name].settings:
                self.known[name] = setting

    def fail(self, names, error):
        """A workload that failed isn't measured again; the reason goes beside it in the table."""
        for name in names:
            entry = self.entries[name]
            if "reason" not in entry:
                entry["reason"] = ("not supported: " if isinstance(error, Unsupported) else "") + str(error)
                entry["failed"] = not isinstance(error, Unsupported)
                say(f"{name}: {entry['reason']}")

    def going(self):
        return [name for name, entry in self.entries.items() if "reason" not in entry]

    def run(self):
        needed, free = self.group.memory, available_memory()
        if free is not None and free < needed:
            self.fail(self.entries, Unsupported(f"needs {needed / 2**30:.0f} GiB of free memory, {free / 2**30:.1f} are"))
            return
        try:
            self.group.files()
        except Failure as error:
            self.fail(self.entries, error)
            return
        for index in range(self.options.rounds):
            if not self.going():
                break
            self.one_round(index)
        for entry in self.entries.values():
            report.summarize(entry)
            if "ratio" not in entry:
                entry.setdefault("reason", "no round was complete")

    def one_round(self, index):
        rounds = {name: {"peer": {}} for name in self.going()}
        sides = [self.ours, self.theirs]
        for side in sides if index % 2 == 0 else reversed(sides):
            side(rounds)
        for name, values in rounds.items():
            entry = self.entries[name]
            entry["rounds"].append(values)
            if entry["peer_setting"] is None:
                entry["peer_setting"] = report.best_setting(entry["rounds"], self.peer_of[name].settings)
            chosen = values["peer"].get(entry["peer_setting"])
            if chosen and "genbench" in values:
                ours, theirs = (min(side["seconds"]) for side in (values["genbench"], chosen))
                shown = [report.show(value, entry["unit"]) for value in (ours, theirs)]
                say(f"{name}, round {index + 1}: genbench {shown[0]}, {entry['peer']} {shown[1]}")

    def measure(self, side, setting, wanted):
        """Measures again when others disturbed it, --retries times at most; the least disturbed one counts."""
        best, least = None, None
        for _ in range(self.options.retries + 1):
            samples = side.measure(setting, wanted, self.quiet)
            noise = max(sample.foreign or 0 for sample in samples.values())
            if least is None or noise < least:
                best, least = samples, noise
            if noise <= report.NOISY:
                break
        return best

    def ours(self, rounds):
        wanted = [name for name in rounds if name in self.going()]
        if not wanted:
            return
        try:
            samples = self.measure(self.group.ours, self.group.ours.settings[0], wanted)
        except (Failure, Unsupported, OSError, ValueError, KeyError) as error:
            self.fail(wanted, described(error))
            return
        for name, sample in samples.items():
            rounds[name]["genbench"] = record(sample)

    def theirs(self, rounds):
        for peer in self.group.peers:
            mine = [name for name in peer.workloads if name in rounds and name in self.going()]
            if not mine:
                continue
            chosen = {name: self.entries[name]["peer_setting"] or self.known.get(name) for name in mine}
            errors = []
            for setting in peer.settings:
                wanted = [name for name in mine if chosen[name] in (None, setting)]
                if not wanted:
                    continue
                try:
                    samples = self.measure(peer, setting, wanted)
                except (Failure, Unsupported, OSError, ValueError, KeyError) as error:
                    errors.append(described(error))
                    continue
                for name, sample in samples.items():
                    rounds[name]["peer"][setting] = record(sample)
            empty = [name for name in mine if not rounds[name]["peer"]]
            if errors and empty:
                self.fail(empty, errors[0])


def described(error):
    return error if isinstance(error, (Failure, Unsupported)) else Failure(f"{type(error).__name__}: {error}")


def record(sample):
    return {"seconds": sample.seconds, "foreign": sample.foreign} | sample.memory


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--genbench", type=pathlib.Path, default=ROOT / ".build/release/genbench", help="the program (default: .build/release/genbench)")
    parser.add_argument("--peers", type=pathlib.Path, default=CACHE / "peers", help="where setup.sh built the peers (default: ~/.cache/genbench/peers)")
    parser.add_argument("--models", type=pathlib.Path, default=CACHE / "full-size", help="where the models are or are made (default: ~/.cache/genbench/full-size)")
    parser.add_argument("--out", type=pathlib.Path, help="the folder of the results (default: Reports/peers-DATE)")
    parser.add_argument("--only", help="comma-separated workloads, or beginnings of their names")
    parser.add_argument("--list", action="store_true", help="name the workloads, and stop")
    parser.add_argument("--rounds", type=int, help="rounds of each (default: 5; with --quick 2)")
    parser.add_argument("--quick", action="store_true", help="two rounds and fewer calls")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1, help="threads of everybody (default: one a core)")
    parser.add_argument("--retries", type=int, default=1, help="how often a measurement that others disturbed is repeated (default: 1)")
    parser.add_argument("--add", action="store_true", help="keep the other workloads that --out already has")
    parser.add_argument("--settings", type=pathlib.Path, metavar="PEERS.JSON", help="take the peers' best settings from an earlier result")
    parser.add_argument("--quiet-command", metavar="COMMAND", help="a command that keeps the machine quiet while its arguments run; held around each measurement")
    parser.add_argument("--gate", action="store_true", help="exit with 7 when an aim isn't reached")
    options = parser.parse_args()
    for name in ("genbench", "peers", "models"):
        setattr(options, name, getattr(options, name).absolute())
    options.python = options.peers / "python"
    options.rounds = options.rounds or (2 if options.quick else 5)
    if options.rounds < 1 or options.threads < 1:
        parser.error("--rounds and --threads are at least 1")
    if options.out is None:
        options.out = ROOT / f"Reports/peers-{datetime.date.today().isoformat()}"
    return parser, options


def main():
    parser, options = parse()
    everything = groups(options, Files(ROOT, options.python, options.models, CACHE))
    names = [workload.name for group in everything for workload in group.workloads]
    if options.list:
        for group in everything:
            for workload in group.workloads:
                print(f"{workload.name:26} {workload.title}")
        return 0
    wanted = names
    if options.only:
        parts = options.only.split(",")
        for part in parts:
            if not any(name.startswith(part) for name in names):
                parser.error(f"--only {part}: no such workload; --list names them")
        # A name in full is that workload alone; otherwise all that begin with it.
        wanted = [name for name in names if any(name == part or (part not in names and name.startswith(part)) for part in parts)]
    for path, advice in ((options.genbench, "swift build -c release"), (options.python, "scripts/peers/setup.sh")):
        if not path.exists():
            parser.error(f"{path}: not there; run {advice} first")
    known = {}
    if options.settings:
        known = {entry["name"]: entry["peer_setting"] for entry in json.loads(options.settings.read_text())["workloads"]}

    rename_process("compare-peers")
    # An end from outside, too, writes what there is; and a shell's background job would ignore the interrupt.
    for signal_number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(signal_number, signal.default_int_handler)
    document = {
        "schema": "genbench.peers/1", "date": report.date(), "machine": report.machine(), "versions": report.versions(options, ROOT),
        "settings": {"threads": options.threads, "rounds": options.rounds, "quick": options.quick, "silenced": bool(options.quiet_command)},
        "workloads": [],
    }  # fmt: skip
    kept = {}
    if options.add and (options.out / "peers.json").exists():
        kept = {entry["name"]: entry for entry in json.loads((options.out / "peers.json").read_text())["workloads"]}
    interrupted = False
    for group in everything:
        if not any(workload.name in wanted for workload in group.workloads):
            continue
        if report.digest(options.genbench) != document["versions"]["genbench_sha256"]:
            say(f"{options.genbench} was built anew while it was measured; start again")
            return 70
        measuring = Measuring(group, wanted, options, known, document["versions"]["genbench_sha256"])
        try:
            measuring.run()
        except KeyboardInterrupt:
            interrupted = True
            for entry in measuring.entries.values():
                report.summarize(entry)
                if "ratio" not in entry:
                    entry.setdefault("reason", "interrupted")
        finally:
            group.close()
        kept |= measuring.entries
        document["workloads"] = [kept[name] for name in names if name in kept]
        problem = report.write(options.out, document)
        if interrupted:
            break
    print((options.out / "table.md").read_text(), end="")
    if problem:
        say(problem)
    say(f"files are in {options.out}")
    if interrupted:
        return 130
    if any(kept[name].get("failed") for name in wanted if name in kept):
        return 3
    missed = [entry["name"] for entry in document["workloads"] if entry["aim"] and entry.get("ratio", 0) < entry["aim"]]
    if options.gate and missed:
        say("below their aims: " + ", ".join(missed))
        return 7
    return 0


if __name__ == "__main__":
    sys.exit(main())
