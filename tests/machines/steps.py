"""The steps of `make machines`, in order: each does the work of an administrator, and prints the outcome.

Each needs the steps `up`, `init` and `join` before it; all other steps can be run alone. Raise FailedStepError.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

from tests.machines.bed import (
    BIN,
    EXEC,
    MASTER,
    SETTINGS,
    SGE_ROOT,
    as_alice,
    eventually,
    note,
    on,
    require,
    try_on,
    vm,
)
from tests.machines.cell import (
    NewMessages,
    await_host,
    delete,
    has_ended,
    job_processes,
    record,
    runs,
    start_jobs,
    state_codes,
    state_of,
    submit,
)
from tests.machines.devices import devices

_REBOOTED = "host was rebooted"


SHARE = "/usr/share/gridengine-ray"
"""What the package brings."""
INSTALL_NEWER = f"""
cp -r {SHARE}/source /root/newer && cd /root/newer
echo $(($(cat commit_date) + 60)) >commit_date; echo '# newer' >>gridengine/__init__.py
PIP_NO_INDEX=1 PIP_FIND_LINKS={SHARE}/wheels bash tools/install /opt/gridengine {SHARE}/python
"""
"""The commands that make a newer release out of the source of the package, and put it into use on a host."""
HUNGRY = "import time; x = b'1' * {size}; time.sleep(100000)"


def bring_up(*options: str) -> None:
    """Both machines boot, with the package installed and no daemon running."""
    vm("up", MASTER, EXEC, "--memory", "2048", *options)
    for name in (MASTER, EXEC):
        require(f"{name} has no unit that failed", not try_on(name, "systemctl --failed --no-legend").strip())
        require(f"{name} runs no daemon yet", "sge_" not in try_on(name, "ps -eo comm"))


def init() -> None:
    """`gridengine init` on m1, and the command that it prints."""
    printed = on(MASTER, f"{BIN}/gridengine init --root {SGE_ROOT} --load-thresholds NONE --no-arco")
    note(printed.replace("\n", "\n             "))
    require("init says systemctl", "systemctl enable --now sge_qmaster" in printed and "gridengine start" not in printed, printed)
    on(MASTER, "systemctl enable --now sge_qmaster")
    took = eventually("the qmaster answers", lambda: "all.q" in on(MASTER, "qconf -sql"))
    note(f"the qmaster answers after {took:.0f} s more")


def join() -> None:
    """`gridengine join` on m2, and the command that it prints."""
    require("no cell, no daemon", "condition" in try_on(EXEC, "systemctl start sge_execd; systemctl status sge_execd").lower())
    token = next(field for field in on(MASTER, "gridengine token join").split() if field.startswith("ge1_"))
    printed = on(EXEC, f"umask 077; echo {token} >/root/token; {BIN}/gridengine join {MASTER} --token-file /root/token")
    note(printed.replace("\n", "\n             "))
    require("join says systemctl", "systemctl enable --now sge_execd" in printed and "gridengine start" not in printed, printed)
    on(EXEC, "systemctl enable --now sge_execd")
    await_host("the exec host has joined")
    on(MASTER, "qconf -mattr queue slots 4 all.q >/dev/null")
    units = on(EXEC, "systemctl show -p FragmentPath --value sge_execd")
    require("the unit of the package counts", units == "/lib/systemd/system/sge_execd.service", units)
    doctor = try_on(EXEC, "gridengine doctor")
    require("doctor knows the unit", "runs in its systemd unit" in doctor, doctor)


def job() -> None:
    """A job runs to its end."""
    [number] = start_jobs("-N first")
    delete(number)
    eventually("it is accounted", lambda: has_ended(number))
    note(f"failed {record(number)['failed']}")


def memory() -> None:
    """A job that takes more than its memory ends, and leaves its neighbour alone; both are in the slice of all jobs."""
    [neighbour] = start_jobs("-r n")
    [process] = job_processes()
    cgroup = on(EXEC, f"cat /proc/{process}/cgroup")
    require("the job has a cgroup in the slice of all jobs", cgroup.startswith("0::/sge_jobs.slice/"), cgroup)
    hungry = submit("-l h_vmem=64M -shell n", command=f'/usr/bin/python3 -c "{HUNGRY.format(size=2**28)}"')
    eventually("its end is known", lambda: has_ended(hungry))
    require("its end is that of the limit", record(hungry)["failed"].startswith("37 "), record(hungry))
    story = on(MASTER, f"qexplain -story {hungry} 2>&1 || true")
    require("the story has limit and amount", "killed at 64.0M of 64M" in story, story)
    require("its neighbour runs on", runs(neighbour) and job_processes() == [process], state_of(neighbour))
    delete(neighbour)


def cgroups() -> None:
    """The checks of cgroup v2 below a launcher alone."""
    for line in on(EXEC, "cd /mnt/project && python3 -B -m tests.machines.cgroups").splitlines():
        note(line)


def homes() -> None:
    """Homes on an NFS server that squashes root: files of a job are readable for its user alone."""
    home, exports = "/srv/homes/alice", "/srv/homes *(rw,sync,root_squash,no_subtree_check)"
    on(MASTER, f"install -d -m 700 -o alice -g alice {home}; echo '{exports}' >/etc/exports; systemctl restart nfs-server")
    on(EXEC, f"mkdir -p /srv/homes; mount -t nfs4 -o soft,timeo=300 {MASTER}:/srv/homes /srv/homes")
    require("root may not enter", "denied" in try_on(EXEC, f"ls {home}"))
    script = r"#!/bin/sh\necho in $(pwd) as $(id -un); cat"
    as_alice(f"cd {home}; printf '{script}' >work; chmod 700 work; echo input >input")

    def submit_there(options: str) -> str:
        return as_alice(f"cd {home}; qsub -terse -cwd -j y {options} {home}/work").split(".")[0]

    for kind in ("-b n", "-b y"):
        job = submit_there(f"-o out -i input {kind}")
        eventually("its end is known", functools.partial(has_ended, job))
        require("it ran", (ended := record(job))["failed"].startswith("0") and ended["exit_status"] == "0", ended)
        output = as_alice(f"cd {home}; cat out; rm out")
        require("it ran in the home of its user", output.split("\n") == [f"in {home} as alice", "input"], output)
    misled = submit_there("-o nowhere/out")
    eventually("an output that cannot be opened is an error of the job", lambda: state_of(misled) == "Eqw")
    require("the queue takes jobs", state_codes() == "", state_codes())
    delete(misled)
    on(EXEC, "umount /srv/homes")


def reboot() -> None:
    """The exec host is rebooted in order, under two jobs, with -r y and with -r n."""
    again, once = start_jobs("-r y", "-r n")
    messages = NewMessages()
    vm("reboot", EXEC)
    await_host()
    eventually("the end of both is known", lambda: record(once).get("failed", "") + record(again).get("failed", "") != "" and
               record(once) != {})
    note(f"-r n: failed {record(once)['failed']}, exit_status {record(once)['exit_status']}")
    require("it was lost with its host", record(once)["failed"].startswith("19 "), record(once))
    eventually("the job with -r y runs again", lambda: runs(again))
    text = messages.text()
    for line in text.splitlines():
        note(line)
    require("messages say so", _REBOOTED in text and "killed on request" not in text)
    require("the reboot was no loss", "is lost" not in text)
    story = on(MASTER, f"qexplain -story {once} 2>&1 || true")
    require("the story of the job says so", _REBOOTED in story, story)
    delete(again)


def stop() -> None:
    """`systemctl stop`, `start`, `restart` and a killed daemon: the job goes on and is adopted."""
    [number] = start_jobs("-r n")
    processes, messages = job_processes(), NewMessages()
    require("the job has a process", len(processes) == 1, processes)
    on(EXEC, "systemctl stop sge_execd")
    note(f"unknown after {eventually('its queue instance is unknown', lambda: state_codes() == 'u'):.0f} s")
    left = try_on(EXEC, "pgrep -a raylet; pgrep -af '[r]ay_program'")
    require("no process of Ray is left", "ray" not in left, left)
    on(EXEC, "systemctl start sge_execd")
    await_host()
    require("stopped in order, not lost", "was stopped in order" in (text := messages.text()) and "is lost" not in text, text)
    on(EXEC, "systemctl restart sge_execd")
    await_host()
    on(EXEC, "systemctl kill --kill-whom=main --signal=KILL sge_execd")
    eventually("systemd starts it again", lambda: on(EXEC, "systemctl show -p NRestarts --value sge_execd") != "0")
    await_host()
    require("the job runs on, in the same process", runs(number) and job_processes() == processes, state_of(number))
    on(EXEC, f"kill -USR1 {processes[0]}")
    eventually("its end is known", lambda: record(number).get("exit_status", "").startswith("138"))
    note(f"adopted three times; its own end is reported: failed {record(number)['failed']}")


def master() -> None:
    """The master host is rebooted in order while a job runs."""
    [number] = start_jobs("-r n")
    processes = job_processes()
    vm("reboot", MASTER)
    await_host()
    require("the job runs on", runs(number) and job_processes() == processes, state_of(number))
    delete(number)


def both() -> None:
    """Both hosts are rebooted in order, at the same time, under a job with -r y."""
    [number] = start_jobs("-r y")
    vm("reboot", MASTER, EXEC)
    await_host()
    eventually("the job runs again", lambda: runs(number) and len(job_processes()) == 1)
    delete(number)


def upgrade() -> None:
    """A newer release is installed on both hosts; the daemons go on as that release, the job in the same process."""
    [number] = start_jobs("-r n")
    processes = job_processes()
    for name in (MASTER, EXEC):
        note(on(name, INSTALL_NEWER))
    note(on(MASTER, "gridengine upgrade"))
    await_host()
    for name in (MASTER, EXEC):
        seen = on(name, "basename $(readlink /opt/gridengine/current); gridengine status")
        release = seen.splitlines()[0]
        require(f"the daemon of {name} has the newer release", f"release {release}" in seen, seen)
    require("the job runs on, in the same process", runs(number) and job_processes() == processes, state_of(number))
    delete(number)


def power() -> None:
    """Each host loses its power under a job with -r y."""
    [number] = start_jobs("-r y")
    vm("off", EXEC)
    vm("start", EXEC)
    await_host()
    eventually("the job runs again", lambda: runs(number) and len(job_processes()) == 1)
    processes = job_processes()
    vm("off", MASTER)
    vm("start", MASTER)
    await_host()
    require("the job runs on", runs(number) and job_processes() == processes, state_of(number))
    delete(number)


def clock() -> None:
    """The clock of the exec host is an hour ahead and an hour behind."""
    for step in ("+3600", "-7200"):
        [number] = start_jobs("-r n")
        vm("clock", EXEC, step)
        [other] = start_jobs("-r n")
        on(EXEC, "systemctl restart sge_execd")
        await_host()
        require("both jobs run", runs(number, other))
        delete(number, other)
    vm("clock", EXEC, "0")


def dark() -> None:
    """The exec host boots without a network, and joins when the network comes."""
    vm("off", EXEC)
    vm("cut", EXEC, "--carrier")
    vm("start", EXEC)
    eventually("the unit is up", lambda: on(EXEC, "systemctl is-active sge_execd") == "active")
    vm("mend", EXEC)
    await_host()


def journal() -> None:
    """Warnings and errors are in the journal, which names the file of all messages."""
    for name, unit, path in ((MASTER, "sge_qmaster", "/qmaster/messages"), (EXEC, "sge_execd", f"/{EXEC}/messages")):
        text = try_on(name, f"journalctl --no-pager -o short -u {unit}")
        warnings = try_on(name, f"journalctl --no-pager -o short -p warning -u {unit}")
        require(f"the journal of {unit} names the file", path in text, text[-2000:])
        note("\n             ".join(warnings.splitlines()[-5:]))
        require(f"the journal of {unit} has warnings", f"{unit}[" in warnings, warnings[-2000:])
    on(EXEC, f"test -e {SETTINGS}")


def bring_down() -> None:
    """Both machines are removed."""
    vm("down")


def ipv6() -> None:
    """Two new machines that have IPv6 alone make a cell, which runs a job and takes a reboot of both."""
    vm("down")
    bring_up("--ipv6-only")
    init()
    join()
    job()
    both()


STEPS: dict[str, Callable[[], None]] = {
    "up": bring_up,
    "init": init,
    "join": join,
    "job": job,
    "memory": memory,
    "cgroups": cgroups,
    "devices": devices,
    "homes": homes,
    "reboot": reboot,
    "stop": stop,
    "master": master,
    "both": both,
    "upgrade": upgrade,
    "power": power,
    "clock": clock,
    "dark": dark,
    "journal": journal,
    "ipv6": ipv6,
    "down": bring_down,
}
