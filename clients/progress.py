"""The progress of a submitted job: the `wait` stream of the qmaster, continued across restarts of the qmaster.

Owns the reopening of the stream. Called by commands that wait for a job: qsub -sync, -now, qrsh and its family.
"""

import time

from clients import gdi, program
from gridengine.api.job_follower import PATIENCE_S, PAUSE_S, JobFollower

TYPE_CHECKING = False  # as typing has it: clients pay for every import
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any

#: seconds without a start, after which the command names the command that explains the reason
PENDING_S = 10.0

__all__ = ("PATIENCE_S", "records_of")


def records_of(job_id: int, seen: "Iterable[int]" = (), is_quiet: bool = False) -> "Iterator[dict[str, Any]]":
    """The qmaster's records of the job until its end; across restarts of the qmaster, the end of each task once.

    A line on stderr, once, if no task of the job has started after `PENDING_S`; `is_quiet`: none. Deviation: 8.1.9 waits without
    a message. `seen`: the tasks whose ends are known already.
    """
    import threading

    job_follower = JobFollower(seen=seen)
    pending = threading.Timer(PENDING_S, program.print_error, [f"job {job_id} is still pending: qexplain {job_id} says why"])
    pending.daemon = True
    if not is_quiet:
        pending.start()
    try:
        yield from _records(job_id, job_follower, pending.cancel)
    finally:
        pending.cancel()


def _records(job_id: int, job_follower: JobFollower, on_record: "Callable[[], None]") -> "Iterator[dict[str, Any]]":
    while True:
        try:
            for record in gdi.stream("wait", {"job_id": job_id}):
                on_record()
                if job_follower.is_new(record) and "lost" not in record and "error" not in record:
                    yield record
                if job_follower.is_finished:
                    return
            fault = gdi.Unreachable("the qmaster ended the stream before the job had ended")
        except gdi.Unreachable as error:
            fault = error
        job_follower.note_break(fault, time.monotonic())
        time.sleep(PAUSE_S)
