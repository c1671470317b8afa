"""A list as its directory shows it, for qtasks: commands and their states.

Owns the way from a job to the directory of its list.
"""

import os
from typing import Any

from clients import gdi
from clients.program import CommandError
from clients.task_runner.record_files import RequestFile
from gridengine.task_lists.list_script import ListOptions, read_script
from gridengine.task_lists.task_lines import ListedCommand, read_lines
from gridengine.task_lists.task_states import RUNNING, WAITING, ListStates, TaskState, fold, records_in

_FAILED = 1


class SavedList:
    """The content of a directory. `is_open`: whether the runner takes requests, as far as the files say. Raises CommandError."""

    def __init__(self, directory: str) -> None:
        self.directory = directory
        script = _content(f"{directory}/list").decode("utf-8", "surrogateescape")
        self.options: ListOptions
        self.options, self.lines = read_script(script, f"{directory}/list")
        self.states: ListStates = fold(_content(f"{directory}/records", missing=b""))
        self.is_open = False
        for request in records_in(_content(f"{directory}/requests", missing=b"")):
            if "add" in request:
                self.lines += self.read_further(request["add"], "requests")
            self.is_open = request.get("open", self.is_open)

    def read_further(self, text: str, source: str) -> list[ListedCommand]:
        """The commands of a text, numbered behind the list. Raises InvalidValueError."""
        return read_lines(text, source, self.options.template, self.lines)

    def state(self, number: int) -> TaskState:
        """The state of a command; without a runner none is running."""
        state = self.states.of(number)
        if state.state == RUNNING and not self.is_open:
            state.state = WAITING
        return state

    def requests(self) -> RequestFile:
        return RequestFile(self.directory)


def _content(path: str, missing: bytes | None = None) -> bytes:
    """The content of a file. `missing`: the content of a file that is not there. Raises CommandError."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        if missing is not None and isinstance(error, FileNotFoundError):
            return missing
        raise CommandError(f"qtasks: cannot read {path}: {error.strerror}", _FAILED) from None


def find_list(job: str, directory: str) -> tuple[SavedList, bool]:
    """The list of a job, and whether the cell has the job. `directory`: of the list, "" to look for it. Raises CommandError.

    The job names it in its context, once it has run for a second; else it is beside the output, in the working directory.
    """
    detail = _job_detail(job)
    places = [directory] if directory else [*_places(job, detail), *_present_directories(job)]
    for place in places:
        if os.path.exists(f"{place}/list"):
            return SavedList(place), detail is not None
    if directory:
        raise CommandError(f"qtasks: {directory} is not the directory of a task list", _FAILED)
    reason = "no list of it is found, or it has not begun" if detail else "the cell does not have it, nor is a list of it found"
    raise CommandError(f"qtasks: job {job}: {reason}; -d names the directory of a list, NAME.t{job}", _FAILED)


def _job_detail(job: str) -> dict[str, Any] | None:
    """The details of a job, None for a job that has ended, and without a qmaster."""
    try:
        data = gdi.call("status", {"job_detail": {"jobs": [job]}}).data
    except gdi.Unreachable:
        return None
    jobs = data["job_detail"]["jobs"] if data else []
    return jobs[0] if jobs else None


def _places(job: str, detail: dict[str, Any] | None) -> list[str]:
    if detail is None:
        return []
    named = detail["context"].get("tasks_dir")
    return ([named] if named else []) + [f"{detail.get('cwd') or os.environ.get('HOME', '')}/{detail['name']}.t{job}"]


def _present_directories(job: str) -> list[str]:
    """Directories of this name in the present directory."""
    try:
        return sorted(name for name in os.listdir() if name.endswith(f".t{job}"))
    except OSError:
        return []
