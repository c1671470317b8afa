"""qrsh, qlogin and qsh up to the point where a connection is made."""

from __future__ import annotations

import pytest

from clients import gdi
from clients.interactive_session import InteractiveSession
from clients.remote_command import arguments
from clients.terminal import Terminal
from tests.harness import Cell
from tests.unit.clients.shell import Shell


@pytest.fixture(autouse=True)
def no_signals(monkeypatch: pytest.MonkeyPatch) -> None:
    """The signals of the test's own process stay as they are."""
    monkeypatch.setattr(Terminal, "watch_signals", lambda self: None)
    monkeypatch.setenv("TERM", "vt100")
    monkeypatch.delenv("DISPLAY", raising=False)


@pytest.mark.statement("IA-4", "SO-22", "IA-7", "SB-9")
def test_the_submitted_request(shell: Shell) -> None:
    shell.streamed = [{"task_id": 1, "deleted": True}, {"done": True}]
    outcome = shell("qrsh -pty y -l arch=* /bin/hostname -f")
    assert (outcome.status, outcome.out, outcome.err) == (1, "", 'Your "qrsh" request could not be scheduled, try again later.\n')
    request = next(body for name, body in shell.asked if name == "submit")
    expected = {"kind": "qrsh", "now": True, "binary": True, "script_file": "/bin/hostname", "args": ["-f"], "pty": True}
    assert {name: request[name] for name in expected} == expected
    assert request["environment"]["TERM"] == "vt100"


@pytest.mark.statement("SO-22", "SO-24", "IA-2")
def test_a_login_and_its_texts(shell: Shell) -> None:
    shell.streamed = [{"task_id": 1, "deleted": True}, {"done": True}]
    outcome = shell("qlogin -now n")
    assert outcome.out.startswith("Your job 1 (\"QLOGIN\") has been submitted")
    assert outcome.err.startswith("waiting for interactive job to be scheduled ...\n")
    assert [(body["kind"], body["now"]) for name, body in shell.asked if name == "submit"] == [("qlogin", False)]
    assert shell("qlogin hostname").status == 2


@pytest.mark.parametrize(
    "line", ["qrsh -q nowhere true", "qrsh -t 1-2 true", "qrsh -sync y true", "qlogin -noshell", "qrsh -attach x"]
)
def test_wrong_options_are_refused(shell: Shell, line: str) -> None:
    outcome = shell(line)
    assert outcome.status != 0 and outcome.out == "" and outcome.err


@pytest.mark.statement("IA-3", "SO-10")
def test_qsh_needs_a_display_with_a_host(shell: Shell) -> None:
    assert shell("qsh").err == "error: no DISPLAY variable found with interactive job\n"
    assert shell("qsh -display :1").status == 1
    shell.streamed = [{"task_id": 1, "started": True}]
    outcome = shell("qsh -display desk:1 -- -bg red")
    assert outcome.status == 0 and outcome.err.endswith("has been successfully scheduled.\n")
    request = next(body for name, body in shell.asked if name == "submit")
    assert (request["kind"], request["args"], request["environment"]["DISPLAY"]) == ("qsh", ["-bg", "red"], "desk:1")


@pytest.mark.statement("AR-98")
@pytest.mark.parametrize("command", ["qrsh -ar 1 true", "qlogin -ar 1", "qsh -display desk:1 -ar 1"])
def test_interactive_jobs_run_in_reservations(shell: Shell, cell: Cell, command: str) -> None:
    assert shell.as_root("qrsub -u alice -d 1:0:0 -l h=h2").status == 0
    shell.streamed = [{"task_id": 1, "deleted": True}]
    for _ in range(2):
        shell(command)
    cell.cycle()
    assert cell.placed(1) == [("all.q@h2", 1)]
    assert 2 not in cell.state.jobs, "the one slot is taken, and it was now or never"


@pytest.mark.statement("IA-9")
def test_a_client_that_comes_again_does_without_the_qmaster(monkeypatch: pytest.MonkeyPatch) -> None:
    place = {"host": "h2", "port": 4711, "command": "builtin"}
    monkeypatch.setattr(gdi, "call", lambda name, body, answer_s=0.0: gdi.Answer(0, [], place))
    session = InteractiveSession(7, Terminal(), verbose=False, stdin=False)
    assert session._locate(attached=False) == place

    def away(name: str, body: object) -> gdi.Answer:
        raise gdi.Unreachable("no qmaster")

    monkeypatch.setattr(gdi, "call", away)
    assert session._locate(attached=False) == place


@pytest.mark.statement("IA-5")
def test_the_arguments_of_the_configured_command() -> None:
    assert arguments("qlogin", "h1", "4711", "", False) == ["h1", "4711"]
    assert arguments("rlogin", "h1", "4711", "", False) == ["-p", "4711", "h1"]
    assert arguments("rsh", "h1", "4711", "/s/remote", False) == ["-p", "4711", "h1", "exec", "/s/remote"]
    assert arguments("rsh", "h1", "4711", "/s/remote", True)[0] == "-n"
