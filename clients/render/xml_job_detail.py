"""qstat -j -xml: the document `detailed_job_info`, as programs parse it.

Owns element names, their order and the numeric codes of values. Called by qstat. Source: ST-18, ST-28; O.
"""

from clients.render.xml_jobs import DECLARATION, SCHEMAS, element, escape

TYPE_CHECKING = False  # as typing has it: clients pay for every import
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    Detail = dict[str, Any]

_IN = "      "
#: numeric codes of 8.1.9 for flags and names
_MAIL_FLAGS = {"a": 0x40000, "b": 0x80000, "e": 0x100000, "s": 0x400000}
_CHECKPOINT_FLAGS = {"m": 1, "s": 2, "x": 4, "n": 8, "r": 16}
_TYPE_FLAGS = {"now": 0x01, "qsh": 0x02, "qlogin": 0x04, "qrsh": 0x08, "qrlogin": 0x10}
_TYPE_FLAGS |= {"binary": 0x40, "array": 0x80, "no_shell": 0x100}
_VALUE_TYPES = {
    name: number for number, name in enumerate("INT STRING TIME MEMORY BOOL CSTRING HOST DOUBLE RESTRING RSMAP".split(), 1)
}
_CONSUMABLE = {"NO": 0, "YES": 1, "JOB": 2, "HOST": 3}
_TASK_STATUS = {"running": 128, "transferring": 64}
_BINDING_TYPES = {"pe": 1, "env": 2, "set": 3}
_NOTE_NUMBERS = {
    "(Collecting of scheduler job information is turned off)": 83,
    "(Scheduler job information not available for every job)": 84,
}
_UNLIMITED = f"{1.7976931348623157e308:f}"


def detailed_jobs(data: "Detail") -> "Iterator[str]":
    """The document for `job_detail` data: jobs and their pending reasons; `unknown_jobs` if all jobs are unknown;
    `message` with all pending reasons for a request without jobs."""
    if "reasons" in data:
        yield f'{DECLARATION}<message  xmlns:xsd="{SCHEMAS}/qstat/message.xsd">\n'
        yield from _messages(data["reasons"], "  ", data.get("note", ""))
        yield "</message>\n"
        return
    if data["unknown"] and not data["jobs"]:
        names = "".join(f"    <ST_name>{escape(name)}</ST_name>\n" for name in data["unknown"])
        yield f"{DECLARATION}<unknown_jobs >\n{names}</unknown_jobs>\n"
        return
    yield f'{DECLARATION}<detailed_job_info  xmlns:xsd="{SCHEMAS}/qstat/detailed_job_info.xsd">\n  <djob_info>\n'
    reasons: dict[str, list[int]] = {}
    for job in data["jobs"]:
        yield "    <element>\n"
        yield from _job(job)
        yield "    </element>\n"
        for text in job["reasons"]:
            reasons.setdefault(text, []).append(job["id"])
    yield "  </djob_info>\n"
    note = data.get("note", "")
    if reasons or note:
        yield "  <messages>\n"
        yield from _messages(list(reasons.items()), "    ", note)
        yield "  </messages>\n"
    yield "</detailed_job_info>\n"


def _messages(reasons: "list[Any]", indent: str, note: str) -> "Iterator[str]":
    """Each reason with the numbers of its jobs, and the note for all jobs."""
    yield f"{indent}<element>\n"
    if reasons:
        yield f"{indent}  <SME_message_list>\n"
        for text, ids in reasons:
            yield f"{indent}    <element>\n"
            numbers = [[("ULNG_value", number)] for number in ids]
            yield from _list("MES_job_number_list", "ulong_sublist", numbers, indent + "      ")
            yield element("MES_message", text, indent + "      ")
            yield f"{indent}    </element>\n"
        yield f"{indent}  </SME_message_list>\n"
    if note:
        message = [[("MES_message_number", _NOTE_NUMBERS.get(note, 0)), ("MES_message", note)]]
        yield from _list("SME_global_message_list", "element", message, indent + "  ")
    yield f"{indent}</element>\n"


def _job(job: "Detail") -> "Iterator[str]":
    yield from _head(job)
    yield from _requests(job)
    yield from _program(job)
    yield from _dependencies(job)
    yield from _times_and_rules(job)
    yield from _job_structure(job)


def _flag(value: bool) -> str:
    return "true" if value else "false"


def _head(job: "Detail") -> "Iterator[str]":
    yield from _elements(
        ("JB_job_number", job["id"]),
        ("JB_ar", job["ar"]),
        ("JB_exec_file", f"job_scripts/{job['id']}"),
        ("JB_submission_time", int(job["submit_time"])),
        ("JB_owner", job["owner"]),
        ("JB_uid", job["uid"]),
        ("JB_group", job["group"]),
        ("JB_gid", job["gid"]),
        ("JB_account", job["account"]),
        ("JB_merge_stderr", _flag(job["merge"])),
    )
    mails = [address.partition("@") for address in job["mail_list"]]
    # 8.1.9 has different element names for a requested address and for the default
    inner = "element" if job["mail_list"] == [f"{job['owner']}@{job['submit_host']}"] else "mail_list"
    yield from _list("JB_mail_list", inner, [[("MR_user", user), ("MR_host", host)] for user, _, host in mails])
    if job["project"]:
        yield from _elements(("JB_project", job["project"]))
    yield from _elements(("JB_notify", _flag(job["notify"])), ("JB_job_name", job["name"]))
    yield from _paths("JB_stdout_path_list", job["stdout"])
    yield from _elements(("JB_jobshare", job["job_share"]))


def _requests(job: "Detail") -> "Iterator[str]":
    for tag, kind in (("JB_hard_resource_list", "hard"), ("JB_soft_resource_list", "soft")):
        rows = [_resource(name, text, job["complexes"].get(name, {})) for name, text in job[kind].items()]
        yield from _list(tag, "qstat_l_requests", rows)
    yield from _queues("JB_hard_queue_list", job["hard_queues"])
    yield from _queues("JB_soft_queue_list", job["soft_queues"])
    yield from _paths("JB_shell_list", job["shells"])


def _resource(name: str, text: str, entry: "dict[str, str]") -> "list[tuple[str, Any]]":
    kind = entry.get("type", "STRING")
    return [
        ("CE_name", name),
        ("CE_valtype", _VALUE_TYPES[kind]),
        ("CE_stringval", text),
        ("CE_doubleval", _number(kind, text)),
        ("CE_relop", 0),
        ("CE_consumable", _CONSUMABLE[entry.get("consumable", "NO")]),
        ("CE_dominant", 0),
        ("CE_pj_doubleval", "0.000000"),
        ("CE_pj_dominant", 0),
        ("CE_requestable", 0),
        ("CE_tagged", 0),
    ]


def _number(kind: str, text: str) -> str:
    """The amount that a request means in base units (s, bytes), 0 for texts."""
    from gridengine.values.units import parse_bool, parse_memory, parse_quantity, parse_time

    parsers = {"TIME": parse_time, "MEMORY": parse_memory, "BOOL": parse_bool}
    parsers |= dict.fromkeys(("INT", "DOUBLE", "RSMAP"), parse_quantity)
    if kind not in parsers:
        return "0.000000"
    top, _, bottom = text.partition("/")
    value = float(parsers[kind](top)) / int(bottom or 1)
    return _UNLIMITED if value == float("inf") else f"{value:f}"


def _program(job: "Detail") -> "Iterator[str]":
    yield from _list("JB_env_list", "job_sublist", [_variable(name, value) for name, value in _environment(job)])
    yield from _list("JB_job_args", "element", [[("ST_name", argument)] for argument in job["args"]])
    yield from _elements(("JB_script_file", job["script_file"]))
    if job["tasks"] or job["error"]:
        yield f"{_IN}<JB_ja_tasks>\n"
        for task in job["tasks"]:
            yield from _task(job, task)
        if job["error"]:
            yield from _failed(job["error"], _IN + "    ")
        yield f"{_IN}</JB_ja_tasks>\n"
    yield from _list("JB_context", "context_list", [_variable(name, value) for name, value in job["context"].items()])
    if job["cwd"]:
        yield from _elements(("JB_cwd", job["cwd"]))
    yield from _paths("JB_stderr_path_list", job["stderr"])


def _environment(job: "Detail") -> "list[tuple[str, Any]]":
    """The variables that the client added, under the names that parsers know, then the user's variables."""
    origin = {
        "HOME": job["home"],
        "LOGNAME": job["owner"],
        "PATH": job["submit_path"],
        "SHELL": job["login_shell"],
        "HOST": job["submit_host"],
        "WORKDIR": job["submit_cwd"],
    }
    return [*((f"__SGE_PREFIX__O_{name}", value) for name, value in origin.items() if value), *job["environment"]]


def _variable(name: str, value: "str | None") -> "list[tuple[str, Any]]":
    return [("VA_variable", name), *([("VA_value", value)] if value else [])]


def _failed(error: "dict[str, Any]", inner: str) -> "Iterator[str]":
    """The error reason of a whole job; as in 8.1.9 an element of its first pending task."""
    yield f"{_IN}  <ulong_sublist>\n"
    yield element("JAT_status", 0, inner)
    first = error["tasks"].partition(",")[0].partition("-")[0]
    yield element("JAT_task_number", first or 1, inner)
    yield from _message(error["reason"], inner)
    yield f"{_IN}  </ulong_sublist>\n"


def _message(reason: str, inner: str) -> "Iterator[str]":
    return _list("JAT_message_list", "ulong_sublist", [[("QIM_type", 1), ("QIM_message", reason)]], inner)


def _task(job: "Detail", task: "Detail") -> "Iterator[str]":
    """A task that was dispatched: its usage, or the reason of its failure."""
    inner = _IN + "    "
    yield f"{_IN}  <ulong_sublist>\n"
    yield element("JAT_status", _TASK_STATUS.get(task["status"], 0), inner)
    yield element("JAT_task_number", task["id"], inner)
    if reason := task["error"] or task["mishap"]:
        yield from _message(reason, inner)
    if task["usage"] is not None:
        cpu, memory, io, iow, vmem, maxvmem = task["usage"]
        used = [("cpu", cpu), ("mem", memory), ("io", io), ("iow", iow), ("vmem", vmem), ("maxvmem", maxvmem)]
        if task.get("binding"):
            used.insert(0, (f"binding_inuse!{task['binding']}", 0.0))
        rows = [[("UA_name", name), ("UA_value", f"{value:f}")] for name, value in used]
        yield from _list("JAT_scaled_usage_list", "scaled", rows, inner)
    granted = [
        [("GRU_host", host), ("GRU_name", name), ("GRU_value", " ".join(units))] for host, name, units in task.get("units", ())
    ]
    if granted:
        yield from _list("JAT_granted_resources_list", "grl", granted, inner)
    yield element("JAT_start_time", int(task["start_time"]) if task["status"] != "pending" else 0, inner)
    yield element("JAT_ntix", f"{(job['priorities'] or (0.0,) * 4)[3]:f}", inner)
    yield f"{_IN}  </ulong_sublist>\n"


def _dependencies(job: "Detail") -> "Iterator[str]":
    for tag, inner, ids in (
        ("JB_jid_predecessor_list", "job_predecessors", job["predecessors"]),
        ("JB_jid_successor_list", "ulong_sublist", job["successors"]),
        ("JB_ja_ad_predecessor_list", "job_predecessors_ad", job["array_predecessors"]),
        ("JB_ja_ad_successor_list", "ulong_sublist", job["array_successors"]),
    ):
        yield from _list(tag, inner, [[("JRE_job_number", number)] for number in ids])
    requested = [[("JRE_job_number", 0), ("JRE_job_name", name)] for name in job["predecessors_requested"]]
    yield from _list("JB_jid_request_list", "element", requested)


def _times_and_rules(job: "Detail") -> "Iterator[str]":
    yield from _elements(("JB_deadline", int(job["deadline"])), ("JB_execution_time", int(job["start_after"])))
    if job["checkpoint"]:
        yield from _elements(("JB_checkpoint_name", job["checkpoint"]))
    yield from _elements(
        ("JB_checkpoint_attr", _flags(_CHECKPOINT_FLAGS, job["checkpoint_when"])),
        ("JB_checkpoint_interval", job["checkpoint_interval"]),
        ("JB_reserve", _flag(job["reserve"])),
        ("JB_mail_options", _flags(_MAIL_FLAGS, job["mail_options"])),
    )
    yield from _paths("JB_stdin_path_list", job["stdin"])
    yield from _elements(
        ("JB_priority", job["priority"] + 1024),
        ("JB_restart", {True: 1, False: 2, None: 0}[job["rerun"]]),
        ("JB_verify", 0),
    )
    yield from _queues("JB_master_hard_queue_list", job["master_queues"])
    yield from _elements(("JB_script_size", 0))
    if job["pe"]:
        from gridengine.values.ranges import parse_slot_ranges

        yield from _elements(("JB_pe", job["pe"]))
        ranges = [[("RN_min", low), ("RN_max", high), ("RN_step", 1)] for low, high in parse_slot_ranges(job["pe_range"])]
        yield from _list("JB_pe_range", "ranges", ranges)


def _flags(numbers: "dict[str, int]", names: "Iterable[str]") -> int:
    return sum(numbers.get(name, 0) for name in names)


def _job_structure(job: "Detail") -> "Iterator[str]":
    first, last, step = job["array"] or (1, 1, 1)
    kinds = [name for name in ("now", "binary", "no_shell", "array") if job[name]]
    yield from _elements(
        ("JB_verify_suitable_queues", 0),
        ("JB_soft_wallclock_gmt", 0),
        ("JB_hard_wallclock_gmt", 0),
        ("JB_override_tickets", job["override_tickets"]),
        ("JB_version", job["version"]),
    )
    yield from _list("JB_ja_structure", "task_id_range", [[("RN_min", first), ("RN_max", last), ("RN_step", step)]])
    yield from _elements(("JB_type", _flags(_TYPE_FLAGS, [*kinds, job["kind"]])))
    yield from _list("JB_binding", "binding" if job["binding"] else "element", [_binding(job["binding"])])
    yield from _elements(
        ("JB_ja_task_concurrency", job["task_concurrency"]),
        ("JB_nurg", f"{(job['priorities'] or (0.0,) * 4)[2]:f}"),
    )


def _binding(text: str) -> "list[tuple[str, Any]]":
    """`set striding:2:4:0,1` in its parts; "" for no binding."""
    kind, _, request = text.partition(" ")
    strategy, *parts = request.split(":")
    explicit = {"": "no_explicit_binding", "explicit": request}.get(strategy)
    offsets = parts[-1].split(",") if parts and "," in parts[-1] and not explicit else []
    counts = [] if explicit else [part for part in parts if part.isdigit()]
    name = "no_job_binding" if not text else strategy if explicit or offsets else f"{strategy}_automatic"
    elements: list[tuple[str, Any]] = [
        ("BN_strategy", name),
        ("BN_type", _BINDING_TYPES.get(kind, 0)),
        ("BN_parameter_n", counts[0] if counts else 0),
        ("BN_parameter_socket_offset", offsets[0] if offsets else 0),
        ("BN_parameter_core_offset", offsets[1] if offsets else 0),
        ("BN_parameter_striding_step_size", counts[1] if len(counts) > 1 else 0),
    ]
    return [*elements, ("BN_parameter_explicit", explicit)] if explicit else elements


def _elements(*pairs: "tuple[str, Any]") -> "Iterator[str]":
    return (element(name, value, _IN) for name, value in pairs)


def _list(tag: str, inner: str, rows: "list[list[tuple[str, Any]]]", indent: str = _IN) -> "Iterator[str]":
    """A list element with an `inner` element per row; no output without rows."""
    if rows:
        yield f"{indent}<{tag}>\n"
        for row in rows:
            yield f"{indent}  <{inner}>\n"
            yield from (element(name, value, indent + "    ") for name, value in row)
            yield f"{indent}  </{inner}>\n"
        yield f"{indent}</{tag}>\n"


def _queues(tag: str, names: list[str]) -> "Iterator[str]":
    return _list(tag, "destin_ident_list", [[("QR_name", name)] for name in names])


def _paths(tag: str, pairs: "list[list[str]]") -> "Iterator[str]":
    rows = [[("PN_path", path), ("PN_host", host), ("PN_file_host", ""), ("PN_file_staging", "false")] for host, path in pairs]
    return _list(tag, "path_list", rows)
