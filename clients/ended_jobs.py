"""A hint below "does not exist": when and how jobs ended that are gone.

Deviation: 8.1.9 leaves it at that. Called by the commands that take numbers of jobs. Asks
only after a command has failed, so that a success costs nothing more.
"""

from clients import gdi, program

TYPE_CHECKING = False  # as typing has it: clients pay for every import
if TYPE_CHECKING:
    from collections.abc import Iterable

_MOST = 20
_MOST_DIGITS = 7


def hint_at_ends(targets: "Iterable[str]") -> None:
    """A line on stderr for each of the jobs named by number (`12`, `12.1-3`) that has ended. Silent where nobody can say."""
    heads = [target.partition(".")[0] for target in targets]
    numbers = [int(head) for head in heads if head.isdecimal() and len(head) <= _MOST_DIGITS]
    if not numbers:
        return
    try:
        answer = gdi.call("job_ends", {"jobs": numbers[:_MOST]})
    except gdi.Unreachable:
        return
    for text in answer.data["ends"] if answer.data else ():
        program.hint(text)
