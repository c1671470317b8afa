"""Whether a spool directory takes files: every way in which it does not is an answer, none is an exception."""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from daemons.execd import keep_running
from daemons.execd.health import Health, spool_fault
from daemons.execd.site import HostSite
from gridengine.protocols.delivery import HostFaults


@pytest.fixture
def site(tmp_path: Path) -> HostSite:
    (tmp_path / "active_jobs").mkdir()
    return HostSite("h1", "/root", "c", tmp_path)


def failing(number: int, *below: Path) -> Callable[..., Any]:
    """A system call that fails with this error below these directories, and elsewhere is the real call."""

    def call(path: Any, *rest: Any, **options: Any) -> Any:
        raise OSError(number, os.strerror(number), str(path))

    return call


@pytest.mark.statement("QI-10")
@pytest.mark.parametrize("number", [errno.EROFS, errno.EIO, errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.ESTALE])
@pytest.mark.parametrize("calls", [("open", "unlink"), ("open",), ("unlink",), ("fsync", "unlink"), ("fsync",)])
def test_a_disk_that_fails_is_the_answer(
    site: HostSite, number: int, calls: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    for call in calls:
        monkeypatch.setattr(*((os, call) if call == "fsync" else (Path, call)), failing(number))
    assert spool_fault(site) == f"{site.spool} takes no files: {os.strerror(number)}"
    monkeypatch.undo()
    assert spool_fault(site) == ""
    assert not list(site.spool.rglob(".probe"))


@pytest.mark.statement("QI-10")
@pytest.mark.parametrize("gone", ["active_jobs", "."])
def test_a_directory_that_is_gone_is_the_answer(site: HostSite, gone: str) -> None:
    shutil.rmtree(site.spool / gone)
    assert spool_fault(site) == f"{site.spool} takes no files: No such file or directory"


@pytest.mark.statement("QI-10")
def test_a_fault_is_reported_and_logged_once_and_so_is_its_end(
    site: HostSite, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    reported: list[HostFaults] = []
    health = Health(site, reported.append)
    faults = ["", "broken", "broken", "", ""]
    monkeypatch.setattr("daemons.execd.health.spool_fault", lambda site: faults.pop(0))

    async def looks() -> None:
        while faults:
            await health.check()

    asyncio.run(looks())
    assert [report.faults for report in reported] == [["broken"], []]
    assert [record.getMessage() for record in caplog.records] == [
        "this host takes no jobs: broken",
        f"the spool directory {site.spool} takes files again",
    ]


class Enough(BaseException):
    pass


def test_work_that_fails_at_once_is_started_ever_later_and_logged_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 10:
            raise Enough

    async def work() -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO)) if len(waits) < 8 else ValueError("a bug")

    monkeypatch.setattr(keep_running.random, "random", lambda: 1.0)
    monkeypatch.setattr(keep_running.asyncio, "sleep", sleep)
    with pytest.raises(Enough):
        asyncio.run(keep_running.keep_running("work", work))
    assert waits == sorted(waits) and waits[-1] == 10.0
    assert [(record.getMessage(), bool(record.exc_info)) for record in caplog.records] == [
        ("work failed, it is restarted: Input/output error", False),
        ("work failed, it is restarted: a bug", True),
    ]
