"""What the cgroup of a task limits, and the files of the kernel by which it does, of both versions of cgroups.

Pure but for `apply`, which writes the files. Called by `plan` (what is limited), `preparation` and `containment`.
Source: the kernel's documentation of cgroup-v2 and cgroup-v1; sge_conf(5) USE_CGROUPS; adr/0210.
"""

from __future__ import annotations

import errno
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from shepherd.cgroup_files import has, put

#: Weight of one slot at nice value 0, and the extremes: of processor time in v2 and v1, of block devices in both.
_WEIGHT, _SHARES, _IO_WEIGHT = (100, 1, 10_000), (1024, 2, 262_144), (100, 1, 1000)
#: Nice values differ by this factor in processor time, as in the kernel's scheduler.
_NICE_STEP = 1.25
_PERIOD_US = 100_000
MEMORY = "memory"


@dataclass(frozen=True, slots=True)
class CgroupLimits:
    """The limits of a task on its host; None or empty for no limit. `memory`, `soft_memory`: bytes; `processes`: processes and
    threads; `processors`: the kernel's numbers.

    `slots`: by which processor time is shared with other jobs, at nice value `nice`. `quota`: no more processor time than its
    slots. `io`: block devices are shared by slots, too.
    """

    memory: int | None = None
    soft_memory: int | None = None
    processes: int | None = None
    processors: tuple[int, ...] = ()
    slots: int = 1
    nice: int = 0
    quota: bool = False
    io: bool = False


@dataclass(frozen=True, slots=True)
class CgroupSetting:
    """One limit. `files`: the alternatives, in the order of preference, each as file -> text: the first file has to be there,
    the others are written where the kernel has them. `promised`: without it the job does not run.
    """

    what: str
    files: tuple[dict[str, str], ...]
    promised: bool = False


def settings(limits: CgroupLimits) -> list[CgroupSetting]:
    """The settings of these limits. A default of the kernel is no setting."""
    found = []
    if limits.memory is not None:
        size = str(limits.memory)
        v2 = {"memory.max": size, "memory.swap.max": "0", "memory.oom.group": "1"}
        v1 = {"memory.limit_in_bytes": size, "memory.memsw.limit_in_bytes": size}
        found.append(CgroupSetting(MEMORY, (v2, v1), promised=True))
    if limits.soft_memory is not None:
        size = str(limits.soft_memory)
        found.append(CgroupSetting(MEMORY, ({"memory.high": size}, {"memory.soft_limit_in_bytes": size})))
    if limits.processes is not None:
        found.append(CgroupSetting("processes", ({"pids.max": str(limits.processes)},), promised=True))
    if limits.processors:
        found.append(CgroupSetting("processors", ({"cpuset.cpus": ",".join(map(str, limits.processors))},)))
    if limits.quota:
        time = limits.slots * _PERIOD_US
        found.append(CgroupSetting("processor time", ({"cpu.max": f"{time} {_PERIOD_US}"}, {"cpu.cfs_quota_us": str(time)})))
    if limits.io:
        weight = _weight(limits.slots, 0, _IO_WEIGHT)
        names = ("io.weight", "io.bfq.weight", "blkio.weight", "blkio.bfq.weight")
        found.append(CgroupSetting("block devices", tuple({name: weight} for name in names)))
    if (limits.slots, limits.nice) != (1, 0):
        found.append(share(limits.slots, limits.nice))
    return found


def share(slots: int, nice: int) -> CgroupSetting:
    """The share of processor time. In a cgroup nice values count only among the processes of the same job: the weight of
    the cgroup has to contain them."""
    v2, v1 = _weight(slots, nice, _WEIGHT), _weight(slots, nice, _SHARES)
    return CgroupSetting("share of processor time", ({"cpu.weight": v2}, {"cpu.shares": v1}))


def apply(cgroups: Iterable[Path], setting: CgroupSetting) -> None:
    """Write the files of a setting. Raises OSError, FileNotFoundError when none of the cgroups has the controller."""
    for files in setting.files:
        first = next(iter(files))
        cgroup = next((each for each in cgroups if has(each, first)), None)
        if cgroup is not None:
            for name, text in files.items():
                if name == first or has(cgroup, name):
                    put(cgroup, name, text)
            return
    raise FileNotFoundError(errno.ENOENT, f"no cgroup has the controller for the {setting.what}")


def _weight(slots: int, nice: int, scale: tuple[int, int, int]) -> str:
    one, least, most = scale
    return str(min(max(round(one * slots * _NICE_STEP**-nice), least), most))
