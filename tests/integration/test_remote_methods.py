"""Configured commands and daemons in place of the builtin way to interactive jobs, with a real ssh and a real sshd."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.cells import DemoCell, eventually
from tests.integration.debian import find, need


@pytest.fixture(scope="module")
def sshd() -> str:
    """The program of Debian's openssh-server."""
    need("sshd")
    if os.geteuid() == 0:  # sshd of a plain user separates no privileges, and needs no directory for it
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
    return str(find("sshd"))


@pytest.fixture(scope="module")
def ssh_cell(demo_cell: DemoCell, sshd: str) -> Iterator[DemoCell]:
    """The cell with ssh as method of qrsh with a command: keys of its own, nothing of the user's is touched."""
    keys = demo_cell.place / "ssh"
    keys.mkdir(mode=0o700)
    for name in ("host", "user"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(keys / name)], check=True)
    (keys / "sshd_config").write_text(
        f"HostKey {keys}/host\nAuthorizedKeysFile {keys}/user.pub\nStrictModes no\nUsePAM no\nPermitRootLogin yes\n"
        "PasswordAuthentication no\n"
    )
    options = "-F none -q -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o BatchMode=yes"
    configure(demo_cell, "rsh_command", f"/usr/bin/ssh {options} -o HostName=127.0.0.21 -i {keys}/user")
    configure(demo_cell, "rsh_daemon", f"{sshd} -i -f {keys}/sshd_config")
    yield demo_cell
    for name in ("rsh_command", "rsh_daemon"):
        configure(demo_cell, name, "builtin")


def configure(cell: DemoCell, name: str, value: str) -> None:
    output = cell.command("qconf", "-sconf", env={**cell.environment, "SGE_SINGLE_LINE": "1"}).stdout
    lines = [line for line in output.splitlines() if not line.startswith(("#", name))]
    path = cell.work / "global"
    path.write_text("\n".join([*lines, f"{name} {value}"]) + "\n")
    cell.must("qconf", "-Mconf", str(path))


@pytest.mark.statement("IA-5")
def test_a_command_runs_through_ssh_in_the_environment_of_the_job(ssh_cell: DemoCell) -> None:
    script = 'echo "$QUEUE $GREETING"; pwd; cat; echo oops >&2; exit 7'
    done = ssh_cell.command("qrsh", "-v", "GREETING=a  'b'", "-cwd", script, input="in", stdin=None)
    assert done.stdout == f"all.q a  'b'\n{ssh_cell.work}\nin"
    assert (done.returncode, done.stderr) == (7, "oops\n")
    eventually("nothing is left", lambda: ssh_cell.must("qstat", "-u", "*") == "")


@pytest.mark.statement("IA-5")
def test_both_ends_must_be_configured_alike(ssh_cell: DemoCell) -> None:
    configure(ssh_cell, "rsh_daemon", "builtin")
    done = ssh_cell.command("qrsh", "true")
    assert done.returncode == 1 and "rsh_command of this host is /usr/bin/ssh" in done.stderr
    eventually("nothing is left", lambda: ssh_cell.must("qstat", "-u", "*") == "")
