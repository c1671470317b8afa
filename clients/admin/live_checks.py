"""The checks of `gridengine doctor` on the running cell: it answers, accepts this host, has the same clock and users, and can
send mail.

Owns these checks. Without an answer of the qmaster only `check_qmaster` has a finding. Called by `doctor`.
"""

from __future__ import annotations

import os
import pwd
import subprocess
import time
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from clients import gdi
from clients.admin.cell import InstalledCell, select_cell
from clients.admin.device_plan import is_to_configure
from clients.admin.finding import Finding
from clients.admin.installation import Installation
from clients.admin.local_daemons import EXECD, daemons_of_this_machine, is_master_here, process_of
from clients.admin.membership import membership
from gridengine.files.unsent_mail import last_unsent_mail
from gridengine.protocols.protocol import CGROUPS_FILE, SENSOR_FAULTS_FILE
from gridengine.values.units import format_duration

#: Seconds for which a mail message that was not sent is reported.
_UNSENT_S = 2 * 86_400.0

#: Seconds that clocks of hosts may differ: shorter than scheduling intervals and user reactions.
CLOCKS_APART_S = 5.0

#: Seconds that a qmaster that is reached has for an answer.
_ANSWER_S = 10.0


def check_membership(cell: InstalledCell) -> Iterator[Finding]:
    """The master accepts the exec hosts of this machine's running daemons."""
    for daemon in daemons_of_this_machine(cell):
        if daemon.program != EXECD or process_of(daemon) is None:
            continue
        seen = membership(cell, daemon.host)
        if seen.state == "joined":
            yield Finding(seen.text)
        elif seen.state == "refused":
            removed = f"a host that was removed: gridengine host add {daemon.host} on the master host, and gridengine start here"
            yield Finding(seen.text, f"correct that; {removed}; if this is no exec host any longer: gridengine stop")
        else:
            log = daemon.pid_file.parent / "messages"
            yield Finding(seen.text, f"start sge_qmaster there; open the firewall between the hosts; see {log}")


def check_sensors(cell: InstalledCell) -> Iterator[Finding]:
    """The load sensors of this machine's exec hosts report. No finding if all do."""
    for daemon in daemons_of_this_machine(cell):
        if daemon.program != EXECD or process_of(daemon) is None:
            continue
        try:
            faults = (daemon.pid_file.parent / SENSOR_FAULTS_FILE).read_text().splitlines()
        except (OSError, UnicodeDecodeError):
            continue
        for fault in faults:
            yield Finding(f"{daemon.host}: {fault}", "correct the program (man load_sensor), or qconf -mconf: load_sensor")


def check_cgroups(cell: InstalledCell) -> Iterator[Finding]:
    """Cgroups limit the memory of jobs on this machine's exec hosts. No finding where the cell has them switched off."""
    for daemon in daemons_of_this_machine(cell):
        if daemon.program != EXECD or process_of(daemon) is None:
            continue
        try:
            kind, obstacle = (daemon.pid_file.parent / CGROUPS_FILE).read_text().split("\n")[:2]
        except (OSError, ValueError):
            continue
        if obstacle:
            what = f"{daemon.host}: cgroups do not limit the memory of jobs: {obstacle}"
            remedy = "man sge_execd, CGROUPS; or, to go without: qconf -mconf: execd_params ENABLE_CGROUPS=false"
            yield Finding(what, remedy, note=True)
        else:
            yield Finding(f"{daemon.host}: jobs have cgroups {kind}")


def ask_now(cell: InstalledCell, name: str, body: dict[str, Any]) -> gdi.Answer:
    """The answer of the qmaster, without retries: the findings show the present state. Raises Unreachable."""
    select_cell(cell.files)
    return gdi.call(name, body, answer_s=_ANSWER_S, retry_s=0.0)


def check_qmaster(cell: InstalledCell, installation: Installation) -> Iterator[Finding]:
    """The qmaster answers a command."""
    qconf = installation.bin / "qconf"
    if not qconf.exists():
        return
    asked = subprocess.run([qconf, "-sss"], env={**os.environ, **cell.environment()}, capture_output=True, text=True)
    if asked.returncode == 0:
        yield Finding("the qmaster answers commands from this host")
    else:
        output = (asked.stderr or asked.stdout).strip().splitlines() or ["nothing"]
        fault = next((line for line in output if line.startswith("error:")), output[0])  # a notice that it waits may come first
        yield Finding(f"qconf -sss says: {fault}", "start the daemons: gridengine start")


def check_orphans(cell: InstalledCell) -> Iterator[Finding]:
    """The hosts have no task that the cell does not know. No finding if the qmaster does not answer."""
    try:
        answer = ask_now(cell, "strays", {})
    except gdi.Unreachable:
        return
    if answer.status:
        yield Finding(f"the qmaster does not report orphan tasks: {answer.answers[0][1]}", "look into its messages file")
        return
    rows = answer.data["strays"]
    for host, job, task, owner, submitted in rows:
        when = f", submitted {datetime.fromtimestamp(submitted):%Y-%m-%d %H:%M}," if submitted else ""
        yield Finding(
            f'host {host} has task {job}.{task} of user "{owner or "?"}"{when} which this cell does not know',
            f"restore the spool that knows it (gridengine stop first), or end it: qdel -f {job}.{task}; the history of the job "
            f"in this cell: qexplain -story {job}",
        )
    if not rows:
        yield Finding("hosts have no task that the cell does not know")


def check_devices(cell: InstalledCell) -> Iterator[Finding]:
    """The GPUs that hosts have found are configured, and no unit is closed. No finding without GPUs or without the qmaster."""
    try:
        rows = ask_now(cell, "devices", {}).data["hosts"]
    except (gdi.Unreachable, TypeError, KeyError):
        return
    for row in rows:
        for resource, units in row["closed"].items():
            for unit, reason in units.items():
                what = f"{resource}/{unit} of host {row['host']} is closed: {reason}"
                yield Finding(what, f"replace or reset the device; the unit opens by itself; {row['host']}: gridengine devices")
        if row["devices"] and not row["fault"] and is_to_configure(row):
            what = f"host {row['host']} has found other GPUs than are configured"
            yield Finding(what, f"gridengine devices {row['host']} shows them, --apply configures them", note=True)


def check_master_clock(cell: InstalledCell) -> Iterator[Finding]:
    """This host and the master host have the same time."""
    if is_master_here(cell):
        return
    try:
        pinged = {"host": cell.master_host, "port": int(cell.settings["qmaster_port"]), "name": "qmaster"}
        data = ask_now(cell, "ping", pinged).data
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
    """An exec host knows the owners of all jobs in the cell. No finding if the qmaster does not answer."""
    if not any(cell.execd_spool_dir.glob("*/execd.pid")):
        return
    try:
        jobs = ask_now(cell, "status", {"jobs": {"users": ["*"]}}).data["jobs"]
    except (gdi.Unreachable, TypeError, KeyError):
        return
    owners = sorted({row[3] for rows in (jobs["running"], jobs["pending"]) for row in rows})
    unknown = [name for name in owners if not _is_user(name)]
    if unknown:
        what = f"users with jobs who do not exist on this host: {', '.join(unknown)}"
        yield Finding(what, "create them, or configure the name service of the other hosts here")
    elif owners:
        yield Finding(f"the {len(owners)} users with jobs exist on this host")


def _is_user(name: str) -> bool:
    try:
        pwd.getpwnam(name)
    except KeyError:
        return False
    return True


def missing_mailer(path: str) -> Finding:
    """A note that the configured mailer, `path`, does not exist."""
    return Finding(
        f"no mail is sent: {path} is not on this host",
        "install a mailer on the master host (Debian: apt-get install bsd-mailx), or qconf -mconf: mailer none",
        note=True,
    )


def check_mail(cell: InstalledCell, now: datetime) -> Iterator[Finding]:
    """The mailer exists on the master host, and its last call did not fail (if the caller may read the qmaster's log)."""
    if not is_master_here(cell):
        return
    try:
        answer = ask_now(cell, "config_show", {"kind": "configuration", "names": ["global"]})
        mailer = str(answer.data[0]["attributes"]["mailer"])
    except (gdi.Unreachable, LookupError, TypeError):
        return
    if mailer.lower() == "none":
        yield Finding("no mail is sent: the configuration has no mailer")
        return
    path = mailer.rpartition("@")[2]
    if not os.access(path, os.X_OK):
        yield missing_mailer(path)
    elif (unsent := last_unsent_mail(cell.qmaster_spool_dir / "messages")) and now.timestamp() - unsent[0] < _UNSENT_S:
        yield Finding(unsent[1], f"fix the error that {path} reports: {path} -s test $USER </dev/null")
    else:
        yield Finding(f"the mailer is {path}")
