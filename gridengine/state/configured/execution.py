"""Execution attributes of a queue instance, typed: the part of the queue that is sent to the host with each task.

Owns the shape, and its parsing from the resolved attributes. Read as `State.configs[instance].execution`; the execd has it in
`delivery.Start`. Source: queue_conf(5), statements QC-11, QC-12, QC-17 … QC-29, RL-1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec import Struct, field

from gridengine.state.configured.typed import typed
from gridengine.syntax.lists import none_as_null
from gridengine.values.units import INFINITY, parse_memory, parse_time

_TIMES, _MEMORY = ("rt", "cpu"), ("fsize", "data", "stack", "core", "rss", "vmem")
LIMITS: dict[str, Callable[[str], float]] = {
    f"{side}_{kind}": parse for kinds, parse in ((_TIMES, parse_time), (_MEMORY, parse_memory)) for kind in kinds for side in "sh"
}
"""The limits of queue_conf(5) RESOURCE LIMITS, and the parser of each: seconds or bytes, INFINITY for none."""


class Execution(Struct, frozen=True, omit_defaults=True):
    """Commands and paths: None for none. `priority`: a nice value. `processors`: as they are printed, "" for undefined.

    `shell_start_mode`: in lower case. `limits`: seconds or bytes by name (`h_rt`), without INFINITY.
    """

    tmpdir: str
    notify_s: float
    min_cpu_interval_s: float
    shell: str | None = None
    shell_start_mode: str | None = None
    prolog: str | None = None
    epilog: str | None = None
    starter_method: str | None = None
    suspend_method: str | None = None
    resume_method: str | None = None
    terminate_method: str | None = None
    priority: int = 0
    processors: str = ""
    limits: dict[str, float] = field(default_factory=dict)


def read_execution(text: Mapping[str, str]) -> Execution:
    """Parse the resolved attributes of a queue instance, which were validated at the gate."""
    limits = {name: float(parse(text[name])) for name, parse in LIMITS.items()}
    return typed(
        Execution,
        text,
        shell_start_mode=none_as_null(text["shell_start_mode"].lower()),
        processors="" if text["processors"].upper() == "UNDEFINED" else text["processors"],
        limits={name: limit for name, limit in limits.items() if limit != INFINITY},
    )
