"""sinfo: cluster queues as partitions, hosts as nodes. Source: sinfo(1) of 22.05; docs/slurm.md."""

from clients import program
from clients.slurm import layout
from clients.slurm.arguments import SlurmError, SlurmOption, flag, read_options
from clients.slurm.command import run
from clients.slurm.values import duration
from gridengine.protocols.slurm import node_list
from gridengine.values.units import INFINITY, parse_time

TYPE_CHECKING = False  # as typing has it: clients pay for every import
if TYPE_CHECKING:
    from typing import Any

_FORM, _OF_NODES = "%9P %.5a %.10l %.6D %.6t %N", "%10N %.6D %.9P %6t"


class NodeListing:
    """The nodes to show, and their format."""

    def __init__(self) -> None:
        self.form, self.heading, self.nodes = "", True, False
        self.partitions: list[str] = []
        self.states: list[str] = []


class NodeGroup:
    """Nodes of a partition in one state."""

    def __init__(self, partition: str, limit: "float | None", state: str, hosts: list[str], used: int, total: int) -> None:
        self.partition, self.limit, self.state, self.hosts, self.used, self.total = partition, limit, state, hosts, used, total


_LONG = {"mix": "mixed", "alloc": "allocated", "drain": "drained", "drng": "draining"}
COLUMNS = {
    "P": ("PARTITION", lambda group: group.partition),
    "R": ("PARTITION", lambda group: group.partition),
    "a": ("AVAIL", lambda group: "up"),
    "l": ("TIMELIMIT", lambda group: "infinite" if group.limit is None else duration(group.limit)),
    "D": ("NODES", lambda group: str(len(group.hosts))),
    "t": ("STATE", lambda group: group.state),
    "T": ("STATE", lambda group: _LONG.get(group.state, group.state)),
    "N": ("NODELIST", lambda group: node_list(group.hosts)),
    "c": ("CPUS", lambda group: str(group.total // len(group.hosts))),
    "C": ("CPUS(A/I/O/T)", lambda group: _processors(group)),
}


def _processors(group: NodeGroup) -> str:
    other = group.total - group.used if group.state in ("down", "drain", "drng") else 0
    return f"{group.used}/{group.total - group.used - other}/{other}/{group.total}"


ROWS = (
    flag("--noheader -h", lambda options, value: setattr(options, "heading", False)),
    flag("--Node -N", lambda options, value: setattr(options, "nodes", True)),
    SlurmOption("--format -o", lambda options, value: setattr(options, "form", value)),
    SlurmOption("--partition -p", lambda options, value: options.partitions.extend(value.split(","))),
    SlurmOption("--states -t", lambda options, value: options.states.extend(value.lower().split(","))),
)


def sinfo(arguments: list[str]) -> int:
    """Print the nodes; the exit status."""
    options = NodeListing()
    if rest := read_options(arguments, ROWS, options):
        raise SlurmError(f"Unrecognized option: {rest[0]}")
    groups = [
        group
        for group in _groups(options.nodes)
        if (not options.partitions or group.partition in options.partitions)
        and (not options.states or group.state in options.states or _LONG.get(group.state) in options.states)
    ]
    form = options.form or (_OF_NODES if options.nodes else _FORM)
    program.show(layout.lines(form, COLUMNS, groups, options.heading))
    return 0


def _groups(each_node: bool) -> list[NodeGroup]:
    body = {"queues": {"select": {}}, "queue_configurations": {"queues": ["*"]}}
    data = program.read("status", body)
    limits = {each["name"]: _limit(each["attributes"]["h_rt"]) for each in data["queue_configurations"]["found"]}
    found: dict[tuple[str, ...], NodeGroup] = {}
    for instance in data["queues"]:
        queue, _, host = instance["name"].partition("@")
        state = _state(instance)
        key = (queue, state, host) if each_node else (queue, state)
        group = found.setdefault(key, NodeGroup(queue, limits.get(queue), state, [], 0, 0))
        group.hosts.append(host)
        group.used += instance["used"]
        group.total += instance["total"]
    return sorted(found.values(), key=lambda group: group.hosts) if each_node else list(found.values())


def _limit(text: str) -> "float | None":
    limit = parse_time(text.partition(",")[0])
    return None if limit == INFINITY else limit


def _state(instance: "dict[str, Any]") -> str:
    states, used = instance["states"], instance["used"]
    if not {"u", "E", "o", "c"}.isdisjoint(states):
        return "down"
    if not {"d", "D"}.isdisjoint(states):
        return "drng" if used else "drain"
    if not used:
        return "idle"
    return "mix" if used < instance["total"] else "alloc"


def main() -> int:
    return run("sinfo", sinfo, ROWS, "")
