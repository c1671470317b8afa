"""Following a job to its end: the new records of the stream `wait`, and the limit of its interruptions.

Owns the memory of reported ends. The callers reopen the stream, and pause in between: the commands
(`clients.progress`), `Cell`, `AsyncCell`. Source: docs/gdi.md `wait`.
"""

TYPE_CHECKING = False  # as typing has it: clients pay for every import
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

#: how long the stream may be broken: the job continues meanwhile
PATIENCE_S = 60.0
PAUSE_S = 0.2


class JobFollower:
    """One job, across restarts of the qmaster. `is_finished`: all of its tasks have ended, and their ends were reported.

    `seen`: the tasks whose ends were reported before.
    """

    def __init__(self, patience: float = PATIENCE_S, seen: "Iterable[int]" = ()) -> None:
        self.is_finished = False
        self._patience = patience
        self._seen = set(seen)
        self._broken_since = 0.0

    def is_new(self, record: "dict[str, Any]") -> bool:
        """Note a record of the stream; whether it is new. An end is reported once, even if the stream breaks."""
        self._broken_since = 0.0
        if record.get("done"):
            self.is_finished = True
            return False
        if "exit_status" not in record and not record.get("deleted"):
            return True
        if record["task_id"] in self._seen:
            return False
        self._seen.add(record["task_id"])
        return True

    def note_break(self, fault: Exception, now: float) -> None:
        """The stream broke; `now`: seconds of a clock that is never set. Raises `fault` when that has lasted for too long."""
        self._broken_since = self._broken_since or now
        if now - self._broken_since > self._patience:
            raise fault
