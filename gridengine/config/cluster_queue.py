"""The cluster queue: the fifty attributes of queue_conf(5).

Owns their order, types and template values. Called through `gridengine.config.KINDS`; `queue_resolution` chooses the values
of instances. Source: QC-1..43, CQ-4..11, CQ-37, X-1.
"""

from collections.abc import Mapping
from typing import Annotated, ClassVar

from gridengine.config.attribute_types import (
    AttributeType,
    ObjectName,
    Reference,
    absolute_path,
    boolean,
    choice,
    command_with,
    finite_time,
    given,
    memory,
    name_list,
    none_or,
    number,
    object_name,
    overridable,
    pair_list,
    ranges,
    refers_by_pair,
    refers_to,
    refers_to_hosts,
    time,
    typed,
    unique_host_list,
)
from gridengine.config.command_variables import JOB_VARIABLES, PROCEDURE_VARIABLES
from gridengine.config.objects import ConfigObject
from gridengine.config.signals import SIGNALS, check_signal
from gridengine.errors import ConfigError, InvalidValueError
from gridengine.syntax.lists import is_none
from gridengine.syntax.subordinate import parse_subordinates


@typed("names", "BATCH", "INTERACTIVE", "NONE")
def _queue_type(text: str) -> str:
    """BATCH, INTERACTIVE, the two together, or NONE; PARALLEL and CHECKPOINTING are refused (QC-13)."""
    if is_none(given(text)):
        return "NONE"
    tokens = text.upper().replace(",", " ").split()
    for token in tokens:
        if token in ("PARALLEL", "CHECKPOINTING"):
            raise InvalidValueError(f"{token} is no longer a queue type, it follows from pe_list or ckpt_list")
        if token not in ("BATCH", "INTERACTIVE"):
            raise InvalidValueError(f'"{token}" is not a queue type, BATCH, INTERACTIVE or NONE is expected')
    return " ".join(token for token in ("BATCH", "INTERACTIVE") if token in tokens)


@typed("signal", "NONE", *SIGNALS)
def _method(text: str) -> str:
    """NONE, a signal or a command line (QC-27)."""
    if is_none(given(text)):
        return "NONE"
    return command_with(JOB_VARIABLES)(text) if text.startswith("/") else check_signal(text)


@typed("command", "NONE")
def _starter_method(text: str) -> str:
    return "NONE" if is_none(given(text)) else command_with(JOB_VARIABLES)(text)


@typed("ranges", "UNDEFINED")
def _processors(text: str) -> str:
    return "UNDEFINED" if given(text).upper() == "UNDEFINED" else ranges(0)(text)


@typed("name")
def _owner(text: str) -> str:
    return given(text)


@typed("pairs", "NONE")
def _subordinates(text: str) -> str:
    return str(parse_subordinates(given(text)))


def _refers_to_subordinates(text: str) -> list[Reference]:
    return [("cluster_queue", entry.queue) for entry in parse_subordinates(text).queues]


_Count = Annotated[str, overridable(number())]
_Time = Annotated[str, overridable(time)]
_FiniteTime = Annotated[str, overridable(finite_time)]
_Memory = Annotated[str, overridable(memory)]
_Thresholds = Annotated[str, overridable(pair_list(), refers_by_pair("complex"))]
_Usersets = Annotated[str, overridable(name_list(), refers_to("userset"))]
_Projects = Annotated[str, overridable(name_list(), refers_to("project"))]
_Procedure = Annotated[str, overridable(none_or(command_with(PROCEDURE_VARIABLES)))]
_Method = Annotated[str, overridable(_method)]


class ClusterQueue(ConfigObject):
    """A cluster queue. Every attribute but qname and hostlist may hold tuples for hosts and host groups (CQ-7)."""

    kind: ClassVar[str] = "cluster_queue"
    key: ClassVar[str] = "qname"
    old_names = {"hostname": "hostlist"}

    qname: ObjectName
    hostlist: Annotated[str, AttributeType(unique_host_list, refers_to_hosts)] = "NONE"
    seq_no: _Count = "0"
    load_thresholds: _Thresholds = "np_load_avg=1.75"
    suspend_thresholds: _Thresholds = "NONE"
    nsuspend: _Count = "1"
    suspend_interval: _FiniteTime = "00:05:00"
    priority: Annotated[str, overridable(number(-20, 20))] = "0"
    min_cpu_interval: _FiniteTime = "00:05:00"
    processors: Annotated[str, overridable(_processors)] = "UNDEFINED"
    qtype: Annotated[str, overridable(_queue_type)] = "BATCH INTERACTIVE"
    ckpt_list: Annotated[str, overridable(name_list(), refers_to("checkpoint"))] = "NONE"
    pe_list: Annotated[str, overridable(name_list(), refers_to("parallel_environment"))] = "make smp mpi"
    rerun: Annotated[str, overridable(boolean)] = "FALSE"
    slots: Annotated[str, overridable(number(0, 9999999))] = "1"
    tmpdir: Annotated[str, overridable(absolute_path)] = "/tmp"
    shell: Annotated[str, overridable(absolute_path)] = "/bin/sh"
    prolog: _Procedure = "NONE"
    epilog: _Procedure = "NONE"
    shell_start_mode: Annotated[str, overridable(choice("unix_behavior", "posix_compliant", "script_from_stdin"))] = (
        "posix_compliant"
    )
    starter_method: Annotated[str, overridable(_starter_method)] = "NONE"
    suspend_method: _Method = "NONE"
    resume_method: _Method = "NONE"
    terminate_method: _Method = "NONE"
    notify: _FiniteTime = "00:00:60"
    owner_list: Annotated[str, overridable(name_list(_owner))] = "NONE"
    user_lists: _Usersets = "NONE"
    xuser_lists: _Usersets = "NONE"
    subordinate_list: Annotated[str, overridable(_subordinates, _refers_to_subordinates)] = "NONE"
    complex_values: _Thresholds = "NONE"
    projects: _Projects = "NONE"
    xprojects: _Projects = "NONE"
    calendar: Annotated[str, overridable(none_or(object_name), refers_to("calendar"))] = "NONE"
    initial_state: Annotated[str, overridable(choice("default", "enabled", "disabled"))] = "default"
    s_rt: _Time = "INFINITY"
    h_rt: _Time = "INFINITY"
    s_cpu: _Time = "INFINITY"
    h_cpu: _Time = "INFINITY"
    s_fsize: _Memory = "INFINITY"
    h_fsize: _Memory = "INFINITY"
    s_data: _Memory = "INFINITY"
    h_data: _Memory = "INFINITY"
    s_stack: _Memory = "INFINITY"
    h_stack: _Memory = "INFINITY"
    s_core: _Memory = "INFINITY"
    h_core: _Memory = "INFINITY"
    s_rss: _Memory = "INFINITY"
    h_rss: _Memory = "INFINITY"
    s_vmem: _Memory = "INFINITY"
    h_vmem: _Memory = "INFINITY"

    def check(self) -> None:
        """Refuse a queue that is subordinate to itself. Source: SU-6."""
        if ("cluster_queue", self.qname) in self.references():
            raise ConfigError(self.kind, self.qname, "subordinate_list", "a queue cannot be subordinate to itself")


def check_slot_trees(lists: Mapping[str, str]) -> None:
    """Refuse slot-wise subordination that is not a tree: a cycle, or a queue below two queues. Source: SU-18.

    lists: subordinate_list by cluster queue, resolved for one host, since only instances of one host are related.
    Raises ConfigError.
    """
    parent_of: dict[str, str] = {}
    for queue, text in lists.items():
        parsed = parse_subordinates(text)
        for entry in parsed.queues if parsed.slots else ():
            if entry.queue in parent_of:
                reason = f'"{entry.queue}" is already a slot-wise subordinate of "{parent_of[entry.queue]}"'
                raise ConfigError("cluster_queue", queue, "subordinate_list", reason)
            parent_of[entry.queue] = queue
    for queue in parent_of:
        above, seen = parent_of.get(queue), {queue}
        while above is not None:
            if above in seen:
                reason = f'"{above}" would be a slot-wise subordinate of itself'
                raise ConfigError("cluster_queue", queue, "subordinate_list", reason)
            seen.add(above)
            above = parent_of.get(above)
