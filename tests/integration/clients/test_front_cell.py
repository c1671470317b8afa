"""The native front in a running cell: the qmaster knows a repeated request by its key; each call is one job (adr/0261)."""

from __future__ import annotations

import re
import subprocess

import pytest

from tests.integration.cells import COMMAND_S, DemoCell, Done, eventually, kill_daemon, without_waits
from tests.integration.clients.front_commands import FrontCommands


class Fronted:
    """Commands with the front in the demo cell."""

    def __init__(self, cell: DemoCell, both: FrontCommands) -> None:
        self.cell, self._both = cell, both
        self._options = {"env": {**cell.environment, "HOME": str(cell.work)}, "cwd": cell.work}

    def __call__(self, *command: str) -> Done:
        return self._both.front(*command, **self._options)

    def python(self, *command: str) -> Done:
        return self._both.python(*command, **self._options)

    def start(self, *command: str) -> subprocess.Popen[str]:
        """A command that waits."""
        program = [str(self._both.bin / command[0]), *command[1:]]
        return subprocess.Popen(program, stdout=-1, stderr=-1, text=True, **self._options)  # type: ignore[call-overload,no-any-return]

    def number(self, *options: str) -> int:
        """The number of a new job."""
        done = self("qsub", "-terse", *options)
        assert (done.returncode, done.stderr) == (0, "")
        return int(done.stdout)


#: scripts and their last lines
SCRIPTS = {
    "exits": "exit $1",
    "tasks": "exit $((SGE_TASK_ID > 1))",
    "killed": "kill -9 $$",
    "awaits": "until [ -e gate ]; do sleep 0.2; done\nexit 3",
}


@pytest.fixture
def fronted(demo_cell: DemoCell, both: FrontCommands) -> Fronted:
    for name, line in SCRIPTS.items():
        options = f"#$ -N {name} -l h_rt=600 -j y -o /dev/null -S /bin/sh -cwd"
        (demo_cell.work / f"{name}.sh").write_text(f"#!/bin/sh\n{options}\n{line}\n")
    (demo_cell.work / "gate").unlink(missing_ok=True)
    return Fronted(demo_cell, both)


def test_a_call_that_waits_submits_one_job_and_has_its_status(fronted: Fronted) -> None:
    first = fronted.number("-h", "-b", "y", "/bin/true")
    done = fronted("qsub", "-sync", "y", "-V", "-v", "A=1,B=2", "-cwd", "-p", "-5", "-m", "n", "exits.sh", "3")
    assert done.returncode == 3 and done.stdout == f'Your job {first + 1} ("exits") has been submitted\n', done.stderr
    assert done.stderr == f"Job {first + 1} exited with exit code 3.\n"
    warned = fronted("qsub", "-w", "w", "-l", "arch=none", "-h", "exits.sh", "0")
    assert warned.returncode == 0 and f"Your job {first + 2} " in warned.stdout, "it has a warning, and is repeated under its key"
    refused = fronted("qsub", "-P", "nowhere", "exits.sh", "0")
    alone = fronted.python("qsub", "-P", "nowhere", "exits.sh", "0")
    assert (refused.stdout, refused.stderr, refused.returncode) == (alone.stdout, alone.stderr, alone.returncode)
    last = fronted.number("-h", "-b", "y", "/bin/true")
    assert last == first + 3
    for command in (["qstat"], ["qstat", "-u", "*"]):
        assert fronted(*command).stdout == fronted.python(*command).stdout != ""
    deleted = fronted("qdel", f"{first},{first + 2}", str(last))
    assert (deleted.returncode, deleted.stderr, deleted.stdout.count("\n")) == (0, "", 3)
    eventually("the jobs are gone", lambda: fronted("qstat").stdout == "")
    again = fronted("qdel", str(first))
    alone = fronted.python("qdel", str(first))
    assert (again.stdout, again.stderr, again.returncode) == (alone.stdout, alone.stderr, alone.returncode)


def outcome(done: Done) -> tuple[list[str], list[str], int]:
    """Output and status without the number of the job; tasks end in any order."""
    out, err = (re.sub(r"\b\d+(?=\.\d|\n| [\w(])", "N", text).splitlines() for text in (done.stdout, done.stderr))
    return sorted(out), sorted(err), done.returncode


@pytest.mark.statement("SO-34")
@pytest.mark.parametrize(
    "command",
    ["exits.sh 0", "-terse exits.sh 0", "-now y exits.sh 3", "killed.sh", "-t 1-3 tasks.sh", "-terse -t 1-2 exits.sh 3"],
)
def test_a_job_ends_for_the_front_as_for_the_command_in_python(fronted: Fronted, command: str) -> None:
    front = outcome(fronted("qsub", "-sync", "y", *command.split()))
    assert front == outcome(fronted.python("qsub", "-sync", "y", *command.split()))


@pytest.mark.statement("SO-34")
@pytest.mark.parametrize(
    "command, state, end", [("awaits.sh", "r", "received signal SIGKILL"), ("-h awaits.sh", "hqw", "never ran")]
)
def test_a_job_that_is_deleted_ends_the_wait(fronted: Fronted, command: str, state: str, end: str) -> None:
    with fronted.start("qsub", "-sync", "y", *command.split()) as waiting:
        assert waiting.stdout
        number = waiting.stdout.readline().split()[2]
        row = re.compile(rf"^ *{number} .* {state} ", re.MULTILINE)
        eventually(f"its state is {state}", lambda: row.search(fronted("qstat").stdout))
        assert fronted("qdel", number).returncode == 0
        out, err = waiting.communicate(timeout=COMMAND_S)
    assert (out, without_waits(err)) == ("", f"Job {number} {end}.\n")
    assert waiting.returncode == (100 if state == "hqw" else 1)


@pytest.mark.statement("SO-34")
def test_a_wait_goes_on_when_the_qmaster_is_killed_and_starts_again(fronted: Fronted) -> None:
    cell = fronted.cell
    with fronted.start("qsub", "-sync", "y", "-t", "1-2", "awaits.sh") as waiting:
        assert waiting.stdout
        number = waiting.stdout.readline().split()[2].partition(".")[0]
        eventually("it runs", lambda: fronted("qstat").stdout.count(f"all.q@{cell.host}") == 2)
        kill_daemon(next(cell.place.glob("spool/**/qmaster.pid")))
        cell.must("gridengine", "start", "--host-name", cell.host)
        (cell.work / "gate").touch()
        _, err = waiting.communicate(timeout=COMMAND_S)
    ends = [f"Job {number}.{task} exited with exit code 3." for task in (1, 2)]
    assert (sorted(without_waits(err).splitlines()), waiting.returncode) == (ends, 3)
    following = fronted.number("-h", "exits.sh", "0")
    assert fronted("qdel", str(following)).returncode == 0
    assert following == int(number) + 1, "it was submitted once"
    eventually("no job is left", lambda: fronted("qstat").stdout == "")
