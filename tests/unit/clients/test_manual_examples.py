"""Every example of the manual pages of commands, run as it stands: no command refuses the words of its own manual."""

from __future__ import annotations

from pathlib import Path

import pytest

from gridengine.options.help_text import EXAMPLES
from tests.harness import Cell
from tests.unit.clients.shell import Shell

#: commands whose examples cannot run in this process, and why
NOT_RUN = {
    "qmake": "starts GNU make",
    "qrsh": "opens a session with an exec host",
    "qlogin": "opens a session with an exec host",
    "qsh": "starts an xterm",
    "qping": "connects to daemons by TCP",
    "qevent": "follows events until it is interrupted",
    "sge_share_mon": "repeats until it is interrupted",
}
#: single examples that cannot
NOT_RUN_CALLS = {"qconf -mq all.q": "opens an editor", "qmod -cq $(qselect -qs E)": "is a line for a shell"}
#: exit status of a word or a value that a command does not understand
_MISUSED = (2, 7)


def calls() -> list[str]:
    return [call for name, rows in EXAMPLES.items() if name not in NOT_RUN for call, _ in rows if call not in NOT_RUN_CALLS]


@pytest.fixture
def shell(cell: Cell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Shell:
    shell = Shell(cell, tmp_path, monkeypatch, capsys)
    for name in ("run.sh", "merge.sh"):
        (shell.cwd / name).write_text("sleep 1\n")
    return shell


@pytest.mark.statement("X-14")
@pytest.mark.parametrize("call", calls())
def test_a_command_understands_the_examples_of_its_manual(shell: Shell, call: str) -> None:
    outcome = shell(call)
    assert outcome.status not in _MISUSED, outcome.err
    for fault in ("usage:", "internal error", "is not a date"):
        assert fault not in outcome.err


def test_a_time_without_its_date_is_refused_with_an_example(shell: Shell) -> None:
    """As in 8.1.9 there is no short form; the refusal shows the form by a valid value."""
    for call in ("qrsub -a 0900 -d 1:0:0", "qsub -a 1800 run.sh", "qacct -b 0900"):
        outcome = shell(call)
        assert outcome.status and "such as 12241800" in outcome.err, call
    assert shell("qsub -a 12241800 run.sh").status == 0
