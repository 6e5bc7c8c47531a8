"""Names of `genbench schedule` as schedulers of diffusers."""

import diffusers

from genbench_backend import BackendError

_FIXED = {
    "dpmpp_2m": {"algorithm_type": "dpmsolver++", "solver_order": 2},
    "dpmpp_2s": {"algorithm_type": "dpmsolver++", "solver_order": 2},
    "dpmpp_2m_sde": {"algorithm_type": "sde-dpmsolver++", "solver_order": 2},
    "dpmpp_sde": {"algorithm_type": "sde-dpmsolver++", "solver_order": 2},
}
_CLASSES = {
    "ddim": "DDIMScheduler", "ddpm": "DDPMScheduler", "pndm": "PNDMScheduler", "lms": "LMSDiscreteScheduler",
    "euler": "EulerDiscreteScheduler", "euler_a": "EulerAncestralDiscreteScheduler", "heun": "HeunDiscreteScheduler",
    "dpm2": "KDPM2DiscreteScheduler", "dpm2_a": "KDPM2AncestralDiscreteScheduler", "dpmpp_2m": "DPMSolverMultistepScheduler",
    "dpmpp_2m_sde": "DPMSolverMultistepScheduler", "dpmpp_2s": "DPMSolverSinglestepScheduler",
    "dpmpp_sde": "DPMSolverSinglestepScheduler", "unipc": "UniPCMultistepScheduler", "deis": "DEISMultistepScheduler",
    "lcm": "LCMScheduler", "tcd": "TCDScheduler",
}  # fmt: skip
_WITHOUT_SPACING = ("ddim", "ddpm", "pndm", "euler_a", "lcm", "tcd")
_SUFFIXES = ("karras", "exponential", "beta")
NAMES = [name + suffix for name in _CLASSES for suffix in ([""] if name in _WITHOUT_SPACING else ["", *(f"_{word}" for word in _SUFFIXES)])]


def name_of(scheduler):
    """The sampler that a scheduler is, without its spacing."""
    found = [name for name, kind in _CLASSES.items() if kind == type(scheduler).__name__]
    sde = str(scheduler.config.get("algorithm_type", "")).startswith("sde")
    return next((name for name in found if ("sde" in name) == sde), found[0] if found else type(scheduler).__name__)


def make(name, config, changes=None):
    """The scheduler of that name with a model's config, merged as `from_config` does. A class name takes the config alone."""
    changes = dict(changes or {})
    if name in NAMES:
        suffix = next((word for word in _SUFFIXES if name.endswith(f"_{word}")), None)
        stem = name[: -len(suffix) - 1] if suffix else name
        kind = _CLASSES[stem]
        changes = _FIXED.get(stem, {}) | changes
        if suffix:
            changes |= {"use_lu_lambdas": False} | {f"use_{word}_sigmas": word == suffix for word in _SUFFIXES}
    elif name in _CLASSES.values():
        kind = name
    else:
        raise BackendError("not_supported", f"there is no scheduler '{name:.60}' here; there are {', '.join(NAMES[:8])} … (welcome lists them)")
    return getattr(diffusers, kind).from_config(config, **changes)
