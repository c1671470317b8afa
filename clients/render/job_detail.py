"""All details of jobs as `qstat -j` prints them, and the same for a job that is not submitted (qsub -verify).

Owns the lines and their order. Called by qstat and qsub. Source: ST-18 … ST-20, DP-6, SO-40; O for labels and order.
"""

from gridengine.values.field_names import LABELLED
from gridengine.values.printable import printable
from gridengine.values.quantities import clock_text, long_date, size_text

TYPE_CHECKING = False  # as typing has it: clients pay for every import
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    Detail = dict[str, Any]

_RULE = "=" * 62 + "\n"
_WIDTH = 28


def _line(label: str, value: object) -> str:
    return f"{label + ':':<{_WIDTH}}{value}\n"


def _list(values: "list[Any]") -> str:
    return ",".join(map(str, values))


def _paths(pairs: "list[list[str]]", middle: str = "NONE:") -> str:
    return ",".join(f"{host or 'NONE'}:{middle}{path}" for host, path in pairs)


def _pairs(pairs: "Any") -> str:
    """`name=value` pairs; the name alone if the caller may not see the value."""
    return ",".join(name if value is None else f"{name}={value or 'NONE'}" for name, value in pairs)


def job_details(jobs: "list[Detail]", binding: bool, note: str = "") -> "Iterator[str]":
    """The text of qstat -j for existing jobs; `binding`: with lines about core binding; `note`: printed before the reasons."""
    for job in printable(jobs):
        yield _RULE
        yield from _lines(job, binding)
        yield from reason_lines([note, *job["reasons"]] if note else job["reasons"])


def _lines(job: "Detail", binding: bool) -> "Iterator[str]":
    yield _line("job_number", job["id"])
    if job["id"] != "unassigned":
        yield _line("exec_file", f"job_scripts/{job['id']}")
    if job["submit_time"]:
        yield _line("submission_time", long_date(job["submit_time"]))
    if job["deadline"]:
        yield _line("deadline", long_date(job["deadline"]))
    for label in ("owner", "uid", "group", "gid"):
        yield _line(label, job[label])
    for label, value in (
        ("sge_o_home", job["home"]),
        ("sge_o_log_name", job["owner"]),
        ("sge_o_path", job["submit_path"]),
        ("sge_o_shell", job["login_shell"]),
        ("sge_o_workdir", job["submit_cwd"]),
        ("sge_o_host", job["submit_host"]),
    ):
        if value:
            yield _line(label, value)
    for label, value in _requested(job):
        if value not in ("", None):
            # 8.1.9 prints this label without the column
            yield f"{label}:  {value}\n" if label == "parallel environment" else _line(label, value)
    if binding:
        yield _line("binding", job["binding"] or "NONE")
    yield _line("job_type", _type(job))
    yield from _task_lines(job, binding)


def _requested(job: "Detail") -> "list[tuple[str, Any]]":
    """The requests of the job's options, in the order of print; "" for a line that is not shown."""
    yes = {True: "y", False: ""}
    return [
        ("execution_time", long_date(job["start_after"]) if job["start_after"] else ""),
        ("account", job["account"]),
        ("checkpoint_object", job["checkpoint"]),
        ("checkpoint_attr", job["checkpoint_when"]),
        ("checkpoint_interval", f"{job['checkpoint_interval']} seconds" if job.get("checkpoint_interval") else ""),
        ("cwd", job["cwd"]),
        ("stderr_path_list", _paths(job["stderr"])),
        ("reserve", yes[job["reserve"]]),
        ("merge", yes[job["merge"]]),
        ("hard resource_list", ",".join(f"{name}={value}" for name, value in job["hard"].items())),
        ("soft resource_list", ",".join(f"{name}={value}" for name, value in job["soft"].items())),
        ("mail_options", job["mail_options"]),
        ("mail_list", _list([mail if "@" in mail else f"{mail}@NONE" for mail in job["mail_list"]])),
        ("notify", str(job["notify"]).upper()),
        ("job_name", job["name"]),
        ("stdout_path_list", _paths(job["stdout"])),
        ("stdin_path_list", _paths(job["stdin"])),
        ("priority", job["priority"] or ""),
        ("jobshare", job["job_share"]),
        ("hard_queue_list", _list(job["hard_queues"])),
        ("soft_queue_list", _list(job["soft_queues"])),
        ("restart", {True: "y", False: "n", None: ""}[job["rerun"]]),
        ("shell_list", _paths(job["shells"], "")),
        ("env_list", _pairs(job["environment"])),
        ("job_args", _list(job["args"])),
        ("master hard queue_list", _list(job["master_queues"])),
        ("script_file", job["script_file"]),
        ("parallel environment", f"{job['pe']} range: {job['pe_range']}" if job["pe"] else ""),
        ("allocation rule", f"{job['allocation_rule']} {job['pe_range']}" if job.get("allocation_rule") else ""),
        ("jid_predecessor_list (req)", _list(job["predecessors_requested"])),
        ("jid_predecessor_list", _list(job["predecessors"])),
        ("jid_successor_list", _list(job["successors"])),
        ("jid_ok_list (req)", _list(job.get("hold_jid_ok", ()))),
        ("jid_fail_list (req)", _list(job.get("hold_jid_fail", ()))),
        ("ja_ad_predecessor_list", _list(job["array_predecessors"])),
        ("ja_ad_successor_list", _list(job["array_successors"])),
        ("version", job.get("version") or ""),
        ("oticket", job["override_tickets"] or ""),
        ("project", job["project"]),
        ("ar_id", job["ar"] or ""),
        ("job-array tasks", "{}-{}:{}".format(*job["array"]) if job["array"] else ""),
        ("maximum concurrency", job["task_concurrency"] or ""),
        ("context", _pairs(job["context"].items())),
        *((field.label, job.get(field.name, "")) for field in LABELLED),
    ]


def _type(job: "Detail") -> str:
    kinds = [name for name, on in (("binary", job["binary"]), ("noshell", job["no_shell"]), ("immediate", job["now"])) if on]
    return ",".join(kinds) or "NONE"


def _task_lines(job: "Detail", binding: bool) -> "Iterator[str]":
    running = [task for task in job["tasks"] if task["status"] != "pending"]
    for task in running:
        yield f"{'usage':<10}{task['id']:>5}:{'':12}{_usage(task['usage'])}\n"
    if binding:
        for task in running:
            yield f"{'binding':<10}{task['id']:>5}:{'':12}{task.get('binding') or 'NONE'}\n"
    for task in running:
        if task.get("memory"):
            yield f"{'memory':<10}{task['id']:>5}:{'':12}{task['memory']}\n"
    for task in running:
        if maps := [f"{resource}={host}=({' '.join(units)})" for host, resource, units in task.get("units", ())]:
            yield f"{'resource map':<13}{task['id']:>2}:{'':12}{', '.join(maps)}\n"
    for task in running:
        for host, resource, unit, reason in task.get("closed_units", ()):
            yield f"{'closed unit':<13}{task['id']:>2}:{'':12}{resource}={host}=({unit}): {reason}\n"
    for task in running:
        if rows := task.get("unit_usage"):
            yield from _unit_usage(task["id"], rows)
    for task in job["tasks"]:
        if reason := task["error"] or task["mishap"]:
            yield f"error reason {task['id']:>10}:      {reason}\n"
    if error := job.get("error"):
        yield f"error reason {error['tasks']:>10}:      {error['reason']}\n"


def _unit_usage(task: int, rows: "list[list[Any]]") -> "Iterator[str]":
    from gridengine.usage.unit_usage import of_rows, text

    for each in of_rows(rows):
        yield f"{'unit usage':<13}{task:>2}:{'':12}{text(each)}\n"


def _usage(usage: "list[float] | None") -> str:
    cpu, memory, io, _, vmem, maxvmem = usage or (0.0,) * 6
    sizes = [size_text(size, 3) if size else "N/A" for size in (vmem, maxvmem)]
    return f"cpu={clock_text(cpu)}, mem={memory:.5f} GB s, io={io:.5f} GB, vmem={sizes[0]}, maxvmem={sizes[1]}"


def reason_lines(reasons: list[str]) -> "Iterator[str]":
    """The `scheduling info` of a job."""
    for position, reason in enumerate(reasons):
        yield f"{'scheduling info:' if position == 0 else '':<{_WIDTH}}{reason}\n"


def pending_reasons(reasons: "list[list[Any]]", note: str = "") -> "Iterator[str]":
    """`qstat -j` without jobs: each reason with its jobs; `note` first, and a line if there are no reasons."""
    if note or not reasons:
        yield f"{'scheduling info:':<{_WIDTH}}{note or 'There are no messages available'}\n\n"
    for text, ids in printable(reasons):
        yield f"{text[:1].upper()}{text[1:]}\n\t{',	'.join(map(str, ids))}\n"


def unsubmitted_job_text(request: "Detail") -> str:
    """The output of -verify: the job that a `submit` request would create (SO-40)."""
    from clients.submission import default_name

    empty: Detail = dict.fromkeys(
        (
            "stderr stdout stdin mail_list shells hard_queues soft_queues master_queues args predecessors "
            "predecessors_requested successors array_predecessors array_successors tasks reasons"
        ).split(),
        [],
    )
    texts = dict.fromkeys("account checkpoint checkpoint_when cwd mail_options pe pe_range project binding".split(), "")
    flags = dict.fromkeys(("reserve", "merge", "notify", "binary", "no_shell", "now"), False)
    numbers = dict.fromkeys("submit_time deadline start_after priority job_share override_tickets task_concurrency ar".split(), 0)
    environment = request.get("environment", {})
    job: Detail = {
        **empty, **texts, **flags, **numbers, "context": {}, "rerun": None,
        **request,
        "id": "unassigned",
        "name": default_name(request),
        "owner": environment.get("SGE_O_LOGNAME", ""),
        "submit_host": environment.get("SGE_O_HOST", ""),
        "environment": [[name, environment.get(name, "")] for name in request.get("environment_names", [])],
        "hard": _requests(request.get("hard", [])),
        "soft": _requests(request.get("soft", [])),
        "predecessors_requested": request.get("hold_jid", []),
        "array_predecessors": request.get("hold_jid_ad", []),
        "array": _array(request.get("tasks", "")),
        "tasks": [],
    }
    job["mail_list"] = job["mail_list"] or [f"{job['owner']}@{job['submit_host']}"]
    for label in ("uid", "group", "gid"):
        job[label] = ""
    return "".join(_lines(printable(job), binding=bool(job["binding"]))) + _script_lines(request)


def _script_lines(request: "Detail") -> str:
    """The script of a request: its size in bytes, and its text if it is UTF-8."""
    if "script" not in request:
        return ""
    script = str(request["script"])
    if request.get("script_encoding"):
        return _line("script_size", len(script) // 4 * 3 - script.count("="))
    return _line("script_size", len(script.encode())) + "script_ptr:\n" + script.rstrip("\n") + "\n"


def _requests(items: list[str]) -> dict[str, str]:
    pairs = [item.partition("=") for item in items]
    return {name: value if equals else "TRUE" for name, equals, value in pairs}


def _array(tasks: str) -> "list[int] | None":
    if not tasks:
        return None
    from gridengine.values.ranges import Ranges

    ranges = Ranges.parse(tasks)
    return [ranges.first, ranges.last, ranges.step]
