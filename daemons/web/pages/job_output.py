"""What a task writes, or has written: the end of stdout and stderr, for the job's owner, as a page and within the job's page.

The page is asked for again every few seconds while somebody looks at it; the host of the task reads the file each time.
Who may see it the qmaster decides. Source: adr/0138.
"""

from __future__ import annotations

from collections.abc import Sequence
from posixpath import join
from typing import Any, Protocol

from daemons.web.finished_jobs import FinishedRecord
from daemons.web.pages.formats import link, on_hosts, written
from daemons.web.pages.page import Data, Missing, Page, Visit

STREAMS = ("stdout", "stderr")


class Files(Protocol):
    """A job that runs or has ended, with what it says of its files: paths as (host or "", path)."""

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
    """The end of one stream. `refusal`: why there is none."""
    number, stream = visit.parts["job"], visit.said("stream") or "stdout"
    if not (number.isascii() and number.isdigit() and len(number) < 8 and stream in STREAMS):
        raise Missing(f"There is no output {stream} of a job {number}")
    asked: dict[str, Any] = {"job": int(number), "stream": stream}
    if task := visit.number("task", 0):
        asked["task"] = task
    answer = await visit.shared.ask("job_output", asked, visit.caller)
    tail: Any = answer.data or {}
    return {
        **{"number": number, "task": tail.get("task", task), "stream": stream, "tail": tail},
        **{"text": written(tail.get("text", "")), "refusal": " ".join(text for _, text in answer.answers)},
    }


def shown_with_job(visit: Visit, number: int, task: str) -> Data | None:
    """What the page of a job shows of its output; None while nothing runs. `task`: the one that the address means, "" for none.

    `whose`: the owner, if that is somebody else. `addresses`: of each stream, with its name.
    """
    job = visit.shared.mirror.state.jobs[number]
    running = sorted(each.id for each in job.placed if each.status == "running")
    return _shown(visit, job, job.is_array, _chosen(visit, task, running[0])) if running else None


def shown_with_ended(visit: Visit, record: FinishedRecord, task: str) -> Data | None:
    """What the page of a job that has ended shows of its output, as `shown_with_job`; None if no task ran."""
    return _shown(visit, record, record.array, _chosen(visit, task, record.tasks[0].id or 1)) if record.tasks else None


def _chosen(visit: Visit, task: str, usual: int) -> int:
    return visit.number("task", 0) or (int(task) if task.isascii() and task.isdigit() and len(task) < 11 else usual)


def _shown(visit: Visit, job: Files, array: bool, task: int) -> Data:
    streams = STREAMS[:1] if job.merge else STREAMS
    return {
        **{"whose": "" if visit.caller.user == job.owner else job.owner, "task": task, "array": array},
        "addresses": [(name, link(f"/jobs/{job.id}/output", task=task, stream=name)) for name in streams],
    }


def files_of(job: Files, array: bool) -> list[tuple[str, str]]:
    """Where a job writes, (stream, path) each: as -o and -e say, else the usual name in its directory.

    Source: sge_submit(1) -o.
    """
    suffix = f"{job.id}.$TASK_ID" if array else str(job.id)
    directory = job.cwd or "$HOME"
    found = []
    for stream, given in (("stdout", job.stdout), ("stderr", job.stderr)):
        paths = [(host, join(directory, path)) for host, path in given]
        found.append((stream, on_hosts(paths or [("", join(directory, f"{job.name}.{stream[3]}{suffix}"))])))
    return [found[0], ("stderr", "merged into stdout")] if job.merge else found


PAGES = [Page("/jobs/{job}/output", "output.html", job_output)]
