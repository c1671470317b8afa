"""Hints for an unknown name: the nearest known names, and the equivalents of other batch systems' resources.

Used by the commands and by the qmaster, for the second line of a refusal.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable
from itertools import islice

_SLOTS = "-pe PE SLOTS"
#: resources of PBS and Slurm -> requests here
_FOREIGN_RESOURCES = {
    "walltime": "-l h_rt=TIME",
    "time": "-l h_rt=TIME",
    "cput": "-l h_cpu=TIME",
    "mem": "-l h_vmem=SIZE, or mem_free=SIZE for what must be free",
    "vmem": "-l h_vmem=SIZE",
    "pmem": "-l h_vmem=SIZE",
    "pvmem": "-l h_vmem=SIZE",
    "nodes": _SLOTS,
    "select": _SLOTS,
    "ncpus": _SLOTS,
    "ppn": _SLOTS,
    "procs": _SLOTS,
    "host": "-l h=HOST",
    "place": "-alloc RULE RANGE",
}
_GPUS = frozenset(("gpu", "gpus", "ngpus", "gres", "nvidia_gpu"))
# limits, so that the hint for a wrong name takes a few ms at most
_MAX_NAME_LENGTH, _MAX_NAMES = 64, 500


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A question with the names of `known` that are near, nearest first; "" if none is."""
    folded = {each.lower(): each for each in islice(known, _MAX_NAMES)}
    near = difflib.get_close_matches(name[:_MAX_NAME_LENGTH].lower(), folded, n=3, cutoff=0.65)
    if not near:
        return ""
    return f"did you mean {' or '.join(chr(34) + folded[each] + chr(34) for each in near)}?"


def unknown_resource_hint(name: str, known: Collection[str]) -> str:
    """A hint for a resource that the complex table does not have; "" if no resource is near."""
    if name.lower() in _GPUS:
        return f"{name} is -l gpu=N here" if "gpu" in known else "this cell counts no GPUs (gridengine host add HOST --gpus N)"
    foreign = _FOREIGN_RESOURCES.get(name.lower())
    return f"{name} is {foreign} here" if foreign else did_you_mean(name, known)
