"""The states of a list's commands, as its records tell: a fold over lines of JSON.

Owns the records (adr/0260 lists them) and their meaning. Pure. Called by the runner for its own commands and when it continues a
list, and by qtasks. A torn last line is ignored, since the runner may die while it writes.
"""

from gridengine import json_text

TYPE_CHECKING = False  # as typing has it: clients pay for every import
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

WAITING, RUNNING, DONE, FAILED, SKIPPED = STATES = ("waiting", "running", "done", "failed", "skipped")
#: ends that no further attempt follows
ENDED = (DONE, FAILED, SKIPPED)
#: records of an attempt after which the command waits again: it failed and has retries left, was stopped with the runner, or was
#: lost with its host
_WAITS_AGAIN = ("again", "stopped", "lost")


class TaskState:
    """A command's state of STATES, and its last attempt: `exit_status` or `signal`, epoch s of start and end (0: none), host.

    `attempt`: number of the last attempt that began; `failures`: failed attempts since the last retry on request;
    `cause`: for a skipped command the number of the command after which it would have run.
    """

    __slots__ = ("attempt", "cause", "end", "exit_status", "failures", "host", "signal", "start", "state")

    def __init__(self) -> None:
        self.state = WAITING
        self.attempt = self.failures = self.exit_status = self.signal = self.cause = 0
        self.start = self.end = 0.0
        self.host = ""


class ListStates:
    """States by number of the command. `read_requests`: bytes of the file of requests that the runner has carried out; `runs`:
    how often a runner has started."""

    def __init__(self) -> None:
        self.by_number: dict[int, TaskState] = {}
        self.read_requests = 0
        self.runs = 0

    def of(self, number: int) -> TaskState:
        state = self.by_number.get(number)
        if state is None:
            state = self.by_number[number] = TaskState()
        return state

    def apply(self, record: "dict[str, Any]") -> None:
        """Apply one record."""
        if "number" not in record:
            self.runs += "run" in record
            self.read_requests = record.get("requests", self.read_requests)
            return
        state, kind = self.of(record["number"]), record["state"]
        if kind == "retry":
            state.state, state.failures, state.cause = WAITING, 0, 0
        elif kind == SKIPPED:
            state.state, state.cause = SKIPPED, record["cause"]
        else:
            state.attempt, state.host, state.start = record["attempt"], record["host"], record["start"]
            state.end, state.exit_status, state.signal = record.get("end", 0.0), record.get("exit", 0), record.get("signal", 0)
            state.state = WAITING if kind in _WAITS_AGAIN else kind
            state.failures += kind in ("again", FAILED)


def records_in(data: bytes) -> "Iterator[dict[str, Any]]":
    """The records in the content of a file; lines that are no record are dropped."""
    for line in data.split(b"\n"):
        if line[:1] == b"{":
            try:
                yield json_text.decode(line)
            except ValueError:
                continue


def fold(data: bytes) -> ListStates:
    """The states after all records of a file."""
    found = ListStates()
    for record in records_in(data):
        found.apply(record)
    return found
