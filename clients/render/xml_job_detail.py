"""qstat -j -xml: the document `detailed_job_info`, as programs parse it.

Owns element names and order. Called by qstat. Source: ST-18, ST-28; O.
"""

from clients.render.xml_jobs import DECLARATION, SCHEMAS, element, escape

TYPE_CHECKING = False  # as typing has it: clients pay for every import
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    Detail = dict[str, Any]

_IN = "      "
_MAIL_FLAGS = {"a": 0x4, "b": 0x1, "e": 0x2, "s": 0x20}


def detailed_jobs(data: "Detail") -> "Iterator[str]":
    """The document for `job_detail` data; for jobs that are all unknown the document `unknown_jobs`."""
    if data.get("unknown") and not data.get("jobs"):
        names = "".join(f"    <ST_name>{escape(name)}</ST_name>\n" for name in data["unknown"])
        yield f"{DECLARATION}<unknown_jobs >\n{names}</unknown_jobs>\n"
        return
    yield f'{DECLARATION}<detailed_job_info  xmlns:xsd="{SCHEMAS}/qstat/detailed_job_info.xsd">\n  <djob_info>\n'
    for job in data.get("jobs", ()):
        yield "    <element>\n"
        yield from _job(job)
        yield "    </element>\n"
    yield "  </djob_info>\n"
    reasons = [text for job in data.get("jobs", ()) for text in job["reasons"]]
    reasons += [text for text, _ in data.get("reasons", ())]
    if reasons:
        yield "  <messages>\n    <element>\n      <SME_global_message_list>\n"
        for text in dict.fromkeys(reasons):
            yield "        <element>\n" + element("MES_message", text, " " * 10) + "        </element>\n"
        yield "      </SME_global_message_list>\n    </element>\n  </messages>\n"
    yield "</detailed_job_info>\n"


def _job(job: "Detail") -> "Iterator[str]":
    flag = {True: "true", False: "false"}
    yield from _simple(
        ("JB_job_number", job["id"]),
        ("JB_ar", job["ar"]),
        ("JB_exec_file", f"job_scripts/{job['id']}"),
        ("JB_submission_time", int(job["submit_time"])),
        ("JB_owner", job["owner"]),
        ("JB_uid", job["uid"]),
        ("JB_group", job["group"]),
        ("JB_gid", job["gid"]),
        ("JB_account", job["account"]),
        ("JB_merge_stderr", flag[job["merge"]]),
    )
    if job["cwd"]:
        yield from _simple(("JB_cwd", job["cwd"]))
    mails = [address.partition("@") for address in job["mail_list"]]
    yield from _list("JB_mail_list", "element", [[("MR_user", user), ("MR_host", host)] for user, _, host in mails])
    yield from _simple(("JB_notify", flag[job["notify"]]), ("JB_job_name", job["name"]))
    yield from _paths("JB_stdout_path_list", job["stdout"])
    yield from _simple(("JB_jobshare", job["job_share"]))
    yield from _resources("JB_hard_resource_list", job["hard"])
    yield from _resources("JB_soft_resource_list", job["soft"])
    for tag, names in (
        ("JB_hard_queue_list", job["hard_queues"]),
        ("JB_soft_queue_list", job["soft_queues"]),
        ("JB_master_hard_queue_list", job["master_queues"]),
    ):
        yield from _list(tag, "destin_ident_list", [[("QR_name", name)] for name in names])
    yield from _list("JB_env_list", "job_sublist", [_variable(name, value) for name, value in _environment(job)])
    yield from _list("JB_job_args", "element", [[("ST_name", argument)] for argument in job["args"]])
    yield from _simple(("JB_script_file", job["script_file"]))
    yield from _paths("JB_stderr_path_list", job["stderr"])
    yield from _paths("JB_stdin_path_list", job["stdin"])
    yield from _list("JB_ja_tasks", "ulong_sublist", [_task(task) for task in job["tasks"] if task["status"] != "pending"])
    for tag, ids in (
        ("JB_jid_predecessor_list", job["predecessors"]),
        ("JB_jid_successor_list", job["successors"]),
        ("JB_ja_ad_predecessor_list", job["array_predecessors"]),
        ("JB_ja_ad_successor_list", job["array_successors"]),
    ):
        yield from _list(tag, "ulong_sublist", [[("JRE_job_number", number)] for number in ids])
    yield from _numbers(job)


def _environment(job: "Detail") -> "list[tuple[str, Any]]":
    """The variables that the client added, under the names that parsers know, then those of the user."""
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


def _task(task: "Detail") -> "list[tuple[str, Any]]":
    return [("JAT_task_number", task["id"]), ("JAT_start_time", int(task["start_time"]))]


def _numbers(job: "Detail") -> "Iterator[str]":
    yield from _simple(
        ("JB_deadline", int(job["deadline"])),
        ("JB_execution_time", int(job["start_after"])),
        ("JB_reserve", "true" if job["reserve"] else "false"),
        ("JB_mail_options", sum(_MAIL_FLAGS[letter] for letter in job["mail_options"] if letter in _MAIL_FLAGS)),
        ("JB_priority", job["priority"] + 1024),
        ("JB_restart", {True: 1, False: 2, None: 0}[job["rerun"]]),
    )
    if job["checkpoint"]:
        yield from _simple(("JB_checkpoint_name", job["checkpoint"]))
    if job["project"]:
        yield from _simple(("JB_project", job["project"]))
    if job["pe"]:
        from gridengine.ranges import parse_slot_ranges

        yield from _simple(("JB_pe", job["pe"]))
        ranges = [[("RN_min", low), ("RN_max", high), ("RN_step", 1)] for low, high in parse_slot_ranges(job["pe_range"])]
        yield from _list("JB_pe_range", "ranges", ranges)
    first, last, step = job["array"] or (1, 1, 1)
    yield from _simple(("JB_override_tickets", job["override_tickets"]), ("JB_version", job["version"]))
    yield from _list("JB_ja_structure", "task_id_range", [[("RN_min", first), ("RN_max", last), ("RN_step", step)]])
    context = [_variable(name, value) for name, value in job["context"].items()]
    yield from _list("JB_context", "context_list", context)
    yield from _simple(("JB_ja_task_concurrency", job["task_concurrency"]))


def _simple(*pairs: "tuple[str, Any]") -> "Iterator[str]":
    return (element(name, value, _IN) for name, value in pairs)


def _list(tag: str, inner: str, rows: "list[list[tuple[str, Any]]]") -> "Iterator[str]":
    """A list element with one `inner` element a row; nothing for no rows."""
    if rows:
        yield f"{_IN}<{tag}>\n"
        for row in rows:
            yield f"{_IN}  <{inner}>\n"
            yield from (element(name, value, _IN + "    ") for name, value in row)
            yield f"{_IN}  </{inner}>\n"
        yield f"{_IN}</{tag}>\n"


def _paths(tag: str, pairs: "list[list[str]]") -> "Iterator[str]":
    rows = [[("PN_path", path), ("PN_host", host), ("PN_file_host", ""), ("PN_file_staging", "false")] for host, path in pairs]
    return _list(tag, "path_list", rows)


def _resources(tag: str, requests: dict[str, str]) -> "Iterator[str]":
    return _list(tag, "qstat_l_requests", [[("CE_name", name), ("CE_stringval", value)] for name, value in requests.items()])
