"""The output of a task: the end of stdout and stderr, for the job's owner, as a page and within the job's page.

The browser reloads the page every few seconds while it is visible; the host of the task reads the file each time.
The qmaster decides on the permission. Source: adr/0138.
"""

from __future__ import annotations

from collections.abc import Sequence
from posixpath import join
from typing import Any, Protocol

from daemons.web.finished_jobs import FinishedRecord
from daemons.web.pages.formats import link, on_hosts, printable_output
from daemons.web.pages.page import Data, NotFoundError, Page, Visit

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
        "text": printable_output(tail.get("text", "")), "refusal": " ".join(text for _, text in answer.answers),
    }


def output_of_job(visit: Visit, number: int, task: str) -> Data | None:
    """The data on output for the page of a job; None while no task runs. `task`: the task in the address, "" for none.

    The data has `owner`: the owner if the visitor is another user, else ""; `addresses`: (name, address) of each stream.
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
    return {
        "owner": "" if visit.caller.user == job.owner else job.owner, "task": task, "array": array,
        "addresses": [(name, link(f"/jobs/{job.id}/output", task=task, stream=name)) for name in streams],
    }


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
