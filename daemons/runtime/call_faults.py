"""Why a call of another daemon failed, in words for people: what Ray says of it is for programmers, and long.

Knows Ray's exceptions by their names, so that it imports none of it. Called by whoever logs the failure of such a call.
"""

from __future__ import annotations

from gridengine.errors import plain_fault

#: an exception of Ray, or what it is derived from -> what has happened
_REASONS = {
    "ActorUnavailableError": "its process does not answer at the moment",
    "ActorDiedError": "its process has ended",
    "RayActorError": "its process has ended",
    "WorkerCrashedError": "its process has crashed",
    "NodeDiedError": "its node has ended",
    "GetTimeoutError": "no answer in time",
    "RpcError": "the master's node does not answer",
    "RaySystemError": "the node of this host does not answer",
    "RaySerializationError": "its answer cannot be read",
}


class NotServing(Exception):
    """A call that the qmaster cannot take now: another host is the master, or there is no room for what it would write."""


def describe_call_fault(error: BaseException) -> str:
    """One line. What the other side raised itself is named with its first line; a wait that was in vain is said to be that."""
    cause = getattr(error, "cause", None)
    if isinstance(cause, NotServing):
        return _first_line(cause)  # the qmaster's own words
    if isinstance(cause, BaseException) and cause is not error:
        return f"it failed: {type(cause).__name__}: {_first_line(cause)}"
    for kind in type(error).__mro__:
        if kind.__name__ in _REASONS:
            return _REASONS[kind.__name__]
    if isinstance(error, TimeoutError):
        return str(error) or "no answer in time"
    if type(error).__module__.partition(".")[0] == "ray":
        return "the node of this host does not answer"
    return _first_line(error)


def _first_line(error: BaseException) -> str:
    return plain_fault(error).partition("\n")[0][:200]
