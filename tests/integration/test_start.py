"""The five minutes of docs/guide/start.md, from two hosts without a cell to the first finished job, on disks of their own."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.cells import TEST_PREFIX, TESTBED, Done, TestbedCell, eventually, run
from tests.integration.guides import Command, play
from tests.integration.test_joining import forget

#: hosts of the test bed that play those of the page
PLAYED_BY = {"master": "start-master", "node1": "start-node"}
CELLS = "/opt/local/cells"
SETTINGS = f". {CELLS}/default/common/settings.sh"


class BareHosts:
    """Hosts with the programs, which the test bed's own cell has installed, and nothing else."""

    def __init__(self) -> None:
        self._token = ""

    def up(self) -> None:
        done = run([str(TESTBED / "hosts"), "up", *PLAYED_BY.values()])
        assert done.returncode == 0, done.stderr

    def down(self) -> None:
        run([str(TESTBED / "hosts"), "kill", *PLAYED_BY.values()])
        forget(*PLAYED_BY.values())
        for name in PLAYED_BY.values():
            shutil.rmtree(f"/var/lib/testbed/{name}", ignore_errors=True)

    def type(self, command: Command) -> Done:
        """The output of a line of the page on its host, with the names and directories of the page."""
        if "make install" in command.line or command.line.startswith("apt-get"):
            return Done(command.line, 0, "", "")
        line = command.line.replace("master:", f"{PLAYED_BY['master']}:")
        if "gridengine join" in line:  # which asks a person at a terminal
            line = f"echo {self._token} | {line} --token -"
        line = line.replace("/opt/gridengine/bin", f"{TEST_PREFIX}/bin").replace("/opt/gridengine/cells", CELLS)
        if line.startswith("gridengine "):
            line = f"{SETTINGS}; {line}"  # a person has them in the shell since the line before
        if command.by_user:
            # the test bed's hosts share one machine, whose load would close the queue
            self.say("qconf -rattr queue load_thresholds NONE all.q")
            eventually("the host takes jobs", lambda: " lx-" in self.say("qhost"))
        done = self._on(command.host, "alice" if command.by_user else "", line)
        if token := re.search(r"^ge1_\S+$", done.stdout, re.MULTILINE):
            self._token = token[0]
        for name, player in PLAYED_BY.items():
            done.stdout = done.stdout.replace(player, name)
        done.stdout = done.stdout.replace(CELLS, "/opt/gridengine/cells")
        # whether this machine has a mailer is not the page's business
        done.stdout = re.sub(r"^note   no mail is sent.*\n {7}to change it.*\n", "", done.stdout, flags=re.MULTILINE)
        return done

    def say(self, line: str) -> str:
        """The output of a command on the master host."""
        return self._on("master", "", f"{SETTINGS}; {line}").stdout

    def _on(self, host: str, user: str, line: str) -> Done:
        prefix = ["as", user] if user else ["on"]
        return run([str(TESTBED / "hosts"), *prefix, PLAYED_BY[host], "bash", "-c", f"exec 2>&1; {line}"])


@pytest.fixture
def bare(testbed_cell: TestbedCell) -> Iterator[BareHosts]:
    hosts = BareHosts()
    hosts.up()
    try:
        yield hosts
    finally:
        hosts.down()


def test_the_first_five_minutes(bare: BareHosts, tmp_path: Path) -> None:
    assert play("start.md", tmp_path, bare.type) == 10
    if shutil.which("man"):
        assert "submit a batch job" in bare.say("MANPAGER=cat man 1 qsub"), "settings.sh leads to the manual"
