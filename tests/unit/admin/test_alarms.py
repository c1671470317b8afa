"""`gridengine alarms`: its output and exit codes."""

from __future__ import annotations

import json
from typing import Any

import pytest
import typer

from clients.admin import alarms as command

BASE = {"id": 3, "rule": "host_away", "subject": "h2", "cause": "It is away.", "step": "Start it.", "command": "gridengine start",
        "since": 0.0, "begin": 5.0, "end": None, "acknowledged": None}


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """Run the command with these active alarms; exit code and output."""

    def play(active: list[dict[str, Any]], as_json: bool = False) -> tuple[int, str]:
        monkeypatch.setattr(command, "read_cell", lambda files: None)
        monkeypatch.setattr(command, "cell_of_environment", lambda root, cell: None)
        monkeypatch.setattr(command, "ask_server", lambda cell, request: {"alarms": active} if request == "alarms" else {})
        with pytest.raises(typer.Exit) as end:
            command.alarms(as_json=as_json)
        return end.value.exit_code, capsys.readouterr().out

    return play


@pytest.mark.parametrize(("severities", "code"), [([], 0), (["info"], 0), (["info", "warning"], 1), (["critical"], 1)])
def test_the_exit_code_reports_serious_alarms(run: Any, severities: list[str], code: int) -> None:
    assert run([{**BASE, "severity": each} for each in severities])[0] == code


def test_an_alarm_has_cause_next_step_and_acknowledgement(run: Any) -> None:
    _, text = run([{**BASE, "severity": "critical", "acknowledged": {"user": "root", "time": 9.0, "word": "known"}}])
    head, cause, step, known, count = text.splitlines()
    assert head.startswith("critical host_away: h2, since 19")
    assert [line.strip() for line in (cause, step, known)] == [
        "It is away.", "Start it. gridengine start", "acknowledged by root: known",
    ]
    assert count == "1 alarm"
    assert run([])[1] == "no alarms\n"


def test_json_has_the_fields_of_the_api(run: Any) -> None:
    active = [{**BASE, "severity": "info"}]
    assert json.loads(run(active, as_json=True)[1]) == active
