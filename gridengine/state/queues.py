"""Queue instances: the runtime state of `queue@host` and its resolved configuration.

Owns the shapes and the compilation of a resolved configuration (text) into typed values. Written by
`gridengine.state.apply`; configuration texts come from the objects of kind `cluster_queue`.
"""

from __future__ import annotations

from msgspec import Struct, field

from gridengine.state.configured.execution import Execution, read_execution
from gridengine.syntax.lists import none_as_null, split_names, split_pairs
from gridengine.syntax.subordinate import SubordinateList, parse_subordinates
from gridengine.values.units import parse_bool


class InstanceConfig(Struct, frozen=True):
    """Typed view of a resolved queue configuration; `text` holds every attribute as printed. `batch`, `interactive`: parts of
    qtype. `execution`: the attributes that a host needs for a task. `subordinates`: subordinate_list.

    Source: queue_conf(5), statements QC-1 … QC-43.
    """

    text: dict[str, str]
    slots: int
    seq_no: int
    batch: bool
    interactive: bool
    pe_list: frozenset[str]
    ckpt_list: frozenset[str]
    complex_values: dict[str, str]
    load_thresholds: dict[str, str]
    suspend_thresholds: dict[str, str]
    user_lists: tuple[str, ...]
    xuser_lists: tuple[str, ...]
    projects: tuple[str, ...]
    xprojects: tuple[str, ...]
    owner_list: tuple[str, ...]
    #: name of a calendar, "" for none
    calendar: str
    rerun: bool
    execution: Execution
    subordinates: SubordinateList


class QueueInstance(Struct, omit_defaults=True):
    """State of one queue instance. `config` and `ambiguous` are derived and never spooled.

    Flags are the flags of statement section QI. The state codes u, a, A, c follow from hosts, load and configuration
    (`gridengine.state.state_codes`).
    """

    queue: str
    host: str
    #: d
    disabled: bool = False
    #: s
    suspended: bool = False
    #: D
    calendar_disabled: bool = False
    #: C
    calendar_suspended: bool = False
    #: S
    subordinated: bool = False
    #: P
    preempted: bool = False
    #: o
    orphaned: bool = False
    #: E: the reasons
    errors: list[str] = field(default_factory=list)
    #: incremented with each change of a flag or an error
    version: int = 0
    #: the last configuration of an orphaned instance, still used for the jobs and reservations in it (AR-80)
    last_text: dict[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return f"{self.queue}@{self.host}"

    @property
    def stops_jobs(self) -> bool:
        """Whether the instance as a whole suspends the jobs in it (s, S or C)."""
        return self.suspended or self.subordinated or self.calendar_suspended


def compile_config(text: dict[str, str]) -> InstanceConfig:
    """Typed view of resolved attribute texts. The texts were validated at the gate (`gridengine.config`)."""
    qtype = text["qtype"].upper().replace(",", " ").split()
    return InstanceConfig(
        text=text,
        slots=int(text["slots"]),
        seq_no=int(text["seq_no"]),
        batch="BATCH" in qtype,
        interactive="INTERACTIVE" in qtype,
        pe_list=frozenset(split_names(text["pe_list"])),
        ckpt_list=frozenset(split_names(text["ckpt_list"])),
        complex_values=dict(split_pairs(text["complex_values"])),
        load_thresholds=dict(split_pairs(text["load_thresholds"])),
        suspend_thresholds=dict(split_pairs(text["suspend_thresholds"])),
        user_lists=split_names(text["user_lists"]),
        xuser_lists=split_names(text["xuser_lists"]),
        projects=split_names(text["projects"]),
        xprojects=split_names(text["xprojects"]),
        owner_list=split_names(text["owner_list"]),
        calendar=none_as_null(text["calendar"]) or "",
        rerun=parse_bool(text["rerun"]),
        execution=read_execution(text),
        subordinates=parse_subordinates(text["subordinate_list"]),
    )
