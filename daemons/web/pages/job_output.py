"""What a running task writes: the end of its stdout and stderr, for the job's owner, as a page and within the page of the job.

The page is asked for again every few seconds while somebody looks at it; the host of the task reads the file each time.
Who may see it the qmaster decides. Source: adr/0138.
"""

from __future__ import annotations

from typing import Any

from daemons.web.pages.formats import link, written
from daemons.web.pages.page import Data, Missing, Page, Visit

STREAMS = ("stdout", "stderr")


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
    if not running:
        return None
    chosen = visit.number("task", 0) or int(task if task.isascii() and task.isdigit() and len(task) < 11 else running[0])
    streams = STREAMS[:1] if job.merge else STREAMS
    return {
        **{"whose": "" if visit.caller.user == job.owner else job.owner, "task": chosen, "array": job.is_array},
        "addresses": [(name, link(f"/jobs/{number}/output", task=chosen, stream=name)) for name in streams],
    }


PAGES = [Page("/jobs/{job}/output", "output.html", job_output)]
