"""This system and the real Grid Engine 8.1.9, which are asked in the same words."""

from __future__ import annotations

import subprocess

from bench.peers.system import EXEC_HOSTS, NAME, ROOT, SLOTS, UP_S, System, hosts, need_packages

_TASKS = f"qsub -terse -N {NAME} -o /dev/null -e /dev/null"
_QSUB = f"{_TASKS} -b y"


class GridEngineSystem(System):
    """Either of the two."""

    accounting: str

    def submission(self, tasks: int = 0, wait: bool = False) -> str:
        return f"{_QSUB}{f' -t 1-{tasks}' if tasks else ''}{' -sync y' if wait else ''} /bin/true"

    def waiting(self) -> bool:
        return NAME in self.user("qstat")

    def records(self) -> int:
        # the fields `failed` and `exit_status` of accounting(5)
        count = f"awk -F: '$5 == \"{NAME}\" && $12 == 0 && $13 == 0' {self.accounting} | wc -l"
        return int(self.on(self.master, "sh", "-c", count))


class OwnSystem(GridEngineSystem):
    """The installation in `prefix`."""

    label, host_prefix = "this system", "bo"

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self.path = f"{prefix}/bin"
        self.environment = {"SGE_ROOT": f"{prefix}/cells", "SGE_CELL": NAME}
        self.accounting = f"{prefix}/cells/{NAME}/common/accounting"

    def up(self) -> None:
        self._cell("up", str(EXEC_HOSTS))

    def down(self) -> None:
        super().down()
        self._cell("down")

    def tiny(self, tasks: int) -> tuple[str, int]:
        make = f"mkdir -p {self.shared} && cd {self.shared} && yes /bin/true | head -n {tasks} > list"
        return f"{make} && {_TASKS} -cwd -pe mpi {EXEC_HOSTS * SLOTS} -tasks-output none -tasks list", EXEC_HOSTS

    def version(self) -> str:
        return self.on(self.master, "qconf", "--version").splitlines()[0]

    def _cell(self, *arguments: str) -> None:
        variables = {"PREFIX": self._prefix, "CELL": NAME, "MASTER": self.master, "EXEC": self.host_prefix, **self._environment()}
        command = [str(ROOT / "tests" / "testbed" / "cell"), *arguments]
        subprocess.run(command, env=variables, check=True, capture_output=True, text=True, timeout=UP_S)


class RealGridEngine(GridEngineSystem):
    """Debian's packages of 8.1.9, configured to schedule every second and at each submission and end."""

    label, host_prefix = "Grid Engine 8.1.9", "bg"
    _ROOT = "/var/lib/gridengine"
    path = "/usr/lib/gridengine"  # the programs themselves: Debian's wrapper scripts cost 60 ms a call
    environment = {"SGE_ROOT": _ROOT, "SGE_CELL": NAME}
    accounting = f"{_ROOT}/{NAME}/common/accounting"

    def up(self) -> None:
        need_packages("gridengine-master", "gridengine-exec", "gridengine-client")
        hosts("up", self.master, *self.exec_hosts)
        self.on(self.master, "bash", "-c", _MAKE_CELL.format(root=self._ROOT, cell=NAME, master=self.master))
        for host in self.exec_hosts:
            self.on(self.master, "bash", "-c", _ADD_HOST.format(host=host))
        self.on(self.master, "bash", "-c", _MAKE_QUEUE.format(hosts=" ".join(self.exec_hosts), slots=SLOTS))
        for host in self.exec_hosts:
            self.on(host, "bash", "-c", _START_EXECD)
        self.until("all hosts report", f"[ $(qstat -f | awk '$1 ~ /^all.q@/ && NF == 5' | wc -l) = {EXEC_HOSTS} ]")

    def down(self) -> None:
        super().down()
        subprocess.run(["rm", "-rf", f"{self._ROOT}/{NAME}"], check=True)

    def version(self) -> str:
        return self.on(self.master, "bash", "-c", "qconf -help | head -n 1").strip()


_MAKE_CELL = """
set -e
common={root}/{cell}/common spool=/var/spool/gridengine
mkdir -p $common $spool/db $spool/qmaster/job_scripts /run/gridengine
sed -e "s#^spooling_params.*#spooling_params $spool/db#" -e "s#^qmaster_spool_dir.*#qmaster_spool_dir $spool/qmaster#" \
  {root}/default/common/bootstrap > $common/bootstrap
echo {master} > $common/act_qmaster
chown -R sgeadmin: {root}/{cell} $spool /run/gridengine
setpriv --reuid sgeadmin --regid sgeadmin --clear-groups \
  /usr/share/gridengine/scripts/init_cluster {root} {cell} $spool/db sgeadmin >/dev/null
chown -R sgeadmin: {root}/{cell}
/usr/sbin/sge_qmaster >/dev/null </dev/null
sleep 2
setpriv --reuid sgeadmin --regid sgeadmin --clear-groups qconf -am root >/dev/null || true
qconf -as {master}
"""
_ADD_HOST = """
cat > /tmp/{host} <<END
hostname {host}
load_scaling NONE
complex_values NONE
user_lists NONE
xuser_lists NONE
projects NONE
xprojects NONE
usage_scaling NONE
report_variables NONE
END
qconf -Ae /tmp/{host} && qconf -as {host} && qconf -ah {host}
"""
_MAKE_QUEUE = """
set -e
printf 'group_name @allhosts\\nhostlist {hosts}\\n' > /tmp/group
qconf -Ahgrp /tmp/group
qconf -sq | sed -e 's/^qname .*/qname all.q/' -e 's/^hostlist .*/hostlist @allhosts/' -e 's/^slots .*/slots {slots}/' \
  -e 's/^load_thresholds .*/load_thresholds NONE/' -e 's/^pe_list .*/pe_list NONE/' > /tmp/queue
qconf -Aq /tmp/queue
qconf -ssconf | sed -e 's/^schedule_interval .*/schedule_interval 0:0:1/' -e 's/^flush_\\(.*\\)_sec .*/flush_\\1_sec 1/' \
  -e 's/^job_load_adjustments .*/job_load_adjustments NONE/' > /tmp/scheduler
qconf -Msconf /tmp/scheduler
"""
_START_EXECD = """
mkdir -p /var/spool/gridengine/execd /run/gridengine
chown sgeadmin: /var/spool/gridengine/execd /run/gridengine
/usr/sbin/sge_execd >/dev/null </dev/null
"""
