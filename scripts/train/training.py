"""What all training scripts share: the loop with its learning rate, averaged weights, checkpoints, and the command line."""

import argparse
import copy
import math
import os
import pathlib
import sys
import time

os.environ.setdefault("OMP_NUM_THREADS", os.environ.get("TRAIN_THREADS", "2"))

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "scripts" / "fixtures"))

import oracles  # noqa: E402, F401
import torch  # noqa: E402

torch.set_grad_enabled(True)

MODELS = ROOT / "Fixtures" / "Models"
SCRATCH = pathlib.Path(os.environ.get("TRAIN_SCRATCH", ROOT / ".build" / "train"))


def own_folder(path):
    """A folder to write a trained model into: never a link to one of the random models."""
    if path.is_symlink():
        path.unlink()
    path.mkdir(parents=True, exist_ok=True)
    return path


def arguments(description, **defaults):
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--smoke", action="store_true", help="a few steps of everything, nothing kept: shows that the script runs")
    parser.add_argument("--minutes", type=float, default=None, help="train for so much processor time instead of a number of steps")
    parser.add_argument("--until", default=None, help="HH:MM: be done by then, however far it has come")
    parser.add_argument("--steps", type=int, default=None, help="number of optimiser steps")
    parser.add_argument("--rate", type=float, default=None, help="peak learning rate")
    parser.add_argument("--seed", type=int, default=20260801)
    for name, value in defaults.items():
        kind = type(value) if value is not None else str
        if kind is bool:
            parser.add_argument("--" + name.replace("_", "-"), action="store_true")
        else:
            parser.add_argument("--" + name.replace("_", "-"), type=kind, default=value)
    found = parser.parse_args()
    torch.set_num_threads(int(os.environ.get("TRAIN_THREADS", "2")))
    torch.manual_seed(found.seed)
    if found.smoke:
        found.steps, found.minutes = 3, None
    SCRATCH.mkdir(parents=True, exist_ok=True)
    return found


class Averaged:
    """Exponentially averaged weights of a module, with a warm-up of the decay."""

    def __init__(self, module, decay=0.998):
        self.module = copy.deepcopy(module).eval().requires_grad_(False)
        self.decay, self.count = decay, 0

    @torch.no_grad()
    def update(self, module):
        self.count += 1
        decay = min(self.decay, (1 + self.count) / (10 + self.count))
        ours = [p for p in self.module.state_dict().values() if p.is_floating_point()]
        theirs = [p for p in module.state_dict().values() if p.is_floating_point()]
        torch._foreach_lerp_(ours, theirs, 1 - decay)


def train(name, module, loss, found, *, steps, rate, decay=0.998, parameters=None, save=None, weight_decay=0.0, clip=1.0):
    """Minimises `loss(step)` over the module's trainable parameters; returns the averaged module.

    The rate warms up over 3 % of the way and falls as a half cosine; the way is measured in steps, or in minutes
    of processor time where asked, and ends at a time of day where asked.
    `save(averaged module)` is called now and then, and at the end.
    """
    steps = found.steps or steps
    rate = found.rate or rate
    parameters = parameters or [p for p in module.parameters() if p.requires_grad]
    optimiser = torch.optim.AdamW(parameters, lr=rate, betas=(0.9, 0.99), weight_decay=weight_decay)
    averaged = Averaged(module, decay)
    begun = told = time.time()
    used = saved = time.process_time()
    end = None
    if found.until:
        hour, minute = map(int, found.until.split(":"))
        end = time.mktime((*time.localtime()[:3], hour, minute, 0, 0, 0, -1))
    total, number, step = 0.0, 0, 0
    while True:
        way = (time.process_time() - used) / (60 * found.minutes) if found.minutes else step / steps
        if end:
            way = max(way, (time.time() - begun) / max(end - begun, 1))
        if way >= 1:
            break
        for group in optimiser.param_groups:
            group["lr"] = rate * min(1, max(way / 0.03, 0.02)) * (0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * way)))
        optimiser.zero_grad(set_to_none=True)
        value = loss(step)
        value.backward()
        torch.nn.utils.clip_grad_norm_(parameters, clip)
        optimiser.step()
        averaged.update(module)
        step += 1
        total, number = total + float(value.detach()), number + 1
        now = time.time()
        if now - told > 20 or step == 1:
            print(f"{time.strftime('%H:%M:%S')} {name} step {step} {100 * way:.0f}% loss {total / number:.4f} {(now - told) / number:.3f} s/step", flush=True)
            total, number, told = 0.0, 0, now
        if save and time.process_time() - saved > 45:
            save(averaged.module)
            saved = time.process_time()
    if save:
        save(averaged.module)
    print(f"{name}: {step} steps, {time.time() - begun:.0f} s, processor {time.process_time() - used:.0f} s", flush=True)
    return averaged.module


def scratch(name):
    return SCRATCH / name


def load(module, path):
    """Loads a scratch checkpoint where it exists and fits; says whether it did."""
    if not path.exists():
        return False
    module.load_state_dict(torch.load(path, weights_only=True))
    return True
