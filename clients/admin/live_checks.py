"""The checks of `gridengine doctor` that ask the running cell: whether it answers, takes this host, has the same clock and users,
and can send letters.

Owns these checks; where the qmaster cannot be asked they say nothing, but for the one that says that. Called by `doctor`.
"""

from __future__ import annotations

import os
import pwd
import subprocess
import time
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

from clients import gdi
from clients.admin.asking import mean_cell
from clients.admin.cell import InstalledCell
from clients.admin.finding import Finding
from clients.admin.installation import Installation
from clients.admin.local_daemons import EXECD, daemons_of_this_machine, is_master_here, process_of
from clients.admin.standing import standing
from gridengine.protocol import SENSOR_FAULTS_FILE
from gridengine.units import format_duration

#: The end of the qmaster's log in which lost letters are looked for.
_TAIL_BYTES = 1_000_000

#: Seconds that clocks of hosts may be apart: what is shorter than the pauses of people and schedulers.
CLOCKS_APART_S = 5.0


def check_standing(cell: InstalledCell) -> Iterator[Finding]:
    """The master takes the exec hosts whose daemons run here."""
    for daemon in daemons_of_this_machine(cell):
        if daemon.program != EXECD or process_of(daemon) is None:
            continue
        seen = standing(cell, daemon.host)
        if seen.state == "joined":
            yield Finding(seen.text)
        elif seen.state == "refused":
            again = f"gridengine host add {daemon.host} on the master host, and gridengine start here"
            yield Finding(seen.text, f"{again}; if it is to be none any more: gridengine stop")
        else:
            log = daemon.pid_file.parent / "messages"
            yield Finding(seen.text, f"start sge_qmaster there; open the firewall between the hosts; see {log}")


def check_sensors(cell: InstalledCell) -> Iterator[Finding]:
    """The load sensors of the exec hosts whose daemons run here report. Says nothing where all do."""
    for daemon in daemons_of_this_machine(cell):
        if daemon.program != EXECD or process_of(daemon) is None:
            continue
        try:
            faults = (daemon.pid_file.parent / SENSOR_FAULTS_FILE).read_text().splitlines()
        except (OSError, UnicodeDecodeError):
            continue
        for fault in faults:
            yield Finding(f"{daemon.host}: {fault}", "correct the program (man load_sensor), or qconf -mconf: load_sensor")


def check_qmaster(cell: InstalledCell, installation: Installation) -> Iterator[Finding]:
    """A command gets an answer."""
    qconf = installation.bin / "qconf"
    if not qconf.exists():
        return
    asked = subprocess.run([qconf, "-sss"], env={**os.environ, **cell.environment()}, capture_output=True, text=True)
    if asked.returncode == 0:
        yield Finding("the qmaster answers commands from this host")
    else:
        said = (asked.stderr or asked.stdout).strip().splitlines() or ["nothing"]
        fault = next((line for line in said if line.startswith("error:")), said[0])  # it may say first that it waits
        yield Finding(f"qconf -sss says: {fault}", "start the daemons: gridengine start")


def check_orphans(cell: InstalledCell) -> Iterator[Finding]:
    """The hosts have no task that the cell does not know. Says nothing where the qmaster cannot be asked."""
    mean_cell(cell.files)
    try:
        answer = gdi.call("strays", {})
    except gdi.Unreachable:
        return
    if answer.status:
        yield Finding(f"the qmaster does not say which tasks are strays: {answer.answers[0][1]}", "look into its messages file")
        return
    rows = answer.data["strays"]
    for host, job, task, owner, submitted in rows:
        when = f", submitted {datetime.fromtimestamp(submitted):%Y-%m-%d %H:%M}," if submitted else ""
        yield Finding(
            f'host {host} has task {job}.{task} of user "{owner or "?"}"{when} which this cell does not know',
            f"put back the spool that knows it (gridengine stop first), or end it: qdel -f {job}.{task}; what this cell knows of "
            f"the job: qexplain -story {job}",
        )
    if not rows:
        yield Finding("hosts have no task that the cell does not know")


def check_master_clock(cell: InstalledCell) -> Iterator[Finding]:
    """This host and the master host have the same time."""
    if is_master_here(cell):
        return
    mean_cell(cell.files)
    try:
        data = gdi.call("ping", {"host": cell.master_host, "port": int(cell.settings["qmaster_port"]), "name": "qmaster"}).data
        apart = time.time() - (data["start"] + data["run"])
    except (gdi.Unreachable, KeyError, TypeError):
        return
    if abs(apart) > CLOCKS_APART_S:
        way = "ahead of" if apart > 0 else "behind"
        difference = format_duration(abs(apart))
        yield Finding(f"the clock here is {difference} {way} that of the master host", "set the clocks (use NTP)")
    else:
        yield Finding("the clock here and that of the master host agree")


def check_users(cell: InstalledCell) -> Iterator[Finding]:
    """An exec host knows the users whose jobs are in the cell. Says nothing where the qmaster cannot be asked."""
    if not any(cell.execd_spool_dir.glob("*/execd.pid")):
        return
    mean_cell(cell.files)
    try:
        jobs = gdi.call("status", {"jobs": {"users": ["*"]}}).data["jobs"]
    except (gdi.Unreachable, TypeError, KeyError):
        return
    owners = sorted({row[3] for rows in (jobs["running"], jobs["pending"]) for row in rows})
    unknown = [name for name in owners if not _is_user(name)]
    if unknown:
        what = f"users with jobs who do not exist on this host: {', '.join(unknown)}"
        yield Finding(what, "make them, or have this host ask the name service of the others")
    elif owners:
        yield Finding(f"the {len(owners)} users with jobs exist on this host")


def _is_user(name: str) -> bool:
    try:
        pwd.getpwnam(name)
    except KeyError:
        return False
    return True


def missing_mailer(path: str) -> Finding:
    """A note that no program is at `path`, the configured mailer."""
    return Finding(
        f"no mail is sent: {path} is not on this host",
        "install a mailer on the master host (Debian: apt-get install bsd-mailx), or qconf -mconf: mailer none",
        note=True,
    )


def check_mail(cell: InstalledCell, now: datetime) -> Iterator[Finding]:
    """The master host has the mailer, and what it did last did not fail; where the caller may read the qmaster's log."""
    if not is_master_here(cell):
        return
    mean_cell(cell.files)
    try:
        answer = gdi.call("config_show", {"kind": "configuration", "names": ["global"]})
        mailer = str(answer.data[0]["attributes"]["mailer"])
    except (gdi.Unreachable, LookupError, TypeError):
        return
    if mailer.lower() == "none":
        yield Finding("no mail is sent: the configuration has no mailer")
        return
    path = mailer.rpartition("@")[2]
    if not os.access(path, os.X_OK):
        yield missing_mailer(path)
    elif failure := _last_lost_letter(cell.qmaster_spool_dir / "messages", now):
        yield Finding(failure, f"mend what {path} complains of: {path} -s test $USER </dev/null")
    else:
        yield Finding(f"the mailer is {path}")


def _last_lost_letter(messages: Path, now: datetime) -> str:
    """What the qmaster's log says of a letter that was not sent today or yesterday, "" if there is none."""
    days = {f"{day.astimezone():%m/%d/%Y}" for day in (now, now - timedelta(days=1))}
    try:
        with messages.open(errors="replace") as file:
            file.seek(max(0, messages.stat().st_size - _TAIL_BYTES))
            lost = [line.rstrip() for line in file if "was not sent:" in line and line[:10] in days]
    except OSError:
        return ""
    return lost[-1].rpartition("|")[2] if lost else ""
