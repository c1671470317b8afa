"""How a job that was submitted goes on: the `wait` stream of the qmaster, held through restarts of the qmaster.

Owns the asking again. Called by commands that wait for a job: qsub -sync, -now, qrsh and its family.
"""

import time

from clients import gdi

TYPE_CHECKING = False  # as typing has it: clients pay for every import
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

#: how long a waiting command does without a qmaster: the job goes on meanwhile
PATIENCE_S = 60.0
_PAUSE_S = 0.2


def records_of(job_id: int) -> "Iterator[dict[str, Any]]":
    """What the qmaster tells of the job until its end; across restarts of the qmaster, each task once."""
    seen: set[int] = set()
    lost = 0.0
    while True:
        try:
            for record in gdi.stream("wait", {"job_id": job_id}):
                lost = 0.0
                if record.get("done"):
                    return
                if "exit_status" not in record and not record.get("deleted"):
                    yield record
                elif record["task_id"] not in seen:
                    seen.add(record["task_id"])
                    yield record
            fault = gdi.Unreachable("the qmaster ended the stream before the job had ended")
        except gdi.Unreachable as error:
            fault = error
        lost = lost or time.monotonic()
        if time.monotonic() - lost > PATIENCE_S:
            raise fault
        time.sleep(_PAUSE_S)
