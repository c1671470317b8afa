"""The program `gridengine` as it is started: wrong input is one line and exit code 1, the daemons come and go."""

from __future__ import annotations

import os
import shutil
import socket
from contextlib import suppress
from pathlib import Path

import pytest

from tests.integration.cells import BIN, DemoCell, Done, eventually, run

pytestmark = pytest.mark.usefixtures("launchers")


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["nosuch"],
        ["init"],
        ["init", "--slots", "many"],
        ["init", "--root", "/dev/null/x"],
        ["init", "--root", "/tmp/x", "--cell", "a/b"],
        ["start", "--root", "/nonexistent"],
        ["stop"],
        ["status", "--root", "/nonexistent"],
        ["demo", "more"],
        ["top", "--root", "/nonexistent"],
        ["host", "add"],
        ["host", "--root", "/nonexistent", "list"],
        ["upgrade-accounting", "/nonexistent", "/tmp/x"],
    ],
)
def test_wrong_input_is_one_line_and_exit_code_1(arguments):
    done = run([str(BIN / "gridengine"), *arguments], env={"PATH": "/usr/bin:/bin"})
    assert done.returncode == 1
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1 and done.stderr.startswith("gridengine: ")


@pytest.fixture
def new_cell():
    cell = DemoCell()
    yield cell
    cell.remove()


NO_HOST = 'host "node1" is no execution host; add it with qconf -ae'


def refused_host(cell: DemoCell) -> Done:
    """Take the host out of the cell, and start its daemon all the same."""
    cell.must("qconf", "-dattr", "hostgroup", "hostlist", cell.host, "@allhosts")
    cell.must("qconf", "-ke", cell.host)
    cell.must("qconf", "-de", cell.host)
    pid_file = cell.place / "spool" / "execd" / cell.host / "execd.pid"
    eventually("the daemon has ended", lambda: not pid_file.exists() or not pid_file.read_text().strip())
    tries: list[Done] = []

    def answered() -> bool:
        """Whether the master has answered the daemon; a busy master takes longer than a start waits."""
        tries.append(cell.command("gridengine", "start", "--host-name", cell.host))
        return "waits for the master" not in tries[-1].stderr

    eventually("the master has answered", answered)
    return tries[-1]


def as_earlier(cell: DemoCell) -> None:
    """Leave the keys of a cell as an earlier version has made them."""
    shutil.rmtree(cell.place / "spool" / "qmaster" / "authority")
    shutil.rmtree(cell.common / "secrets" / cell.host)
    for name in ("ray_token", "gdi_key", "tls.key"):
        (cell.common / "secrets" / name).write_text("x")


@pytest.mark.statement("GC-5", "GC-6")
def test_daemons_start_once_and_stop_also_where_an_earlier_version_made_the_cell(new_cell):
    """Such a cell gets an authority and keys for its hosts."""
    cell = new_cell
    assert cell.command("gridengine", "status").returncode == 1
    as_earlier(cell)
    cell.start()
    assert [line.split()[0] for line in cell.must("gridengine", "host", "list").splitlines()] == [cell.host]
    assert list((cell.common / "secrets").iterdir()) == []
    assert "runs already" in cell.must("gridengine", "start", "--host-name", cell.host)
    status = cell.must("gridengine", "status")
    assert status.count("runs, pid") == 2
    assert "node1 has joined, 8 slots" in status
    refused = refused_host(cell)
    assert (refused.returncode, refused.stderr) == (1, f"the master refuses node1: {NO_HOST}\n")
    assert f"the master refuses node1: {NO_HOST}" in cell.command("gridengine", "status").stdout
    stopped = cell.must("gridengine", "stop")
    assert "sge_qmaster (node0)" in stopped and "sge_execd (node1)" in stopped
    assert "no daemon" in cell.must("gridengine", "stop")
    done = cell.command("qstat")
    assert done.returncode == 1 and done.stderr.startswith("error: unable to contact the qmaster")


def test_hosts_without_keys_print_the_command_that_makes_keys(new_cell):
    cell = new_cell
    assert f"made keys for host {cell.host}" in cell.must("gridengine", "host", "keys", cell.host)
    assert cell.must("gridengine", "host", "list").split()[-2:] == ["in", "common/secrets"]
    shutil.rmtree(cell.common / "secrets" / cell.host)
    done = cell.command("sge_execd", "--host-name", cell.host)
    assert done.returncode == 1 and f"gridengine host keys {cell.host}" in done.stderr
    for arguments in (["revoke", "nosuch"], ["keys", "no.such.host.invalid"], ["add", "../x"], ["add", "no.such.host.invalid"]):
        done = cell.command("gridengine", "host", *arguments)
        assert done.returncode == 1 and len(done.stderr.splitlines()) == 1 and done.stdout == ""


def test_the_doctor_finds_the_daemons_and_a_taken_port(new_cell):
    cell = new_cell
    done = cell.command("gridengine", "doctor")
    assert done.returncode == 1
    assert "sge_qmaster (node0) does not run" in done.stdout and "qmaster_port" in done.stdout
    settings = dict(line.split() for line in (cell.common / "bootstrap").read_text().splitlines())
    with socket.create_server(("127.0.0.1", int(settings["qmaster_port"]))):
        taken = cell.command("gridengine", "doctor")
    assert f"another program has qmaster_port {settings['qmaster_port']}" in taken.stdout


def test_the_doctor_has_nothing_to_say_of_a_running_cell(demo_cell):
    done = demo_cell.command("gridengine", "doctor")
    assert done.returncode == 0, done.stdout


def test_commands_start_without_the_site_module(launchers):
    scripts = [path for path in launchers.glob("q*") if path.read_bytes().startswith(b"#!")]
    assert scripts
    for script in scripts:
        interpreter, flags = script.read_text().splitlines()[0][2:].rsplit(None, 1)
        source = f"{script.read_text().rpartition('run(')[0]}print('site' in sys.modules, 'ray' in sys.modules)"
        done = run([interpreter, flags, "-c", source])
        assert done.stdout.split() == ["False", "False"], f"{script}: {done.stderr}"


@pytest.mark.statement("GC-5")
def test_a_running_cell_listens_on_the_ports_that_it_states_and_on_no_others(demo_cell):
    settings = dict(line.split() for line in (demo_cell.common / "bootstrap").read_text().splitlines())
    first, last = map(int, settings["ray_ports"].split("-"))
    stated = {int(settings["qmaster_port"]), int(settings["ray_port"]), *range(first, last + 1)}
    ports = listening_ports(demo_cell.processes())
    assert {int(settings["qmaster_port"]), int(settings["ray_port"])} <= ports, "those of the master"
    assert ports - stated == set()


def listening_ports(pids: list[int]) -> set[int]:
    """The TCP ports on which processes listen, by /proc."""
    inodes: dict[str, int] = {}
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A":  # LISTEN
                inodes[f"socket:[{fields[9]}]"] = int(fields[1].rpartition(":")[2], 16)
    found = set()
    for pid in pids:
        with suppress(OSError):  # it has ended meanwhile
            for link in Path(f"/proc/{pid}/fd").iterdir():
                with suppress(OSError):
                    found.add(inodes.get(os.readlink(link), 0))
    return found - {0}
