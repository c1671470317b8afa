"""The Python interface of a cell: what other people's programs import. It sends requests to a cell and runs functions in it.

    from gridengine.api import Cell

    with Cell() as cell:
        job = cell.submit("/bin/hostname", binary=True)
        print(cell.wait(job.id))

Owns the names that are promised (docs/python.md). Must not import anything by itself: the q* commands use the modules of this
room, and a name is loaded when it is first used. Imports nothing of `clients`: a user's program may have a package of that name.
"""

TYPE_CHECKING = False  # as typing has it: clients pay for every import
if TYPE_CHECKING:
    from gridengine.api.answers import CellEvent, JobEnd, ListedJob, RequestDenied, StreamEnded, SubmittedJob
    from gridengine.api.async_cell import AsyncCell
    from gridengine.api.cell import Cell
    from gridengine.api.executor import GridExecutor, GridFuture, GridMap
    from gridengine.api.task_faults import LostHost, NotPicklable, OtherPython, ResultTooLarge, TaskFailed
    from gridengine.api.wire import GridError, Unreachable

_PLACES = {
    **dict.fromkeys(("CellEvent", "JobEnd", "ListedJob", "RequestDenied", "StreamEnded", "SubmittedJob"), "answers"),
    **dict.fromkeys(("GridError", "Unreachable"), "wire"),
    **dict.fromkeys(("GridExecutor", "GridFuture", "GridMap"), "executor"),
    **dict.fromkeys(("LostHost", "NotPicklable", "OtherPython", "ResultTooLarge", "TaskFailed"), "task_faults"),
    "AsyncCell": "async_cell",
    "Cell": "cell",
}
"""Name -> its module in this room."""

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
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module  # which the q* commands do without

    return getattr(import_module(f"{__name__}.{_PLACES[name]}"), name)
