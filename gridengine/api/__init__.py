"""The Python interface of a cell, for users' programs: requests to a cell, and functions that run in it.

    from gridengine.api import Cell

    with Cell() as cell:
        job = cell.submit("/bin/hostname", binary=True)
        print(cell.wait(job.id))

Owns the public names (docs/python.md). Must not import any module by itself: the q* commands use the modules of this package,
and a name is loaded at its first use. Imports nothing of `clients`: a user's program may have a package of that name.
"""

TYPE_CHECKING = False  # as typing has it: clients pay for every import
if TYPE_CHECKING:
    from gridengine.api.answers import CellEvent, JobEnd, ListedJob, RequestDenied, StreamEnded, SubmittedJob
    from gridengine.api.async_cell import AsyncCell
    from gridengine.api.cell import Cell
    from gridengine.api.executor import GridExecutor, GridFuture, GridMap
    from gridengine.api.task_faults import LostHost, NotPicklable, OtherPython, ResultTooLarge, TaskFailed
    from gridengine.api.wire import GridError, Unreachable

_MODULES = {
    **dict.fromkeys(("CellEvent", "JobEnd", "ListedJob", "RequestDenied", "StreamEnded", "SubmittedJob"), "answers"),
    **dict.fromkeys(("GridError", "Unreachable"), "wire"),
    **dict.fromkeys(("GridExecutor", "GridFuture", "GridMap"), "executor"),
    **dict.fromkeys(("LostHost", "NotPicklable", "OtherPython", "ResultTooLarge", "TaskFailed"), "task_faults"),
    "AsyncCell": "async_cell",
    "Cell": "cell",
}
"""Name -> its module in this package."""

__all__ = (
    "AsyncCell",
    "Cell",
    "CellEvent",
    "GridError",
    "GridExecutor",
    "GridFuture",
    "GridMap",
    "JobEnd",
    "ListedJob",
    "LostHost",
    "NotPicklable",
    "OtherPython",
    "RequestDenied",
    "ResultTooLarge",
    "StreamEnded",
    "SubmittedJob",
    "TaskFailed",
    "Unreachable",
)


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module  # the q* commands do not need it

    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
