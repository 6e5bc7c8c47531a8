#!/usr/bin/env python3
"""Compares the tables of `genbench schedule` with diffusers over every combination of options that published models use.

Every scheduler class × timestep spacing × sigma spacing × prediction type × final sigma × solver order × steps; timesteps,
sigmas, initial noise and order must be equal (1e-5 of the largest), or both sides refuse. A combination that gives diffusers
NaN, and one that it trips over, is refused by genbench. Needs torch and diffusers (scripts/fixtures/requirements.txt).

    python scripts/check-schedulers.py [--genbench PATH] [--classes A,B] [--jobs N] [--every N]
"""

import argparse
import concurrent.futures
import copy
import itertools
import json
import math
import subprocess
import sys
import tempfile
import warnings

import diffusers
import numpy as np
import torch

warnings.filterwarnings("ignore")
diffusers.logging.set_verbosity_error()

BASE = {"beta_start": 0.00085, "beta_end": 0.012, "beta_schedule": "scaled_linear", "num_train_timesteps": 1000, "steps_offset": 1,
        "clip_sample": False, "set_alpha_to_one": False, "skip_prk_steps": True}
SPACINGS = ["leading", "trailing", "linspace"]
SIGMAS = [None, "use_karras_sigmas", "use_exponential_sigmas", "use_beta_sigmas"]
PREDICTIONS = ["epsilon", "v_prediction", "sample"]
FINALS = ["zero", "sigma_min"]
STEPS = [1, 2, 3, 4, 5, 6, 7, 25, 50, 999]
CLASSES = ["DDIM", "DDPM", "PNDM", "LMSDiscrete", "EulerDiscrete", "EulerAncestralDiscrete", "HeunDiscrete", "KDPM2Discrete",
           "KDPM2AncestralDiscrete", "DPMSolverMultistep", "DPMSolverSinglestep", "UniPCMultistep", "DEISMultistep", "LCM", "TCD"]


def combinations(names):
    for name in names:
        kind = getattr(diffusers, name + "Scheduler")
        known = set(kind.__init__.__wrapped__.__code__.co_varnames) if hasattr(kind.__init__, "__wrapped__") else set(kind().config)
        finals = FINALS if "final_sigmas_type" in known else [None]
        orders = [1, 2, 3] if "solver_order" in known else [None]
        sigmas = [s for s in SIGMAS if s is None or s in known]
        spacings = SPACINGS if "timestep_spacing" in known else [None]
        # The tables don't depend on the prediction; whether it is taken does.
        for spacing, sigma, final, order, steps in itertools.product(spacings, sigmas, finals, orders, STEPS):
            for prediction in PREDICTIONS if steps == 4 else PREDICTIONS[:1]:
                config = dict(BASE, _class_name=name + "Scheduler", prediction_type=prediction)
                config.update({k: v for k, v in (("timestep_spacing", spacing), ("final_sigmas_type", final), ("solver_order", order)) if v is not None})
                if sigma:
                    config[sigma] = True
                yield name, config, steps


def oracle(name, config, steps):
    try:
        kind = getattr(diffusers, name + "Scheduler")
        scheduler = kind.from_config(dict(config))
        scheduler.set_timesteps(steps)
        # Some predictions are refused by the first step only.
        copy.deepcopy(scheduler).step(torch.zeros(1, 4, 8, 8), scheduler.timesteps[0], torch.zeros(1, 4, 8, 8))
        sigmas = getattr(scheduler, "sigmas", None)
        table = {"timesteps": np.asarray(scheduler.timesteps, dtype=np.float64),
                 "sigmas": None if sigmas is None else np.asarray(sigmas, dtype=np.float64),
                 "init_noise_sigma": float(scheduler.init_noise_sigma), "order": scheduler.order}
    except Exception as error:  # noqa: BLE001 - a refusal of any kind
        return f"{type(error).__name__}: {error}"
    if not np.isfinite(table["timesteps"]).all() or (table["sigmas"] is not None and not np.isfinite(table["sigmas"]).all()):
        return "gives NaN"
    return table


def ours(genbench, name, config, steps, folder):
    with tempfile.NamedTemporaryFile("w", suffix=".json", dir=folder, delete=False) as file:
        json.dump(config, file)
    run = subprocess.run([genbench, "schedule", "--scheduler", name + "Scheduler", "--steps", str(steps), "--config", file.name, "--json"],
                         capture_output=True, text=True)
    if run.returncode not in (0, 64, 65):
        return f"TRAP {run.returncode}: {run.stderr[-200:]}"
    return json.loads(run.stdout) if run.returncode == 0 else f"refused: {run.stderr.strip()[-200:]}"


def difference(expected, found):
    """None where both agree."""
    if isinstance(found, str) and found.startswith("TRAP"):
        return found
    if isinstance(expected, str):
        return None if isinstance(found, str) else f"diffusers {expected[:100]}, genbench gives a table"
    if isinstance(found, str):
        return f"genbench {found}"
    for key in ("timesteps", "sigmas"):
        if expected[key] is None:
            continue
        a, b = expected[key], np.asarray(found[key], dtype=np.float64)
        if a.shape != b.shape:
            return f"{key}: {a.shape[0]} in diffusers, {b.shape[0]} in genbench"
        worst = float(np.abs(a - b).max()) if a.size else 0
        if not worst <= 1e-5 * max(1, float(np.abs(a).max())):
            at = int(np.abs(a - b).argmax())
            return f"{key}[{at}]: {a[at]} in diffusers, {b[at]} in genbench"
    for key in ("init_noise_sigma", "order"):
        if not math.isclose(expected[key], found[key], rel_tol=1e-5):
            return f"{key}: {expected[key]} in diffusers, {found[key]} in genbench"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--genbench", default=".build/debug/genbench")
    parser.add_argument("--classes", default=",".join(CLASSES))
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--every", type=int, default=1, help="only every n-th combination")
    options = parser.parse_args()
    cases = list(combinations(options.classes.split(",")))[:: options.every]
    counts = {"equal": 0, "both refuse": 0, "differ": 0}
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        results = pool.map(lambda case: ours(options.genbench, *case, folder), cases)
        for (name, config, steps), found in zip(cases, results):
            expected = oracle(name, config, steps)
            problem = difference(expected, found)
            if problem is None:
                counts["both refuse" if isinstance(expected, str) else "equal"] += 1
                continue
            counts["differ"] += 1
            own = {k: v for k, v in config.items() if k not in BASE and k != "_class_name"}
            print(f"{name} steps={steps} {own}: {problem}", flush=True)
    print(f"{len(cases)} combinations: " + ", ".join(f"{count} {what}" for what, count in counts.items()))
    return 1 if counts["differ"] else 0


if __name__ == "__main__":
    sys.exit(main())
