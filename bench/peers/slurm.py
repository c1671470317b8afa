"""Slurm as Debian packages it, with 50 processors claimed for each host, so that as many jobs run at a time as elsewhere."""

from __future__ import annotations

from pathlib import Path

from bench.peers.system import EXEC_HOSTS, NAME, SLOTS, System, hosts, need_packages

_CONFIGURATION = Path("/etc/slurm/slurm.conf")
_RECORDS = "/var/spool/slurm/jobs.txt"
_TEXT = """ClusterName={name}
SlurmctldHost={master}
SlurmUser=slurm
AuthType=auth/munge
StateSaveLocation=/var/spool/slurm/state
SlurmdSpoolDir=/var/spool/slurm/slurmd
SlurmctldPidFile=/run/slurmctld.pid
SlurmdPidFile=/run/slurmd.pid
SlurmctldLogFile=/var/spool/slurm/slurmctld.log
SlurmdLogFile=/var/spool/slurm/slurmd.log
SlurmdParameters=config_overrides
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerType=sched/backfill
JobCompType=jobcomp/filetxt
JobCompLoc={records}
MaxArraySize=10001
MaxJobCount=30000
NodeName={hosts} CPUs={slots} State=UNKNOWN
PartitionName=all Nodes={hosts} Default=YES MaxTime=INFINITE State=UP
"""
_START = """
set -e
mkdir -p /run/munge /var/log/munge /var/lib/munge /var/spool/slurm/state /var/spool/slurm/slurmd
chown -R munge: /run/munge /var/log/munge /var/lib/munge
chmod 755 /run/munge
chown -R slurm: /var/spool/slurm
setpriv --reuid munge --regid munge --clear-groups munged </dev/null >/dev/null
{daemon} </dev/null >/dev/null
"""


class Slurm(System):
    label, host_prefix, listing = "Slurm", "bs", "squeue"

    def up(self) -> None:
        need_packages("slurm-wlm", "munge")
        hosts("up", self.master, *self.exec_hosts)
        known = {"name": NAME, "master": self.master, "hosts": ",".join(self.exec_hosts), "slots": SLOTS, "records": _RECORDS}
        _CONFIGURATION.parent.mkdir(exist_ok=True)
        _CONFIGURATION.write_text(_TEXT.format(**known))
        self.on(self.master, "bash", "-c", _START.format(daemon="slurmctld"))
        for host in self.exec_hosts:
            self.on(host, "bash", "-c", _START.format(daemon=f"slurmd -N {host}"))
        self.until("all nodes are idle", f"[ $(sinfo -h -N -t idle -o %N | wc -l) = {EXEC_HOSTS} ]")

    def down(self) -> None:
        super().down()
        _CONFIGURATION.unlink(missing_ok=True)

    def submission(self, tasks: int = 0, wait: bool = False) -> str:
        return f"sbatch -J {NAME} -o /dev/null{f' -a 1-{tasks}' if tasks else ''}{' --wait' if wait else ''} --wrap /bin/true"

    def waiting(self) -> bool:
        return bool(self.user(f"squeue -h -n {NAME}").strip())

    def records(self) -> int:
        return int(self.on(self.master, "sh", "-c", f"grep -c 'Name={NAME} JobState=COMPLETED' {_RECORDS} || true"))

    def version(self) -> str:
        return self.user("sbatch --version").strip()
