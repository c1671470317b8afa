"""A cell in this process with a mirror of its state, and the web server's road to both."""

from __future__ import annotations

import asyncio
from datetime import UTC
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec

from daemons.qmaster.serve.service import Service
from daemons.qmaster.serve.streams.mirrors import Mirrors
from daemons.runtime.cell import Cell as InstalledCell
from daemons.runtime.qmaster_client import LocalCaller, NoQmasterError
from daemons.web.mirror import MirroredChange, StateMirror
from daemons.web.reports.report_reader import figures
from daemons.web.reports.report_source import ReportError, ReportSource
from daemons.web.shared import Web
from gridengine.protocols.delivery import OutputTail, encode
from gridengine.protocols.gdi.requests import Caller
from gridengine.protocols.mirroring import Measures
from tests.harness import MASTER, Cell
from tests.service_callbacks import IdleCallbacks, durable

ROOT = Caller("root", 0, "root", 0, MASTER)
ALICE = Caller("alice", 1001, "users", 1001, "h1")
BOB = Caller("bob", 1002, "users", 1002, "h1")


class Followed:
    """A cell with a mirror; `take` brings it what came since."""

    def __init__(self, cell: Cell) -> None:
        self.cell, self.measures = cell, Measures()
        self.mirrors = Mirrors(cell.master, self.measures, durable)
        self.mirror = StateMirror()
        self.changes: list[MirroredChange] = []
        self.mirror.followers.append(self.changes.append)
        self.begin()

    def begin(self) -> None:
        self.cell.master.flush()
        self.lines = self.mirrors.subscribe()
        self.take()

    def take(self) -> None:
        while self.lines.unread:
            self.mirror.take(bytes(self.lines.unread.popleft()))

    def alike(self) -> bool:
        """Whether both states are the same, what is in no snapshot included."""
        self.take()
        theirs, ours = self.cell.state, self.mirror.state
        volatile = [(state.priorities, state.tickets, state.job_reservations) for state in (theirs, ours)]
        return bool(theirs.snapshot() == ours.snapshot() and volatile[0] == volatile[1])


class Link:
    """Stands for the connections to the qmaster: its service answers in this process. `away`: nobody answers.

    `tail`: what every host reads of a file, None while no host answers. `host`: where the web server runs.
    """

    def __init__(self, followed: Followed) -> None:
        self._followed = followed
        self._service = Service(followed.cell.master, IdleCallbacks(read_output=self._read))
        self.tail: OutputTail | None = None
        self.host = "h1"
        self.asked: list[tuple[str, str]] = []
        self.away = False

    async def post(self, path: str, body: bytes, caller: LocalCaller, total_s: float | None = None, key: str = "") -> Any:
        if self.away:
            raise NoQmasterError("unable to contact qmaster", sent=False)
        name = path.rpartition("/")[2]
        self.asked.append((caller.user, name))
        asked_by = Caller(caller.user, caller.uid, caller.group, caller.gid, self.host)
        answer = await self._service.answer(name, body, asked_by, key)
        self._followed.take()
        return _Response(msgspec.json.encode(answer))


    async def _read(self, host: str, data: bytes) -> bytes:
        if self.tail is None:
            raise LookupError(host)
        return encode(self.tail)


class _Response:
    def __init__(self, body: bytes) -> None:
        self._body = body

    async def __aenter__(self) -> _Response:
        return self

    async def __aexit__(self, *error: object) -> None:
        pass

    async def read(self) -> bytes:
        return self._body


def web_of(followed: Followed, directory: Path) -> tuple[Web, Link]:
    """What the handlers share, over a followed cell. To be called on a running event loop."""
    installed: Any = SimpleNamespace(
        unique_name=str, own_name=lambda: "h1", master_host=lambda: MASTER, admin_user="root", name="default",
        candidate_hosts=tuple,
        common=directory, run_dir=directory, qmaster_spool_dir=directory / "qmaster",
        execd_spool_dir=directory / "execd", execd_spool=(directory / "execd").joinpath,
        backups_dir=directory / "qmaster" / "backups",
    )
    installed.daily_backups = partial(InstalledCell.daily_backups, installed)
    assert asyncio.get_running_loop()
    link: Any = Link(followed)
    shared = Web(_as_cell(installed), followed.mirror, link, UTC)
    shared.reports = ReportSource(shared.cell, shared.mirror, shared.read, read_figures)
    return shared, link


async def read_figures(request: dict[str, Any]) -> dict[str, Any]:
    """The figures of a report in JSON, read in this process."""
    try:
        found: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(figures(request)))
    except OSError as error:
        raise ReportError(f"cannot read {request['path']}: {error.strerror}") from None
    return found


def _as_cell(installed: Any) -> InstalledCell:
    cell: InstalledCell = installed
    return cell
