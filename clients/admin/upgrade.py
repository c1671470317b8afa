"""`gridengine upgrade`: all daemons of a cell go on as the release that is installed, one host after the other, while jobs run.

Owns the order, the waiting and what is said. Which daemon is of which release tell the qmaster, the seats and pid files; the
releases are `releases`'. What was interrupted goes on with the next call: whatever is of that release already is left alone.
Runs on the master host. Source: docs/operations.md; docs/adr/0149.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from clients import gdi
from clients.admin.cell import InstalledCell, cell_of_environment, read_cell
from clients.admin.daemon_releases import go_on, release_of, says_its_release
from clients.admin.installation import Installation, find_installation
from clients.admin.local_daemons import (
    QMASTER,
    LocalDaemon,
    dbwriter_of,
    has_database,
    is_master_here,
    process_of,
    qmaster_of,
    shadow_masters,
    web_of,
)
from clients.admin.refusal import Refusal
from clients.admin.releases import Release
from clients.admin.socket_request import NoReplyError, ask
from gridengine.protocol import MAX_PROTOCOL_DIFFERENCE
from gridengine.units import format_duration

#: seconds: how long a daemon may take to be back, exec hosts to come to a new master, and their hellos to tell what they have
#: installed; between two looks
_BACK_S, _HEARD_S, _TOLD_S, _LOOK_S = 180.0, 30.0, 20.0, 0.2
_ANSWER_S = 10.0
#: bytes that the disk of the spool must have beyond what is needed
_ROOM = 100 * 1024 * 1024
_OLD = "its daemon is of a release that cannot be told: gridengine stop and gridengine start there; jobs run on"


def upgrade(
    hosts: Annotated[list[str] | None, typer.Argument(help="Only these exec hosts, after shadows and master.")] = None,
    root: Annotated[Path | None, typer.Option("--root", envvar="SGE_ROOT", help="Directory of all cells.")] = None,
    name: Annotated[str, typer.Option("--cell", envvar="SGE_CELL", help="Name of the cell.")] = "default",
    check: Annotated[bool, typer.Option("--check", help="Only show which host has what, and what is in the way.")] = False,
    back: Annotated[bool, typer.Option("--back", help="Put the release before the present one into use first.")] = False,
    here: Annotated[bool, typer.Option("--here", help="With --back: only on this host, whose daemons go on.")] = False,
    older: Annotated[bool, typer.Option("--older", help="Also as a release that is older than the one that runs.")] = False,
) -> None:
    """Have all daemons go on as the release that is installed (make install), host by host; jobs run on.

    Exit code 1: it stopped, and goes on when it is called again.
    """
    files = cell_of_environment(root, name)
    os.environ["SGE_ROOT"], os.environ["SGE_CELL"] = str(files.root), files.name
    installation, cell = find_installation(), read_cell(files)
    if back:
        _go_back(installation)
        if here:
            return
    if not is_master_here(cell):
        raise Refusal(f"a cell is upgraded on its master host, {cell.master_host}")
    work = Upgrade(cell, installation, hosts or [], back or older)
    problems = work.problems()
    for line in work.table():
        typer.echo(line)
    for remark in (*work.dates(), *problems):  # not among the rows, which scripts read
        typer.echo(remark, err=True)
    if problems:
        raise Refusal("nothing was restarted")
    if not check:
        work.run()


class Upgrade:
    """The way of one cell to the release that this host has installed.

    `chosen`: exec hosts that are meant, [] for all; `back`: the release may be older than the one that runs.
    """

    def __init__(self, cell: InstalledCell, installation: Installation, chosen: list[str], back: bool) -> None:
        self._cell, self._installation, self._chosen, self._back = cell, installation, chosen, back
        self._wanted: Release = installation.releases().current()
        self._known = _known()
        self._seats = self._seat_words()
        self._present = {row["host"] for row in self._known["hosts"] if row["up"]}

    # --- looking ---------------------------------------------------------------------------------------------------

    def problems(self) -> list[str]:
        """What is in the way, a sentence each. Hosts that have just got the release have said so within seconds."""
        end, local = time.monotonic() + _TOLD_S, list(self._local_problems())
        while (far := list(self._far_problems())) and not local and time.monotonic() < end:
            time.sleep(_LOOK_S)
            self._known, self._seats = _known(), self._seat_words()
        return [*local, *far]

    def _local_problems(self) -> Iterator[str]:
        wanted, master = self._wanted, self._known["master"]
        if wanted.spool < master["spool"]:
            yield _no_way_back(wanted, master["spool"])
        running = self._running_release()
        if running is not None and wanted.is_older_than(running) and not self._back:
            yield f"release {wanted} is older than {running}, which the cell runs: gridengine upgrade --older goes on as it"
        if not wanted.protocol:
            yield f"release {wanted.name} is of before daemons went on: gridengine stop and start on each host, exec hosts first"
        elif reason := says_its_release(self._installation.program(QMASTER), wanted.name):
            yield reason
        spool = self._cell.qmaster_spool_dir / "spool.db"
        needed = _ROOM + (2 * spool.stat().st_size if wanted.spool > master["spool"] and spool.exists() else 0)
        free = shutil.disk_usage(self._cell.qmaster_spool_dir).free
        if free < needed:
            yield f"the disk of {spool} has {free // 2**20} MB left, and {needed // 2**20} MB are needed"

    def _running_release(self) -> Release | None:
        """The release of the qmaster, None where this host does not have it any more."""
        try:
            return self._installation.releases().read(self._known["master"]["release"])
        except Refusal:
            return None

    def _far_problems(self) -> Iterator[str]:
        wanted = self._wanted
        for host in self._chosen:
            if host not in {row["host"] for row in self._known["hosts"]}:
                yield f'"{host}" is no exec host that the qmaster knows'
        rows = [row for row in self._rows() if row["up"]]
        for host, word in [*self._seats.items(), *((row["host"], row) for row in rows)]:
            if "away" in word or not word["release"] or word["release"] == wanted.name:
                continue
            if word["installed"] != wanted.name:
                yield f"host {host} has {word['installed']} installed, not {wanted.name}: install that there first"
            elif abs(word["protocol"] - wanted.protocol) > MAX_PROTOCOL_DIFFERENCE:
                yield (
                    f"host {host} runs {word['release']} of protocol {word['protocol']}, {wanted.name} is of {wanted.protocol}: "
                    "upgrade to a release between them first"
                )

    def table(self) -> Iterator[str]:
        """Which daemon on which host is of which release, and which one its host has installed."""
        yield f"{'host':<24} {'daemon':<12} {'runs':<20} {'installed':<20} remark"
        for daemon in (qmaster_of(self._cell), *self._helpers()):
            yield _line(daemon.host, daemon.program, self._running(daemon), self._wanted.name, "")
        for host, word in self._seats.items():
            yield _line(host, "sge_shadowd", word.get("release", ""), word.get("installed", ""), word.get("away", ""))
        for row in self._rows():
            tasks = "1 task" if row["tasks"] == 1 else f"{row['tasks'] or 'no'} tasks"
            remark = row["complaint"] or row["refusal"] or (tasks if row["up"] else "away")
            yield _line(row["host"], "sge_execd", row["release"], row["installed"], remark)

    def dates(self) -> list[str]:
        """Of what commits the releases of the table are, as far as that is known."""
        known = (self._wanted, self._running_release())
        return sorted({f"release {release}" for release in known if release is not None and release.date > 0})

    def _rows(self) -> list[dict[str, Any]]:
        return [row for row in self._known["hosts"] if not self._chosen or row["host"] in self._chosen]

    def _helpers(self) -> list[LocalDaemon]:
        """Daemons of this host that hold nothing, so far as they run."""
        found = [*([dbwriter_of(self._cell)] if has_database(self._cell) else []), web_of(self._cell)]
        return [daemon for daemon in found if process_of(daemon) is not None]

    def _running(self, daemon: LocalDaemon) -> str:
        told: str = self._known["master"]["release"] if daemon.program == QMASTER else ""
        return told or release_of(daemon)

    def _seat_words(self, restart: str = "") -> dict[str, dict[str, Any]]:
        """What the other hosts that may be the master say of themselves. Refusal: the one of this host does not answer."""
        if len(shadow_masters(self._cell)) < 2:
            return {}
        try:
            words: dict[str, dict[str, Any]] = self._ask_seat("releases", restart=restart).get("releases", {})
        except NoReplyError:
            return {}
        return words

    def _ask_seat(self, request: str, **fields: object) -> dict[str, Any]:
        return ask(self._cell.run_dir / "seat.sock", request, fields, _ANSWER_S)

    # --- doing -----------------------------------------------------------------------------------------------------

    def run(self) -> None:
        """Shadows, master, exec hosts; to an older release the other way round. Refusal: one is not back."""
        master = self._known["master"]
        steps: list[Callable[[], None]] = [self._shadows, self._master, self._exec_hosts]
        if self._back or (self._wanted.protocol, self._wanted.spool) < (master["protocol"], master["spool"]):
            steps.reverse()
        for step in steps:
            step()
        typer.echo(f"the cell is of release {self._wanted.name}")

    def _shadows(self) -> None:
        for host, word in self._seats.items():
            if "away" in word:
                typer.echo(f"host {host}: its sge_shadowd is left out ({word['away']})")
            elif word["release"] != self._wanted.name:
                with _told(f"host {host}: sge_shadowd", self._wanted):
                    in_sync = host in self._ask_seat("status")["in_sync"]
                    self._seat_words(restart=host)
                    _until(f"sge_shadowd of host {host}", partial(self._shadow_is_back, host, in_sync))

    def _shadow_is_back(self, host: str, in_sync: bool) -> bool:
        word = self._seat_words().get(host, {})
        if refusal := word.get("refusal"):
            raise Refusal(f"sge_shadowd of host {host} {refusal}")
        there = word.get("release") == self._wanted.name
        return there and (not in_sync or host in self._ask_seat("status")["in_sync"])

    def _master(self) -> None:
        daemon = qmaster_of(self._cell)
        if self._running(daemon) != self._wanted.name:
            with _told(f"host {daemon.host}: {daemon.program}", self._wanted):
                go_on(daemon, self._cell, self._installation)
                _until(str(daemon), lambda: self._master_is_back(daemon))
        for helper in self._helpers():
            if release_of(helper) != self._wanted.name:
                with _told(f"host {helper.host}: {helper.program}", self._wanted):
                    go_on(helper, self._cell, self._installation)

    def _master_is_back(self, daemon: LocalDaemon) -> bool:
        if process_of(daemon) is None and not daemon.pid_file.read_text().strip():
            return False  # it is becoming the new program
        if process_of(daemon) is None:
            raise Refusal(f"{daemon} has ended: see {daemon.pid_file.parent / 'messages'}; gridengine start")
        try:
            self._known = _known()
        except Refusal:
            return False
        return bool(self._known["master"]["release"] == self._wanted.name)

    def _exec_hosts(self) -> None:
        _until("the exec hosts", self._all_are_heard, _HEARD_S, must=False)
        by_hand = []
        for row in self._rows():
            host = row["host"]
            if row["release"] == self._wanted.name:
                continue
            if not row["up"] and not row["complaint"]:
                typer.echo(f"host {host} is away: its daemon is of what it has installed when it starts")
            elif not row["release"]:
                by_hand.append(host)
            else:
                with _told(f"host {host}: sge_execd", self._wanted):
                    self._tell(host)
                    _until(f"sge_execd of host {host}", partial(self._host_is_back, host))
        if by_hand:
            raise Refusal(f"host {', '.join(by_hand)}: {_OLD}")

    def _all_are_heard(self) -> bool:
        """Whether the exec hosts that were there before the master went on have come to it again."""
        rows = self._fresh_rows()
        return all(row["up"] or row["complaint"] for row in rows if not self._present or row["host"] in self._present)

    def _tell(self, host: str) -> None:
        answer = _request("restart_hosts", {"hosts": [host], "release": self._wanted.name})
        if answer.status:
            raise Refusal("; ".join(text for _, text in answer.answers))

    def _fresh_rows(self) -> list[dict[str, Any]]:
        self._known = _known()
        return self._rows()

    def _host_is_back(self, host: str) -> bool:
        """Whether it is of the release, and has told the qmaster what it has."""
        row = next(row for row in self._fresh_rows() if row["host"] == host)
        if row["refusal"]:
            raise Refusal(f"host {host} {row['refusal']}")
        return bool(row["release"] == self._wanted.name and row["up"] and row["ready"])


class _told:
    """Says what goes on as another release, and how long that took; nothing of what comes to nothing."""

    def __init__(self, what: str, wanted: Release) -> None:
        self._what, self._wanted, self._began = what, wanted, time.monotonic()

    def __enter__(self) -> None:
        return

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None:
            typer.echo(f"{self._what} goes on as {self._wanted.name}, after {format_duration(time.monotonic() - self._began)}")


def _go_back(installation: Installation) -> None:
    """Put the release that was used last before the present one into use. Refusal: none, or it cannot read the spool any more."""
    releases = installation.releases()
    names = releases.names()
    if len(names) < 2:
        raise Refusal("no earlier release is installed")
    earlier = releases.read(names[1])
    if earlier.spool < (spool := _known()["master"]["spool"]):
        raise Refusal(_no_way_back(earlier, spool))
    try:
        releases.make_current(earlier.name)
    except OSError as error:
        raise Refusal(f"cannot put {earlier.name} into use: {error.filename}: {error.strerror}") from error
    typer.echo(f"release {earlier.name} is in use on this host again, in place of {names[0]}")


def _no_way_back(release: Release, spool: int) -> str:
    return (
        f"release {release.name} reads spools of versions up to {release.spool}, and the cell's has version {spool}: there is no "
        "way back but gridengine restore of a backup from before"
    )


def _known() -> dict[str, Any]:
    """What the qmaster knows of releases; one that is too old to be asked knows nothing. Refusal: it does not answer."""
    answer = _request("releases", {})
    if answer.status:
        return {"master": {"release": "", "protocol": 0, "spool": 0}, "hosts": []}
    return dict(answer.data)


def _request(name: str, body: dict[str, object]) -> gdi.Answer:
    try:
        return gdi.call(name, body)
    except gdi.Unreachable as error:
        raise Refusal(str(error)) from None


def _until(what: str, condition: Callable[[], bool], patience_s: float = _BACK_S, must: bool = True) -> None:
    """Wait for a condition. Refusal: it `must` be so, and is not within `patience_s`."""
    end = time.monotonic() + patience_s
    while not condition():
        if time.monotonic() > end:
            if must:
                raise Refusal(f"{what} is not back after {patience_s:.0f} s: see its messages; then gridengine upgrade goes on")
            return
        time.sleep(_LOOK_S)


def _line(host: str, daemon: str, runs: str, installed: str, remark: str) -> str:
    return f"{host:<24} {daemon:<12} {runs or '?':<20} {installed or '?':<20} {remark}".rstrip()
