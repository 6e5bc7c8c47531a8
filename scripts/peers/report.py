"""Ratios of what was measured: table, JSON, plot."""

import datetime
import hashlib
import json
import os
import pathlib
import platform
import re
import shutil
import statistics
import subprocess

NOISY = 0.05


def best_setting(rounds, settings):
    """The peer's setting with the smallest median time of those that the first round tried and that didn't fail."""
    medians = {}
    for setting in settings:
        samples = [value for entry in rounds for value in entry["peer"].get(setting, {}).get("seconds", [])]
        if samples:
            medians[setting] = statistics.median(samples)
    return min(medians, key=medians.get) if medians else None


def noise(entry, values):
    """The larger share of the CPU that others took during the two measurements of a round."""
    return max(values["genbench"]["foreign"] or 0, values["peer"][entry["peer_setting"]]["foreign"] or 0)


def summarize(entry):
    """Adds the ratio, its spread and the medians to a workload's record: of the quiet rounds, or of all when none was quiet."""
    setting = entry["peer_setting"]
    complete = [values for values in entry["rounds"] if "genbench" in values and setting in values["peer"]]
    if not complete:
        return
    quiet = [values for values in complete if noise(entry, values) <= NOISY]
    pairs = [(values["genbench"]["seconds"], values["peer"][setting]["seconds"]) for values in quiet or complete]
    ours, theirs = ([value for pair in pairs for value in pair[index]] for index in (0, 1))
    ratios = [statistics.median(theirs) / statistics.median(ours) for ours, theirs in pairs]
    entry |= {
        "genbench_median": statistics.median(ours), "peer_median": statistics.median(theirs),
        "ratio": statistics.median(theirs) / statistics.median(ours), "ratio_min": min(ratios), "ratio_max": max(ratios),
        "ratios": ratios, "quiet_rounds": len(quiet),
    }  # fmt: skip


def show(seconds, unit):
    if unit == "s/token":
        return f"{1 / seconds:.1f} tokens/s"
    return f"{seconds * 1e3:.1f} ms" if seconds < 1 else f"{seconds:.2f} s"


def table(workloads, digest=None):
    """A Markdown table, readable as it is. Rows that weren't measured with the program of that SHA-256 are told."""
    rows = [("workload", "genbench", "peer", "ratio", "min…max", "aim", "rounds")]
    notes = []
    for entry in workloads:
        name, aim = entry["name"], f"{entry['aim']:g}" if entry["aim"] else ""
        if "ratio" not in entry:
            rows.append((name, "-", entry["peer"], "-", "-", aim, "0"))
            notes.append(f"{name}: {entry['reason']}")
            continue
        count = f"{len(entry['ratios'])} of {len(entry['rounds'])}" if entry["quiet_rounds"] else f"{len(entry['ratios'])}, all noisy"
        setting = f" ({entry['peer_setting']})" if entry["peer_setting"] else ""
        rows.append((
            name, show(entry["genbench_median"], entry["unit"]), f"{show(entry['peer_median'], entry['unit'])} {entry['peer']}{setting}",
            f"{entry['ratio']:.2f}", f"{entry['ratio_min']:.2f}…{entry['ratio_max']:.2f}", aim, count,
        ))  # fmt: skip
        if entry.get("reason"):
            notes.append(f"{name}: {entry['reason']}")
    others = [entry["name"] for entry in workloads if digest and entry.get("genbench_sha256", digest) != digest]
    if others:
        notes.append("Measured with another build of genbench: " + ", ".join(others))
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = ["| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths)) + " |" for row in rows]
    lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    text = "\n".join(lines) + "\n"
    text += f"\nRatio: median time of the peer / median time of genbench; min…max: of the rounds' own ratios. A round in which others took more than {NOISY:.0%} of the CPU is noisy and counts only when all are.\n"
    return text + memory_table(workloads) + ("\n" + "\n".join(notes) + "\n" if notes else "")


def memory_table(workloads):
    """Peaks in MB: genbench's resident memory with the mapped weights, what of it is its own, the peer's resident memory."""
    rows = []
    for entry in workloads:
        if "ratio" not in entry:
            continue
        ours = [values["genbench"] for values in entry["rounds"] if "genbench" in values]
        theirs = [values["peer"][entry["peer_setting"]] for values in entry["rounds"] if entry["peer_setting"] in values["peer"]]

        def peak(side, key):
            found = [values[key] for values in side if values.get(key)]
            return f"{max(found) / 1e6:.0f}" if found else "-"

        rows.append((entry["name"], peak(ours, "peak_rss_bytes"), peak(ours, "peak_anonymous_bytes"), peak(theirs, "peak_rss_bytes")))
    if not rows:
        return ""
    lines = ["| peak memory, MB | genbench, resident | of it anonymous | peer, resident |", "|---|---:|---:|---:|"]
    return "\n" + "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows]) + "\n"


# ---------------------------------------------------------------- where and with what


def machine():
    result = {"system": platform.system(), "kernel": platform.release(), "architecture": platform.machine(), "cores": os.cpu_count()}
    try:
        info = pathlib.Path("/proc/cpuinfo").read_text()
        result["cpu"] = re.search(r"model name\s*:\s*(.*)", info)[1]
        for key in ("cpu family", "model", "stepping"):
            result[key.replace(" ", "_")] = int(re.search(rf"^{key}\s*:\s*(\d+)", info, re.MULTILINE)[1])
        flags = re.search(r"flags\s*:\s*(.*)", info)[1].split()
        result["features"] = [flag for flag in ("avx2", "fma", "f16c", "avx512f", "avx512_vnni", "avx512_bf16", "amx_bf16", "hypervisor") if flag in flags]
        total = re.search(r"MemTotal:\s*(\d+)", pathlib.Path("/proc/meminfo").read_text())[1]
        result["memory_bytes"] = int(total) * 1024
    except (OSError, TypeError):
        result["cpu"] = platform.processor()
    return result


def output(command):
    try:
        finished = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return finished.stdout.strip() if finished.returncode == 0 else None


def digest(program):
    return hashlib.sha256(pathlib.Path(program).read_bytes()).hexdigest()


def versions(options, root):
    code = "import importlib.metadata as m, json, sys; print(json.dumps({n: m.version(n) for n in sys.argv[1:]}))"
    packages = output([options.python, "-c", code, "torch", "diffusers", "transformers"])
    sources = sorted(path.name for path in options.peers.glob("*_cpp_python-*") if path.is_dir())
    return {
        "genbench": output([options.genbench, "--version"]), "genbench_sha256": digest(options.genbench),
        "commit": output(["git", "-C", root, "rev-parse", "--short", "HEAD"]),
        "python_packages": json.loads(packages) if packages else None, "built_from": sources,
    }  # fmt: skip


def date():
    return datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")


def write(folder, document):
    """peers.json, table.md and the plot, each replaced as a whole."""
    folder.mkdir(parents=True, exist_ok=True)
    texts = {"peers.json": json.dumps(document, indent=1, ensure_ascii=False) + "\n", "table.md": table(document["workloads"], document["versions"]["genbench_sha256"])}
    for name, text in texts.items():
        part = folder / (name + ".part")
        part.write_text(text)
        part.replace(folder / name)
    return plot(folder, document)


# ---------------------------------------------------------------- plot


def plot(folder, document):
    """Bars of the ratios with their spread and aims; returns what to say when it couldn't be drawn."""
    rows = [entry for entry in document["workloads"] if "ratio" in entry]
    if not rows:
        return "nothing was measured, so no plot"
    lines = ["# index ratio min max aim label peer workload (aim 0: there is none; label: where the number stands)"]
    for index, entry in enumerate(reversed(rows)):
        aim = entry["aim"] or 0
        # The label stands right of everything else in its row, the line at 1 among it.
        label = max(entry["ratio_max"], 1)
        if label < aim < 1.25 * label:
            label = 1.02 * aim
        numbers = " ".join(f"{value:.4f}" for value in (entry["ratio"], entry["ratio_min"], entry["ratio_max"], aim, label))
        lines.append(f'{index} {numbers} "{entry["peer"]}" "{entry["name"]}"')
    (folder / "ratios.dat").write_text("\n".join(lines) + "\n")
    cpu = document["machine"].get("cpu", "?")
    (folder / "ratios.gp").write_text(f"""\
# gnuplot ratios.gp: how many times faster than its peer genbench is, by workload.
if (!exists("format")) format = "png"
if (format eq "svg") {{ set terminal svg size 1000,{110 + 40 * len(rows)} font "sans,13" background "white"; set output "ratios.svg" }} \\
else {{ set terminal pngcairo size 1000,{110 + 40 * len(rows)} font "sans,11"; set output "ratios.png" }}
set title "Peer's time / genbench's time on {cpu}, {document['settings']['threads']} threads" noenhanced
set xlabel "ratio of medians (bar), range of the rounds (line), aim (diamond); right of 1 genbench is faster"
set logscale x 2
set xtics (0.25, 0.5, 0.75, 1, 1.2, 1.5, 2, 3, 4, 6, 8, 12, 16)
set xrange [{min(0.45, 0.8 * min(e['ratio_min'] for e in rows)):.3f}:{max(2.2, 1.35 * max(max(e['ratio_max'], e['aim'] or 0) for e in rows)):.3f}]
set yrange [-0.6:{len(rows) - 0.4}]
set grid x lc rgb "#dddddd"
set ytics noenhanced
set key off
set arrow 1 from 1, graph 0 to 1, graph 1 nohead lc rgb "#444444" lw 1.5
set style fill solid 0.85 noborder
colour(ratio, aim) = (ratio < 1 ? 0xc8553d : (ratio < aim ? 0xe0a030 : 0x2a9d5c))
plot "ratios.dat" using (1):1:(1):2:($1 - 0.32):($1 + 0.32):(colour($2, $5)):ytic(8) with boxxyerror lc rgb variable, \\
  "" using 2:1:3:4 with xerrorbars pt 0 lw 2 lc rgb "#222222", \\
  "" using ($5 > 0 ? $5 : NaN):1 with points pt 13 ps 1.6 lc rgb "#1f4e9c", \\
  "" using 6:1:(sprintf("  %.2f", $2)) with labels left font ",10"
""")
    if not shutil.which("gnuplot"):
        return "gnuplot isn't installed: the plot's data and script are written, its image isn't"
    for kind in ("png", "svg"):
        finished = subprocess.run(["gnuplot", "-e", f"format='{kind}'", "ratios.gp"], cwd=folder, capture_output=True, text=True)
        if finished.returncode != 0:
            return "gnuplot failed: " + (finished.stderr.strip().splitlines() or ["no message"])[-1]
    return None
