"""`gridengine upgrade`: restarts all daemons of a cell on the installed release, host by host, while jobs run.

Owns the order, the waiting and the output. The qmaster, the participants and pid files report the releases of daemons; `releases`
owns the installed releases. The next call continues an interrupted upgrade: daemons already on the release are not restarted.
Runs on the master host. Source: docs/operations.md; docs/adr/0149.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Annotated, Any

import typer

from clients import gdi
from clients.admin.cell import InstalledCell, cell_of_environment, read_cell, select_cell
from clients.admin.cell_options import CellName, Root
from clients.admin.daemon_releases import release_mismatch, release_of, restart_on_release
from clients.admin.errors import AdminError
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
from clients.admin.releases import Release
from clients.admin.socket_request import NoReplyError, ask
from clients.admin.systemd_units import renew_units
from gridengine.protocols.protocol import MAX_PROTOCOL_DIFFERENCE
from gridengine.values.units import format_duration

#: limits in seconds: for a daemon to be back, exec hosts to reconnect to a new master, and heartbeats to report the installed
#: release; pause between two checks
BACK_S, RECONNECT_S, INSTALL_REPORT_S, _LOOK_S = 300.0, 30.0, 20.0, 0.2
#: where the master took long to restart, hosts take long as well: so many times as long
_RECONNECT_FACTOR = 2.0
_ANSWER_S = 10.0
#: free bytes required on the disk of the spool, beyond the needed space
_RESERVE_BYTES = 100 * 1024 * 1024
_OLD = "its daemon is from before versioned releases, not upgradable in place: gridengine stop and start there; jobs run on"


def upgrade(
    hosts: Annotated[list[str] | None, typer.Argument(help="Only these exec hosts, after shadows and master.")] = None,
    root: Root = None,
    name: CellName = "default",
    check: Annotated[bool, typer.Option("--check", help="Only show the releases of the hosts, and the obstacles.")] = False,
    back: Annotated[bool, typer.Option("--back", help="First put the previous release into use.")] = False,
    here: Annotated[bool, typer.Option("--here", help="With --back: only on this host, whose daemons run on.")] = False,
    older: Annotated[bool, typer.Option("--older", help="Allow a release older than the running release.")] = False,
) -> None:
    """Restart all daemons on the installed release (make install), host by host; jobs run on.

    Exit code 1: the upgrade has stopped; the next call continues it.
    """
    files = cell_of_environment(root, name)
    select_cell(files)
    installation, cell = find_installation(), read_cell(files)
    if back:
        use_previous_release(installation)
        if here:
            return
    if not is_master_here(cell):
        raise AdminError(f"a cell is upgraded on its master host, {cell.master_host}")
    work = Upgrade(cell, installation, hosts or [], back or older)
    problems = work.problems()
    for line in work.table():
        typer.echo(line)
    for remark in (*work.dates(), *problems):  # on stderr, as scripts read the rows
        typer.echo(remark, err=True)
    if problems:
        raise AdminError("nothing was restarted")
    if not check:
        work.run()


class Upgrade:
    """The upgrade of one cell to the release installed on this host.

    `chosen`: the selected exec hosts, [] for all; `back`: the release may be older than the running release.
    """

    def __init__(self, cell: InstalledCell, installation: Installation, chosen: list[str], back: bool) -> None:
        self._cell, self._installation, self._chosen, self._back = cell, installation, chosen, back
        self._target: Release = installation.releases().current()
        self._known = _known()
        self._participants = self._participant_reports()
        self._present = {row["host"] for row in self._known["hosts"] if row["up"]}
        self._master_took_s = 0.0

    # --- looking ---------------------------------------------------------------------------------------------------

    def problems(self) -> list[str]:
        """The obstacles, a sentence each. Hosts report a newly installed release within seconds."""
        end, local = time.monotonic() + INSTALL_REPORT_S, list(self._local_problems())
        while (far := list(self._remote_problems())) and not local and time.monotonic() < end:
            time.sleep(_LOOK_S)
            self._known, self._participants = _known(), self._participant_reports()
        return [*local, *far]

    def _local_problems(self) -> Iterator[str]:
        target, master = self._target, self._known["master"]
        if target.spool < master["spool"]:
            yield _downgrade_obstacle(target, master["spool"])
        running = self._running_release()
        if running is not None and target.is_older_than(running) and not self._back:
            yield f"release {target} is older than {running}, which the cell runs: gridengine upgrade --older restarts on it"
        if not target.protocol:
            yield f"release {target.name} is from before in-place upgrades: gridengine stop, start on each host, exec hosts first"
        elif reason := release_mismatch(self._installation.program(QMASTER), target.name):
            yield reason
        spool = self._cell.qmaster_spool_dir / "spool.db"
        needed = _RESERVE_BYTES + (2 * spool.stat().st_size if target.spool > master["spool"] and spool.exists() else 0)
        free = shutil.disk_usage(self._cell.qmaster_spool_dir).free
        if free < needed:
            yield f"the disk of {spool} has {free // 2**20} MB left, and {needed // 2**20} MB are needed"

    def _running_release(self) -> Release | None:
        """The release of the qmaster, None if this host no longer has it."""
        try:
            return self._installation.releases().read(self._known["master"]["release"])
        except AdminError:
            return None

    def _remote_problems(self) -> Iterator[str]:
        target = self._target
        for host in self._chosen:
            if host not in {row["host"] for row in self._known["hosts"]}:
                yield f'"{host}" is no exec host that the qmaster knows'
        rows = [row for row in self._rows() if row["up"]]
        for host, report in [*self._participants.items(), *((row["host"], row) for row in rows)]:
            if "away" in report or not report["release"] or report["release"] == target.name:
                continue
            if report["installed"] != target.name:
                yield f"host {host} has {report['installed']} installed, not {target.name}: install that there first"
            elif abs(report["protocol"] - target.protocol) > MAX_PROTOCOL_DIFFERENCE:
                yield (
                    f"host {host} runs {report['release']} of protocol {report['protocol']}, "
                    f"{target.name} has {target.protocol}: "
                    "upgrade to an intermediate release first"
                )

    def table(self) -> Iterator[str]:
        """The table of daemons by host: running release, installed release, remark."""
        yield f"{'host':<24} {'daemon':<12} {'runs':<20} {'installed':<20} remark"
        for daemon in (qmaster_of(self._cell), *self._helpers()):
            yield _line(daemon.host, daemon.program, self._running(daemon), self._target.name, "")
        for host, report in self._participants.items():
            yield _line(host, "sge_shadowd", report.get("release", ""), report.get("installed", ""), report.get("away", ""))
        for row in self._rows():
            tasks = "1 task" if row["tasks"] == 1 else f"{row['tasks'] or 'no'} tasks"
            remark = row["complaint"] or row["refusal"] or (tasks if row["up"] else "away")
            yield _line(row["host"], "sge_execd", row["release"], row["installed"], remark)

    def dates(self) -> list[str]:
        """The commit dates of the releases in the table, if known."""
        known = (self._target, self._running_release())
        return sorted({f"release {release}" for release in known if release is not None and release.date > 0})

    def _rows(self) -> list[dict[str, Any]]:
        return [row for row in self._known["hosts"] if not self._chosen or row["host"] in self._chosen]

    def _helpers(self) -> list[LocalDaemon]:
        """The running daemons of this host that have no part in the election."""
        found = [*([dbwriter_of(self._cell)] if has_database(self._cell) else []), web_of(self._cell)]
        return [daemon for daemon in found if process_of(daemon) is not None]

    def _running(self, daemon: LocalDaemon) -> str:
        release: str = self._known["master"]["release"] if daemon.program == QMASTER else ""
        return release or release_of(daemon)

    def _participant_reports(self, restart: str = "") -> dict[str, dict[str, Any]]:
        """The release reports of the other master candidates. AdminError: the participant of this host denies the request."""
        if len(shadow_masters(self._cell)) < 2:
            return {}
        try:
            reports: dict[str, dict[str, Any]] = self._ask_participant("releases", restart=restart).get("releases", {})
        except NoReplyError:
            return {}
        return reports

    def _ask_participant(self, request: str, **fields: object) -> dict[str, Any]:
        return ask(self._cell.run_dir / "seat.sock", request, fields, _ANSWER_S)

    # --- doing -----------------------------------------------------------------------------------------------------

    def run(self) -> None:
        """Upgrade shadows, master, exec hosts; to an older release in reverse order. AdminError: a daemon is not back."""
        renew_units(self._cell.files, self._installation)
        master = self._known["master"]
        steps: list[Callable[[], None]] = [self._shadows, self._master, self._exec_hosts]
        if self._back or (self._target.protocol, self._target.spool) < (master["protocol"], master["spool"]):
            steps.reverse()
        for step in steps:
            step()
        typer.echo(f"the cell runs release {self._target.name}")

    def _shadows(self) -> None:
        for host, report in self._participants.items():
            if "away" in report:
                typer.echo(f"host {host}: its sge_shadowd is skipped ({report['away']})")
            elif report["release"] != self._target.name:
                with _Step(f"host {host}: sge_shadowd", self._target):
                    in_sync = host in self._ask_participant("status")["in_sync"]
                    self._participant_reports(restart=host)
                    _until(f"sge_shadowd of host {host}", partial(self._shadow_is_back, host, in_sync))

    def _shadow_is_back(self, host: str, in_sync: bool) -> bool:
        report = self._participant_reports().get(host, {})
        if refusal := report.get("refusal"):
            raise AdminError(f"sge_shadowd of host {host} {refusal}")
        there = report.get("release") == self._target.name
        return there and (not in_sync or host in self._ask_participant("status")["in_sync"])

    def _master(self) -> None:
        daemon, began = qmaster_of(self._cell), time.monotonic()
        if self._running(daemon) != self._target.name:
            with _Step(f"host {daemon.host}: {daemon.program}", self._target):
                restart_on_release(daemon, self._cell, self._installation)
                _until(str(daemon), lambda: self._master_is_back(daemon))
            self._master_took_s = time.monotonic() - began
        for helper in self._helpers():
            if release_of(helper) != self._target.name:
                with _Step(f"host {helper.host}: {helper.program}", self._target):
                    restart_on_release(helper, self._cell, self._installation)

    def _master_is_back(self, daemon: LocalDaemon) -> bool:
        if process_of(daemon) is None and not daemon.pid_file.read_text().strip():
            return False  # it is executing the new program
        if process_of(daemon) is None:
            raise AdminError(f"{daemon} has ended: see {daemon.pid_file.parent / 'messages'}; gridengine start")
        try:
            self._known = _known()
        except AdminError:
            return False
        return bool(self._known["master"]["release"] == self._target.name)

    def _exec_hosts(self) -> None:
        patience_s = max(RECONNECT_S, _RECONNECT_FACTOR * self._master_took_s)
        _until("the exec hosts", self._all_hosts_are_back, patience_s, must=False)
        by_hand, lost = [], []
        for row in self._rows():
            host = row["host"]
            if row["release"] == self._target.name:
                continue
            if not row["up"] and not row["complaint"] and host in self._present:
                lost.append(host)
            elif not row["up"] and not row["complaint"]:
                typer.echo(f"host {host} is away: its daemon starts on the release installed there")
            elif not row["release"]:
                by_hand.append(host)
            else:
                with _Step(f"host {host}: sge_execd", self._target):
                    self._restart_host(host)
                    _until(f"sge_execd of host {host}", partial(self._host_is_back, host))
        if lost:
            raise AdminError(f"host {', '.join(lost)} has not come back to the master: gridengine upgrade continues when it has")
        if by_hand:
            raise AdminError(f"host {', '.join(by_hand)}: {_OLD}")

    def _all_hosts_are_back(self) -> bool:
        """Whether the exec hosts that were present before the restart of the master have reconnected."""
        rows = self._fresh_rows()
        return all(row["up"] or row["complaint"] for row in rows if not self._present or row["host"] in self._present)

    def _restart_host(self, host: str) -> None:
        answer = _request("restart_hosts", {"hosts": [host], "release": self._target.name})
        if answer.status:
            raise AdminError("; ".join(text for _, text in answer.answers))

    def _fresh_rows(self) -> list[dict[str, Any]]:
        self._known = _known()
        return self._rows()

    def _host_is_back(self, host: str) -> bool:
        """Whether the daemon runs the release, and has reported its inventory to the qmaster."""
        row = next(row for row in self._fresh_rows() if row["host"] == host)
        if row["refusal"]:
            raise AdminError(f"host {host} {row['refusal']}")
        return bool(row["release"] == self._target.name and row["up"] and row["ready"])


class _Step:
    """A step of the upgrade: prints the restarted daemon and the duration; prints nothing on an error."""

    def __init__(self, what: str, target: Release) -> None:
        self._what, self._target, self._began = what, target, time.monotonic()

    def __enter__(self) -> None:
        return

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None:
            typer.echo(f"{self._what} runs {self._target.name}, after {format_duration(time.monotonic() - self._began)}")


def use_previous_release(installation: Installation) -> None:
    """Put the previously used release into use. AdminError: there is none, or it cannot read the present spool."""
    releases = installation.releases()
    names = releases.names()
    if len(names) < 2:
        raise AdminError("no earlier release is installed")
    earlier = releases.read(names[1])
    if earlier.spool < (spool := _known()["master"]["spool"]):
        raise AdminError(_downgrade_obstacle(earlier, spool))
    try:
        releases.make_current(earlier.name)
    except OSError as error:
        raise AdminError(f"cannot put {earlier.name} into use: {error.filename}: {error.strerror}") from error
    typer.echo(f"release {earlier.name} is in use on this host again, in place of {names[0]}")


def _downgrade_obstacle(release: Release, spool: int) -> str:
    return (
        f"release {release.name} reads spools of versions up to {release.spool}, and the cell's spool has version {spool}: "
        "there is no way back except gridengine restore of an earlier backup"
    )


def _known() -> dict[str, Any]:
    """The releases known to the qmaster; nothing if the qmaster is too old for this request. AdminError: the qmaster does not
    answer.
    """
    answer = _request("releases", {})
    if answer.status:
        return {"master": {"release": "", "protocol": 0, "spool": 0}, "hosts": []}
    return dict(answer.data)


def _request(name: str, body: dict[str, object]) -> gdi.Answer:
    try:
        return gdi.call(name, body)
    except gdi.Unreachable as error:
        raise AdminError(str(error)) from None


def _until(what: str, condition: Callable[[], bool], patience_s: float = BACK_S, must: bool = True) -> None:
    """Wait for a condition. AdminError: the condition `must` hold, and does not within `patience_s`."""
    end = time.monotonic() + patience_s
    while not condition():
        if time.monotonic() > end:
            if must:
                raise AdminError(
                    f"{what} is not back after {patience_s:.0f} s: see its messages; gridengine upgrade then continues"
                )
            return
        time.sleep(_LOOK_S)


def _line(host: str, daemon: str, runs: str, installed: str, remark: str) -> str:
    return f"{host:<24} {daemon:<12} {runs or '?':<20} {installed or '?':<20} {remark}".rstrip()
