"""Queue instances with their jobs (qstat -f) and the summary by cluster queue (qstat -g c).

Owns these two text formats. Called by qstat. Source: qstat(1) full format and cluster queue format, ST-4 … ST-15,
QI-14, QI-18; O for widths.
"""

from clients.render.jobs import JobTable
from gridengine.job_rows import GRANTS, INSTANCE
from gridengine.values.instance_name import host_of

TYPE_CHECKING = False  # as typing has it: clients pay for every import
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any

    Row = list[Any]
    Instance = dict[str, Any]
    ByHost = dict[str, list[Any]]

_HEADER = "qtype resv/used/tot. load_avg arch          states\n"
_TITLES = {
    "pending": " - PENDING JOBS" * 5,
    "finished": " --  FINISHED JOBS" + "  -  FINISHED JOBS" * 3 + "  --  ",
    "inconsistent": " - ERROR JOBS" * 5,
}
_STATES = "sASCuadDcoE"


def load_text(load: "str | None") -> str:
    """The load column: two decimals, -NA- for an unknown load, ---- for a text that is no number."""
    if load is None:
        return "-NA-"
    try:
        return f"{float(load):.2f}"
    except ValueError:
        return "----"


def jobs_by_instance(running: "list[Row]") -> "dict[str, list[tuple[Row, list[Row]]]]":
    """For each instance the tasks there, each with its grants at this instance."""
    tasks: dict[str, list[tuple[Row, list[Row]]]] = {}
    for row in running:
        for grant in row[GRANTS]:
            tasks.setdefault(grant[INSTANCE], []).append((row, [grant]))
    return tasks


def by_host(data: "dict[str, Any]", fields: "dict[str, Any]") -> "tuple[ByHost | None, ByHost | None]":
    """Queue instances (qhost -q) and tasks (-j) by host; None if the option was not given."""
    queues = _by_host(data["queues"], lambda row: row["name"]) if "queues" in fields else None
    if "jobs" not in fields:
        return queues, None
    tasks = jobs_by_instance(data["jobs"]["running"])
    hosts = _by_host(sorted(tasks), str)
    return queues, {host: [task for instance in instances for task in tasks[instance]] for host, instances in hosts.items()}


def _by_host(rows: "Iterable[Any]", name_of: "Callable[[Any], str]") -> "ByHost":
    """Rows of queue instances by the host in their names."""
    grouped: ByHost = {}
    for row in rows:
        grouped.setdefault(host_of(name_of(row)), []).append(row)
    return grouped


def full_format(
    instances: "list[Instance]", running: "list[Row]", further: "Iterable[Row]", table: JobTable, width: int, only_used: bool
) -> "Iterator[str]":
    """The text of qstat -f. `further`: [phase, rows] of the other jobs, phase by phase; `width` of the queue column;
    `only_used` hides instances without jobs of any user (ST-22)."""
    at = jobs_by_instance(running)
    length = 51 + width + 108 * table.ext
    header = f"{'queuename':<{width}} {_HEADER}"
    for instance in instances:
        tasks = at.get(instance["name"], [])
        if only_used and not instance["used"]:
            continue
        yield f"{header}{'-' * length}\n"
        header = ""
        slots = f"{instance['resv']}/{instance['used']}/{instance['total']}"
        arch = instance["arch"] or "-NA-"
        yield (
            f"{instance['name']:<{width}.{width}} {instance['type']:<5} {slots:<14} {load_text(instance['load']):<8} "
            f"{arch:<13} {instance['states']}\n"
        )
        for dominance, name, value in instance.get("resources", ()):
            yield f"\t{dominance}:{name}={value}\n"
        for texts in instance.get("explain", {}).values():
            yield from (f"\t{text}\n" for text in texts)
        for row, grants in tasks:
            yield from table.grant_lines(row, grants)
    mark = "#" * (76 + 110 * table.ext)
    title = ""
    for phase, rows in further:
        if _TITLES[phase] != title:
            title = _TITLES[phase]
            yield f"\n{mark}\n{title}\n{mark}\n"
        yield "".join(table.lines(rows))


def cluster_queue_format(rows: "list[Instance]", ext: bool) -> "Iterator[str]":
    """The text of qstat -g c; names are never cut (ST-15)."""
    width = max([30, *(len(row["name"]) for row in rows)])
    states = "".join(f"{code:>6}" for code in _STATES) if ext else ""
    yield f"{'CLUSTER QUEUE':<{width}}  CQLOAD   USED    RES  AVAIL  TOTAL aoACDS  cdsuE {states or ' '}\n"
    yield "-" * (50 + width + (66 if ext else 0)) + "\n"
    for row in rows:
        load = "-NA-" if row["load"] is None else f"{row['load']:.2f}"
        counts = (row["used"], row["resv"], row["available"], row["total"], row["temporary"], row["manual"])
        each = "".join(f"{row['states'].get(code, 0):>5} " for code in _STATES) if ext else ""
        yield f"{row['name']:<{width}} {load:>7} {' '.join(f'{count:>6}' for count in counts)} {each}\n"
