"""Describe a failed call of another daemon in one line for people: Ray's own texts are long and meant for programmers.

Knows Ray's exceptions by their names, so that it does not import Ray. Called by all code that logs a failed call.
"""

from __future__ import annotations

from gridengine.errors import UnavailableError, plain_fault

#: name of an exception of Ray, or of a base class of an exception -> the reason in plain words
REASONS = {
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


class NotServing(UnavailableError):
    """The qmaster cannot take the call now: another host is the master, or the spool has no space left."""


def describe_call_fault(error: BaseException) -> str:
    """One line: the first line of an exception that the other side raised, or the reason why there is no answer."""
    cause = getattr(error, "cause", None)
    if isinstance(cause, NotServing):
        return _first_line(cause)  # a text of the qmaster itself
    if isinstance(cause, BaseException) and cause is not error:
        return f"it failed: {type(cause).__name__}: {_first_line(cause)}"
    for kind in type(error).__mro__:
        if kind.__name__ in REASONS:
            return REASONS[kind.__name__]
    if isinstance(error, TimeoutError):
        return str(error) or "no answer in time"
    if type(error).__module__.partition(".")[0] == "ray":
        return "the node of this host does not answer"
    return _first_line(error)


def _first_line(error: BaseException) -> str:
    return plain_fault(error).partition("\n")[0][:200]
