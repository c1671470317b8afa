"""The end of a job when its host loses its power: at each step of writing it, with any part of the data on the disk."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gridengine.usage.failed import HOST_CRASHED
from shepherd import adoption, process_tree, task_files

BOOTED = 1000.0
EARLIER = {"failed": 0, "exit_status": 0, "reason": "", "usage": {"cpu": 1.0}, "final": True, "task": "6.1"}
END: dict[str, Any] = {"failed": 0, "exit_status": 3, "reason": "", "usage": {"cpu": 7.5}}
LATER = END | {"failed": 15, "reason": "in the epilog"}
Image = dict[str, bytes]


class Disk:
    """A directory, and what of it outlives a loss of power: what a file held at its last sync; names that were there at the last
    sync of anything, since a file system writes them in order. `images` are those that may be found before each step."""

    def __init__(self, directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._directory = directory
        self._synced: dict[int, bytes] = {}
        self._names: dict[str, int] = {}
        self.images: list[tuple[str, Image]] = []
        for path in directory.iterdir():
            self._synced[path.stat().st_ino] = path.read_bytes()
        self._commit()
        for name in ("open", "write", "ftruncate", "rename", "fsync"):
            monkeypatch.setattr(os, name, self._watched(name, getattr(os, name)))

    def _watched(self, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def watched(*arguments: Any, **more: Any) -> Any:
            self.look(name)
            answer = call(*arguments, **more)
            if name == "fsync":
                self._sync(os.fstat(arguments[0]).st_ino)
            return answer

        return watched

    def _sync(self, inode: int) -> None:
        for path in self._directory.iterdir():
            if path.stat().st_ino == inode:
                self._synced[inode] = path.read_bytes()
        self._commit()

    def _commit(self) -> None:
        self._names = {path.name: path.stat().st_ino for path in self._directory.iterdir()}

    def look(self, step: str) -> None:
        now = {path.name: (path.stat().st_ino, path.read_bytes()) for path in self._directory.iterdir()}
        self.images += [
            (f"all before {step}", {name: content for name, (_, content) in now.items()}),
            (f"synced before {step}", {name: self._synced.get(inode, b"") for name, inode in self._names.items()}),
            (f"names before {step}", {name: self._synced.get(inode, b"") for name, (inode, _) in now.items()}),
        ]


@pytest.fixture
def task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory that an earlier task has had."""
    monkeypatch.setattr(process_tree, "boot_time", lambda: BOOTED)
    directory = tmp_path / "active_jobs" / "7.1"
    directory.mkdir(parents=True)
    (directory / "exit.new").write_text(json.dumps(EARLIER))
    return directory


def found(image: Image, place: Path) -> dict[str, Any]:
    """What the launcher of a host that has booted again says of the task."""
    directory = place / "7.1"
    directory.mkdir(parents=True)
    for name, content in (image | {"pid": b"12 34\n"}).items():
        (directory / name).write_bytes(content)
        os.utime(directory / name, (BOOTED - 1, BOOTED - 1))
    if not adoption.is_finished(directory):
        adoption.finalise(directory)
    record: dict[str, Any] = json.loads((directory / "exit").read_bytes())
    return record


@pytest.mark.statement("EX-4", "EX-10")
@pytest.mark.parametrize(("final", "last", "may_be"), [
    (True, END, [0]),  # no method follows
    (True, END | {"usage": {"cpu": 8.0}}, [0]),  # what it left behind has used more
    (False, END, [0, 100]),  # methods follow
    (False, LATER, [15, 100]),
])
def test_an_ended_job_stays_ended_with_any_part_of_its_end_on_disk(
    task: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, final: bool, last: dict[str, Any], may_be: list[int]
) -> None:
    with monkeypatch.context() as watching:
        disk = Disk(task, watching)
        task_files.write_job_end(task, END, final)
        noted = len(disk.images)
        disk.look("the steps after the job")
        task_files.write_exit(task, last)
        disk.look("the report")
    for number, (when, image) in enumerate(disk.images):
        record = found(image, tmp_path / str(number))
        own = record["exit_status"] == 3 and record["failed"] in may_be
        nothing_yet = number < noted and record["failed"] == HOST_CRASHED
        assert own or nothing_yet, when
