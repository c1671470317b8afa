"""A cell whose hosts have IPv6 alone, but for the loopback address that each machine has; and one of hosts with both families."""

from __future__ import annotations

import http.client
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from clients.admin.certificate import addresses_in
from tests.integration.cells import ROOT, TESTBED, TestbedCell, eventually, run
from tests.integration.debian import need
from tests.integration.test_joining import forget

#: minutes long: `make sites`
pytestmark = pytest.mark.apart

MASTER, NEW = "sm", "snew"
BOTH_MASTER = "bm"
PORT = 8651
PE = """pe_name tight
slots 99
user_lists NONE
xuser_lists NONE
start_proc_args NONE
stop_proc_args NONE
allocation_rule $round_robin
control_slaves TRUE
job_is_first_task FALSE
urgency_slots min
accounting_summary FALSE
qsort_args NONE
"""


class CellWithIPv6(TestbedCell):
    """A cell of a master `sm` and the exec hosts `s1` and `s2`."""

    master = MASTER
    hosts = ("s1", "s2")

    def __init__(self) -> None:
        super().__init__()
        self.environment |= {"CELL": "six", "MASTER": MASTER, "EXEC": "s", "IP": "6"}

    def address(self, host: str) -> str:
        """The address of a host."""
        rows = [line.split() for line in run([str(TESTBED / "hosts"), "list"]).stdout.splitlines()]
        return next(row[1] for row in rows if row[0] == host)


class CellOfBothFamilies(TestbedCell):
    """A cell of a master `bm` and the exec hosts `b1` and `b2`."""

    master = BOTH_MASTER
    hosts = ("b1", "b2")

    def __init__(self) -> None:
        super().__init__()
        self.environment |= {"CELL": "both", "MASTER": BOTH_MASTER, "EXEC": "b", "IP": "both"}

    def addresses(self, host: str) -> tuple[str, str]:
        """The addresses of a host, IPv4 and IPv6."""
        rows = [line.split() for line in Path("/run/testbed/hosts").read_text().splitlines()]
        four, six = (row[0] for row in rows if row[1] == host)
        return four, six


@pytest.fixture(scope="module")
def cell(installed: None) -> Iterator[CellWithIPv6]:
    cell = CellWithIPv6()
    try:
        cell.up()
        yield cell
    finally:
        cell.remove()


@pytest.fixture(scope="module")
def both(installed: None) -> Iterator[CellOfBothFamilies]:
    cell = CellOfBothFamilies()
    try:
        cell.up()
        yield cell
    finally:
        cell.remove()


@pytest.fixture
def work() -> Iterator[Path]:
    """A directory that all hosts see and all users may use."""
    with TemporaryDirectory(dir="/var/tmp", prefix="ge-six-") as name:
        directory = Path(name)
        directory.chmod(0o1777)
        yield directory


def alice(cell: CellWithIPv6, *command: str) -> str:
    """The output of a command of alice on s1, which must succeed."""
    done = cell.as_user("alice", "s1", *command)
    assert done.returncode == 0, (command, done.stdout, done.stderr)
    return str(done.stdout)


def test_no_host_has_an_address_of_ipv4_but_the_loopback(cell: CellWithIPv6) -> None:
    for host in (MASTER, *cell.hosts):
        assert re.findall(r"inet (\S+)", cell.must_on(host, "ip", "addr")) == ["127.0.0.1/8"]
        assert cell.must_on(host, "getent", "ahosts", MASTER).split()[0] == cell.address(MASTER)


def test_jobs_arrays_sessions_and_reservations(cell: CellWithIPv6, work: Path) -> None:
    alice(cell, "qsub", "-sync", "y", "-b", "y", "-t", "1-4", "-o", f"{work}", "-j", "y", "hostname")
    assert len(list(work.glob("hostname.o*"))) == 4
    assert alice(cell, "qrsh", "-l", "h=s2", "hostname; echo $SSH_CLIENT") == "s2\n\n"
    granted = re.search(r"advance reservation (\d+)", cell.must_on(MASTER, *"qrsub -d 600 -u alice -l h=s2".split()))
    assert granted
    eventually("it has begun", lambda: " r " in cell.must_on(MASTER, "qrstat", "-u", "*"))
    assert alice(cell, "qrsh", "-ar", granted[1], "hostname") == "s2\n"
    cell.must_on(MASTER, "qrdel", granted[1])
    assert "sge_execd_process" in alice(cell, "qping", "-info", "s2", "6445", "execd", "1")
    for place in (MASTER, cell.address(MASTER)):
        assert f"{place}/qmaster/1" in cell.as_user("alice", "s1", "qping", "-info", place, "6444", "execd", "1").stderr


def test_a_parallel_job_starts_tasks_on_other_hosts(cell: CellWithIPv6, work: Path) -> None:
    (work / "pe").write_text(PE)
    cell.must_on(MASTER, "qconf", "-Ap", f"{work}/pe")
    cell.must_on(MASTER, "qconf", "-aattr", "queue", "pe_list", "tight", "all.q")
    (work / "job.sh").write_text("#!/bin/sh\nfor host in s1 s2; do qrsh -inherit $host hostname || exit; done\n")
    alice(cell, *"qsub -sync y -pe tight 2 -masterq all.q@s1 -j y -o".split(), f"{work}/out", f"{work}/job.sh")
    assert (work / "out").read_text().splitlines()[-2:] == ["s1", "s2"]


def test_a_configured_command_reaches_its_daemon(cell: CellWithIPv6, work: Path) -> None:
    """The daemon of rsh_daemon gets the connection that rsh_command makes to the host of the job."""
    client = (
        "#!/usr/bin/python3\nimport socket, sys\n"
        "port, host = sys.argv[sys.argv.index('-p') + 1 :][:2]\n"
        "print(socket.create_connection((host, port)).makefile().read())\n"
    )
    for name, text in (("client", client), ("daemon", "#!/bin/sh\nhostname\n")):
        (work / name).write_text(text)
        (work / name).chmod(0o755)
    before = cell.must_on(MASTER, "env", "SGE_SINGLE_LINE=1", "qconf", "-sconf").splitlines()
    kept = [line for line in before if not line.startswith(("#", "rsh_"))]
    (work / "global").write_text("\n".join((*kept, f"rsh_command {work}/client", f"rsh_daemon {work}/daemon\n")))
    cell.must_on(MASTER, "qconf", "-Mconf", f"{work}/global")
    try:
        assert alice(cell, "qrsh", "-l", "h=s2", "hostname").strip() == "s2"
    finally:
        (work / "global").write_text("\n".join((*kept, "rsh_command builtin", "rsh_daemon builtin\n")))
        cell.must_on(MASTER, "qconf", "-Mconf", f"{work}/global")


def test_a_bare_host_joins_by_an_address(cell: CellWithIPv6) -> None:
    assert run([str(TESTBED / "hosts"), "up", NEW], env=cell.environment).returncode == 0
    root = "/opt/local/cells"
    try:
        token = cell.must_on(MASTER, "gridengine", "token", "join")
        join = ("gridengine", "join", f"[{cell.address(MASTER)}]:6444", "--token", "-", "--root", root)
        cell.must_on(NEW, *join, input=token, stdin=None)
        cell.must_on(NEW, "env", f"SGE_ROOT={root}", "gridengine", "start")
        eventually("it takes jobs", lambda: f"all.q@{NEW}" in cell.must_on(MASTER, "qstat", "-f"))
        assert "code 0" in alice(cell, "qsub", "-sync", "y", "-b", "y", "-o", "/dev/null", "-l", f"h={NEW}", "hostname")
        output = cell.on(NEW, "env", f"SGE_ROOT={root}", "gridengine", "doctor").stdout
        assert f"this host {NEW} is {cell.address(NEW)}" in output and "none found something wrong" in output, output
    finally:
        cell.on(MASTER, "gridengine", "host", "remove", "--yes", NEW)
        run([str(TESTBED / "hosts"), "kill", NEW])
        forget(NEW)
        run(["rm", "-rf", f"/var/lib/testbed/{NEW}"])


def test_a_host_with_a_link_local_address_alone_is_refused(cell: CellWithIPv6) -> None:
    listed = Path("/run/testbed/hosts")
    with listed.open("a") as hosts:
        hosts.write("fe80::77 slink\n")
    try:
        for command in (("host", "add", "slink"), ("token", "join", "slink"), ("host", "keys", "slink")):
            done = cell.on(MASTER, "gridengine", *command)
            assert done.returncode == 1 and "fe80::77 is link-local" in done.stderr, done
    finally:
        forget("slink")


def test_pages_and_rest_api_at_an_address(cell: CellWithIPv6) -> None:
    common = Path(cell.must_on(MASTER, "sh", "-c", "echo $SGE_ROOT/$SGE_CELL/common").strip())
    address = cell.address(MASTER)
    settings = common / "web"
    settings.write_text(f"address {address}\nport {PORT}\n")
    cell.must_on(MASTER, "gridengine", "web")
    try:
        token = cell.must_on(MASTER, "gridengine", "web", "--token").split()[-1]
        program = (
            "import sys\nfrom gridengine.api.cell import Cell\n"
            f"cell = Cell(url='https://[{address}]:{PORT}', token=sys.argv[1], ca='{common}/tls.crt')\n"
            "print(*[host['name'] for host in cell.hosts()])\n"
        )
        assert cell.must_on("s1", sys.executable, "-c", program, token) == "global s1 s2\n"
        fetch = (
            "import ssl, sys, urllib.request\n"
            f"context = ssl.create_default_context(cafile='{common}/tls.crt')\n"
            f"request = urllib.request.Request('https://[{address}]:{PORT}/jobs')\n"
            "request.add_header('Authorization', 'Bearer ' + sys.argv[1])\n"
            "print(urllib.request.urlopen(request, context=context).status)\n"
        )
        assert cell.must_on("s1", "python3", "-c", fetch, token) == f"{http.client.OK}\n"
        assert "none found something wrong" in cell.must_on(MASTER, "gridengine", "doctor")
    finally:
        cell.must_on(MASTER, "gridengine", "web", "--stop")
        settings.unlink()


def test_a_drmaa_program_runs_a_job(cell: CellWithIPv6, work: Path) -> None:
    need("cc")
    done = run(["make", "--silent", "-C", str(ROOT / "clients" / "drmaa"), f"BUILD={work}"])
    assert done.returncode == 0, done.stderr
    program = (
        "import drmaa, json\n"
        "with drmaa.Session() as s:\n"
        "    t = s.createJobTemplate()\n"
        "    t.remoteCommand, t.args, t.outputPath = 'sh', ['-c', 'exit 3'], ':/dev/null'\n"
        "    print(json.dumps(s.wait(s.runJob(t), drmaa.Session.TIMEOUT_WAIT_FOREVER).exitStatus))\n"
    )
    library = f"DRMAA_LIBRARY_PATH={work}/libdrmaa.so"
    assert json.loads(cell.must_on("s1", "env", library, sys.executable, "-c", program)) == 3


def test_a_lost_master_is_replaced(cell: CellWithIPv6) -> None:
    cell.must_on(MASTER, "gridengine", "shadow", "add", "s1")
    cell.start("s1")
    eventually("s1 could take over", lambda: cell.on(MASTER, "gridengine", "shadow", "show").returncode == 0)
    cell.power("kill", MASTER)
    eventually("s1 is the master", lambda: cell.on("s2", "timeout", "4", "qconf", "-sel").returncode == 0)
    assert "code 0" in alice(cell, "qsub", "-sync", "y", "-b", "y", "-o", "/dev/null", "-l", "h=s2", "hostname")


def test_a_cell_of_hosts_with_both_families_uses_ipv4(both: CellOfBothFamilies) -> None:
    for host in both.hosts:
        submitted = both.as_user("alice", "b1", "qsub", "-sync", "y", "-b", "y", "-o", "/dev/null", "-l", f"h={host}", "hostname")
        assert "code 0" in submitted.stdout, submitted
        session = both.as_user("alice", "b1", "qrsh", "-l", f"h={host}", "hostname")
        assert session.stdout == f"{host}\n", session
    for host in (BOTH_MASTER, *both.hosts):
        connections = both.must_on(host, "ss", "-tnH", "state", "established")
        assert both.addresses(BOTH_MASTER)[0] in connections and both.addresses(BOTH_MASTER)[1][:4] not in connections
        doctor = both.on(host, "gridengine", "doctor").stdout
        assert f"{host} is {', '.join(both.addresses(host))}" in doctor and "none found something wrong" in doctor, doctor


def test_daemons_of_hosts_with_both_families_answer_at_both(both: CellOfBothFamilies) -> None:
    """`qmaster_port`, and the port of sessions."""
    for host, port in ((BOTH_MASTER, 6444), *((host, 6462) for host in both.hosts)):
        four, six = both.addresses(host)
        listening = {line.split()[3] for line in both.must_on(host, "ss", "-ltnH").splitlines()}
        assert {f"{four}:{port}", f"[{six}]:{port}"} <= listening
        both.must_on("b2", "python3", "-c", f"import socket; socket.create_connection(('{six}', {port}), 60)")
    for place in both.addresses(BOTH_MASTER):
        shown = both.must_on("b1", "qping", "-info", f"[{place}]" if ":" in place else place, "6444", "qmaster", "1")
        assert re.search(r"^status: +0$", shown, re.MULTILINE), shown


def test_certificates_of_hosts_with_both_families_have_both_addresses(both: CellOfBothFamilies) -> None:
    spool = "/var/spool/gridengine/both"
    for host, place in ((BOTH_MASTER, "qmaster"), *((host, f"execd/{host}") for host in both.hosts)):
        certificate = both.must_on(host, "cat", f"{spool}/{place}/keys/tls.crt")
        assert set(both.addresses(host)) <= set(addresses_in(certificate.encode()))
