"""What may have been meant by a name that is not known: the nearest known ones, and resources of other batch systems.

Used by the commands and by the qmaster, for a refusal's second line.
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
# so that no wrong word costs whoever answers it more than a few ms
_LONGEST_WORD, _MOST_NAMES = 64, 500


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """A sentence with the words of `known` that are near, nearest first; "" if none is."""
    folded = {each.lower(): each for each in islice(known, _MOST_NAMES)}
    near = difflib.get_close_matches(word[:_LONGEST_WORD].lower(), folded, n=3, cutoff=0.65)
    if not near:
        return ""
    return f"did you mean {' or '.join(chr(34) + folded[each] + chr(34) for each in near)}?"


def unknown_resource(name: str, known: Collection[str]) -> str:
    """What to say of a resource that the complex table does not have; "" if nothing is near."""
    if name.lower() in _GPUS:
        return f"{name} is -l gpu=N here" if "gpu" in known else "this cell counts no GPUs (gridengine host add HOST --gpus N)"
    foreign = _FOREIGN_RESOURCES.get(name.lower())
    return f"{name} is {foreign} here" if foreign else did_you_mean(name, known)
