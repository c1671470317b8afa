"""The output of a task: the end of stdout and stderr, for the job's owner, as a page and within the job's page.

The browser reloads the page every few seconds while it is visible; the host of the task reads the file each time.
The qmaster decides on the permission. Source: adr/0138.
"""

from __future__ import annotations

from collections.abc import Sequence
from posixpath import join
from typing import Any, Protocol

from aiohttp import web

from daemons.web.finished_jobs import FinishedRecord
from daemons.web.pages.formats import link, on_hosts, printable_output
from daemons.web.pages.page import Data, NotFoundError, Page, Visit, visit_of, with_error_pages

STREAMS = ("stdout", "stderr")


class Files(Protocol):
    """A running or finished job with its file options: paths as (host or "", path)."""

    @property
    def id(self) -> int: ...
    @property
    def owner(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def cwd(self) -> str: ...
    @property
    def stdout(self) -> Sequence[tuple[str, str]]: ...
    @property
    def stderr(self) -> Sequence[tuple[str, str]]: ...
    @property
    def merge(self) -> bool: ...


async def job_output(visit: Visit) -> Data:
    """The end of a stream. `refusal`: the reason if it is not available."""
    number, stream = visit.parts["job"], visit.parameter("stream") or "stdout"
    if not (number.isascii() and number.isdigit() and len(number) < 8 and stream in STREAMS):
        raise NotFoundError(f"There is no output {stream} of a job {number}")
    body: dict[str, Any] = {"job": int(number), "stream": stream}
    if task := visit.number("task", 0):
        body["task"] = task
    answer = await visit.shared.ask("job_output", body, visit.caller)
    tail: Any = answer.data or {}
    return {
        "number": number, "task": tail.get("task", task), "stream": stream, "tail": tail,
        "tabs": [(name, link(visit.here, stream=name), None) for name in STREAMS], "tab": link(visit.here, stream=stream),
        "file": _address(int(number), task, stream, "/file"),
        "text": printable_output(tail.get("text", "")), "refusal": " ".join(text for _, text in answer.answers),
    }


async def output_file(request: web.Request) -> web.Response:
    """The end of a stream as a file, as the program wrote it; the page with the reason if it is not available."""
    visit = visit_of(request)
    data = await job_output(visit)
    if data["refusal"]:
        raise web.HTTPSeeOther(data["tab"].replace("/output/file", "/output", 1))
    name = f"job{data['number']}.{data['task']}.{data['stream']}.txt"
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return web.Response(text=data["tail"]["text"], content_type="text/plain", headers=headers)


def output_of_job(visit: Visit, number: int, task: str) -> Data | None:
    """The data on output for the page of a job; None while no task runs. `task`: the task in the address, "" for none.

    The data has `owner`: the owner if the visitor is another user, else ""; `tabs`: of the streams; `stream`: of the
    address, with the `address` of its page and the `file` of its download.
    """
    job = visit.shared.mirror.state.jobs[number]
    running = sorted(each.id for each in job.placed if each.status == "running")
    return _shown(visit, job, job.is_array, _selected_task(visit, task, running[0])) if running else None


def output_of_finished_job(visit: Visit, record: FinishedRecord, task: str) -> Data | None:
    """The data on output for the page of a finished job, as `output_of_job`; None if no task ran."""
    return _shown(visit, record, record.array, _selected_task(visit, task, record.tasks[0].id or 1)) if record.tasks else None


def _selected_task(visit: Visit, task: str, usual: int) -> int:
    return visit.number("task", 0) or (int(task) if task.isascii() and task.isdigit() and len(task) < 11 else usual)


def _shown(visit: Visit, job: Files, array: bool, task: int) -> Data:
    streams = STREAMS[:1] if job.merge else STREAMS
    stream = visit.parameter("stream") if visit.parameter("stream") in streams else "stdout"
    return {
        "owner": "" if visit.caller.user == job.owner else job.owner, "task": task, "array": array, "stream": stream,
        "tabs": [(name, f"{link(visit.here, stream=name)}#output", None) for name in streams],
        "tab": f"{link(visit.here, stream=stream)}#output",
        "address": _address(job.id, task, stream), "file": _address(job.id, task, stream, "/file"),
    }


def _address(number: int, task: int, stream: str, part: str = "") -> str:
    return link(f"/jobs/{number}/output{part}", task=task or None, stream=stream)


def files_of(job: Files, array: bool) -> list[tuple[str, str]]:
    """The output paths of a job, (stream, path) each: given by -o and -e, else the default name in its directory.

    Source: sge_submit(1) -o.
    """
    suffix = f"{job.id}.$TASK_ID" if array else str(job.id)
    directory = job.cwd or "$HOME"
    files = []
    for stream, given in (("stdout", job.stdout), ("stderr", job.stderr)):
        paths = [(host, join(directory, path)) for host, path in given]
        files.append((stream, on_hosts(paths or [("", join(directory, f"{job.name}.{stream[3]}{suffix}"))])))
    return [files[0], ("stderr", "merged into stdout")] if job.merge else files


PAGES = [Page("/jobs/{job}/output", "output.html", job_output)]
ROUTES = [web.get("/jobs/{job}/output/file", with_error_pages(output_file))]
