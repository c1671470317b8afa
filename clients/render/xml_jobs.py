"""qstat -xml: job lists, queue instances, the summary by cluster queue.

Owns element names and their order, which other programs parse. Called by qstat. Source: ST-28; O.
"""

from clients.render.instances import jobs_by_instance
from gridengine.job_rows import GRANTS, SLOTS, details_of, master_of
from gridengine.values.quantities import iso_date, whole_tickets

TYPE_CHECKING = False  # as typing has it: clients pay for every import
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    Row = list[Any]

DECLARATION = "<?xml version='1.0'?>\n"
SCHEMAS = "http://arc.liv.ac.uk/repos/darcs/sge/source/dist/util/resources/schemas"
_ENTITIES = {code: "?" for code in range(32) if code not in b"\n\t"} | {0xFFFE: "?", 0xFFFF: "?"}
_ENTITIES |= {ord(mark): f"&{name};" for mark, name in zip("&<>\"'", ("amp", "lt", "gt", "quot", "apos"), strict=True)}
_STATES = {"pending": "pending", "finished": "zombie", "inconsistent": "running"}
_REASONS = {
    "a": "load-alarm-reason",
    "A": "suspend-alarm-reason",
    "c": "message",
    "d": "message",
    "E": "message",
}


def escape(text: object) -> str:
    """Text or attribute value; a character that XML does not allow becomes a question mark."""
    return str(text).translate(_ENTITIES)


def element(name: str, value: object, indent: str, attributes: str = "") -> str:
    """`<name>value</name>` on a line of its own."""
    return f"{indent}<{name}{attributes}>{escape(value)}</{name}>\n"


def job_list(
    data: "dict[str, Any]", further: "Iterable[Row]", fields: "dict[str, Any]", full: bool, slot_lines: bool
) -> "Iterator[str]":
    """`job_info`: running jobs (below their queue instances with -f), then the [phase, rows] of the other jobs."""
    running = data["jobs"]["running"]
    yield f'{DECLARATION}<job_info  xmlns:xsd="{SCHEMAS}/qstat/qstat.xsd">\n  <queue_info>\n'
    at = jobs_by_instance(running) if full or slot_lines else {}
    if full:
        for instance in data["queues"]:
            tasks = at.get(instance["name"], [])
            if instance["used"] or "not_empty" not in fields:
                yield from _instance(instance)
                for row, grants in tasks:
                    yield from _slots(row, grants, fields, "      ", False, slot_lines)
                yield "    </Queue-List>\n"
    elif "t" in fields.get("group", ""):
        for name in sorted(at):
            for row, grants in at[name]:
                yield from _slots(row, grants, fields, "    ", True, True)
    elif slot_lines:
        for row in running:
            yield from _slots(row, row[GRANTS], fields, "    ", True, True)
    else:
        for row in running:
            yield from _job(row, fields, "    ", master_of(row), row[SLOTS], None)
    yield "  </queue_info>\n  <job_info>\n"
    for phase, rows in further:
        state = _STATES[phase]
        for row in rows:
            yield from _job(row, fields, "    ", None if full else "", row[SLOTS], "" if slot_lines else None, state)
    yield "  </job_info>\n</job_info>\n"


def _instance(instance: "dict[str, Any]") -> "Iterator[str]":
    indent = "      "
    yield "    <Queue-List>\n"
    for name, value in (
        ("name", instance["name"]),
        ("qtype", instance["type"]),
        ("slots_used", instance["used"]),
        ("slots_resv", instance["resv"]),
        ("slots_total", instance["total"]),
    ):
        yield element(name, value, indent)
    try:
        yield element("load_avg", f"{float(instance['load'] or ''):.5f}", indent)
    except ValueError:
        pass
    if instance["arch"]:
        yield element("arch", instance["arch"], indent)
    if instance["states"]:
        yield element("state", instance["states"], indent)
    for dominance, name, value in instance.get("resources", ()):
        yield element("resource", value, indent, f' name="{escape(name)}" type="{dominance}"')
    for code, texts in instance.get("explain", {}).items():
        for text in texts:
            yield element(_REASONS[code], text, indent)


def _slots(
    row: "Row", grants: "list[Row]", fields: "dict[str, Any]", indent: str, with_queue: bool, slot_lines: bool
) -> "Iterator[str]":
    """The elements of a task at an instance: a single element, or with -g t an element per slot."""
    for instance, slots, slaves in grants:
        queue = instance if with_queue else None
        if not slot_lines:
            yield from _job(row, fields, indent, queue, slots, None)
        else:
            for kind in ["MASTER"] * (master_of(row) == instance) + ["SLAVE"] * slaves:
                yield from _job(row, fields, indent, queue, 1, kind)


def _job(
    row: "Row",
    fields: "dict[str, Any]",
    indent: str,
    queue: "str | None",
    slots: int,
    master: "str | None",
    state: str = "running",
) -> "Iterator[str]":
    """A `job_list` element. `queue`, `master`: None to leave the element out."""
    number, priority, name, owner, state_codes, moment, _, _, tasks = row[:9]
    details = details_of(row)
    inner = indent + "  "
    if not details:
        yield _plain_job(row, indent, queue, slots, master, state)
        return
    elements: list[tuple[str, object]] = [("JB_job_number", number), ("JAT_prio", f"{priority:.5f}")]
    ext, urg, pri = ("ext" in fields, "urg" in fields, "pri" in fields)
    if ext or pri:
        elements.append(("JAT_ntix", f"{details['ntckts']:.5f}"))
    if pri:
        elements.append(("JB_nppri", f"{details['npprior']:.5f}"))
    if pri or urg:
        elements.append(("JB_nurg", f"{details['nurg']:.5f}"))
    if urg:
        elements += [(f"JB_{name}", f"{details[name]:.0f}") for name in ("rrcontr", "wtcontr", "dlcontr")]
    if pri:
        elements.append(("JB_priority", details["ppri"]))
    elements += [("JB_name", name), ("JB_owner", owner)]
    if ext:
        elements += [("JB_project", details["project"]), ("JB_department", details["department"])]
    elements.append(("state", state_codes))
    date = "JAT_start_time" if state == "running" else "JB_submission_time"
    elements.append((date, iso_date(moment)))
    for name in ("earliest", "latest") if "when" in details else ():
        if details["when"][name]:
            elements.append((f"{name}_start_time", iso_date(details["when"][name])))
    if urg and details["deadline"]:
        elements.append(("JB_deadline", iso_date(details["deadline"])))
    if ext and state != "zombie":
        elements += _tickets(details)
    elements += [(key, value) for key, value in (("queue_name", queue), ("master", master)) if value is not None]
    elements.append(("slots", slots))
    if tasks:
        elements.append(("tasks", tasks))
    yield f'{indent}<job_list state="{state}">\n'
    yield from (element(key, value, inner) for key, value in elements)
    if "requested" in fields:
        yield from _requests(name, details, inner, "no_binding" not in fields)
    yield f"{indent}</job_list>\n"


def _plain_job(row: "Row", indent: str, queue: "str | None", slots: int, master: "str | None", state: str) -> str:
    """As `_job`, without the elements that options add, in one string: there may be ten thousand jobs."""
    number, priority, name, owner, state_codes, moment, _, _, tasks = row[:9]
    inner = indent + "  "
    date = "JAT_start_time" if state == "running" else "JB_submission_time"
    queue_elements = element("queue_name", queue, inner) if queue is not None else ""
    queue_elements += element("master", master, inner) if master is not None else ""
    ids = f"{inner}<tasks>{tasks}</tasks>\n" if tasks else ""
    return (
        f'{indent}<job_list state="{state}">\n{inner}<JB_job_number>{number}</JB_job_number>\n'
        f"{inner}<JAT_prio>{priority:.5f}</JAT_prio>\n{inner}<JB_name>{escape(name)}</JB_name>\n"
        f"{inner}<JB_owner>{escape(owner)}</JB_owner>\n{inner}<state>{state_codes}</state>\n"
        f"{inner}<{date}>{iso_date(moment)}</{date}>\n{queue_elements}{inner}<slots>{slots}</slots>\n{ids}{indent}</job_list>\n"
    )


def _tickets(details: "dict[str, Any]") -> "list[tuple[str, object]]":
    used: list[tuple[str, object]] = []
    if details["usage"] is not None:
        cpu, memory, io = details["usage"]
        used = [("cpu_usage", f"{cpu:.5f}"), ("mem_usage", f"{memory:.5f}"), ("io_usage", f"{io:.5f}")]
    total, override, functional, share = whole_tickets(details["tickets"])
    return [
        *used,
        ("tickets", total),
        ("JB_override_tickets", details["override_tickets"]),
        ("JB_jobshare", details["job_share"]),
        ("otickets", override),
        ("ftickets", functional),
        ("stickets", share),
        ("JAT_share", f"{details['share']:.5f}"),
    ]


def _requests(name: str, details: "dict[str, Any]", indent: str, binding: bool) -> "Iterator[str]":
    """The elements of -r."""
    yield element("full_job_name", name, indent)
    for tag in ("pe", "granted_pe"):
        if details[tag]:
            pe, slots = details[tag]
            yield element("requested_pe" if tag == "pe" else tag, slots, indent, f' name="{escape(pe)}"')
    for resource, value, urgency in details["hard"]:
        yield element("hard_request", value, indent, f' name="{escape(resource)}" resource_contribution="{urgency:f}"')
    for resource, value in details["soft"]:
        yield element("soft_request", value, indent, f' name="{escape(resource)}"')
    for tag, values in (
        ("hard_req_queue", details["hard_queues"]),
        ("soft_req_queue", details["soft_queues"]),
        ("master_hard_req_queue", details["master_queues"]),
        ("predecessor_jobs_req", details["predecessors_requested"]),
        ("predecessor_jobs", details["predecessors"]),
        ("ad_predecessor_jobs_req", details["array_predecessors_requested"]),
        ("ad_predecessor_jobs", details["array_predecessors"]),
    ):
        for value in values:
            yield element(tag, value, indent)
    if binding:
        yield element("binding", details["binding"] or "NONE", indent)


def cluster_queue_summary(rows: "list[dict[str, Any]]", ext: bool) -> "Iterator[str]":
    """`cluster_queue_summary` elements of -g c."""
    yield f'{DECLARATION}<job_info  xmlns:xsd="{SCHEMAS}/qstat/qstat.xsd">\n'
    for row in rows:
        yield "  <cluster_queue_summary>\n"
        yield element("name", row["name"], "    ")
        if row["load"] is not None:
            yield element("load", f"{row['load']:.5f}", "    ")
        for tag, key in (
            ("used", "used"),
            ("resv", "resv"),
            ("available", "available"),
            ("total", "total"),
            ("temp_disabled", "temporary"),
            ("manual_intervention", "manual"),
        ):
            yield element(tag, row[key], "    ")
        if ext:
            for tag, code in _STATE_TAGS:
                yield element(tag, row["states"].get(code, 0), "    ")
        yield "  </cluster_queue_summary>\n"
    yield "</job_info>\n"


_STATE_TAGS = (
    ("suspend_manual", "s"),
    ("suspend_threshold", "A"),
    ("suspend_on_subordinate", "S"),
    ("suspend_calendar", "C"),
    ("unknown", "u"),
    ("load_alarm", "a"),
    ("disabled_manual", "d"),
    ("disabled_calendar", "D"),
    ("ambiguous", "c"),
    ("orphaned", "o"),
    ("error", "E"),
)
