"""Hints below "does not exist": the time and the outcome of jobs that ended.

Deviation: 8.1.9 prints no hint. Called by the commands that take numbers of jobs. A request is sent
only after a command has failed, so a success costs nothing more.
"""

from clients import gdi

TYPE_CHECKING = False  # as typing has it: clients pay for every import
if TYPE_CHECKING:
    from collections.abc import Iterable

_MAX_JOBS = 20
_MAX_DIGITS = 7


def end_hints(targets: "Iterable[str]") -> list[str]:
    """A sentence for each job named by number (`12`, `12.1-3`) that has ended; nothing without a qmaster."""
    heads = [target.partition(".")[0] for target in targets]
    numbers = [int(head) for head in heads if head.isdecimal() and len(head) <= _MAX_DIGITS]
    if not numbers:
        return []
    try:
        answer = gdi.call("job_ends", {"jobs": numbers[:_MAX_JOBS]})
    except gdi.Unreachable:
        return []
    return answer.data["ends"] if answer.data else []
