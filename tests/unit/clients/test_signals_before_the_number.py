"""A signal that reaches qrsh or qlogin while the job is being submitted."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest

from clients import gdi
from clients.terminal import Terminal
from tests.harness import Cell
from tests.unit.clients.shell import Shell

SIGNALS = tuple(getattr(signal, f"SIG{name}") for name in "INT TERM HUP QUIT TTIN WINCH CONT ALRM".split())


@pytest.fixture(autouse=True)
def handlers() -> Iterator[None]:
    """The handlers of a process that ignores no signal, as in a terminal; the tests may run under nohup."""
    earlier = {number: signal.signal(number, signal.SIG_DFL) for number in SIGNALS}
    yield
    signal.alarm(0)
    for number, handler in earlier.items():
        signal.signal(number, handler)


def signal_at_submission(monkeypatch: pytest.MonkeyPatch, number: signal.Signals) -> None:
    change = gdi.change

    def signalled(name: str, *arguments: object) -> object:
        answer = change(name, *arguments)
        if name == "submit":
            signal.raise_signal(number)
        return answer

    monkeypatch.setattr(gdi, "change", signalled)


@pytest.mark.statement("IA-6")
@pytest.mark.parametrize("command", ["qrsh -now n true", "qlogin -now n"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_during_the_submission_deletes_the_job(
    shell: Shell, cell: Cell, monkeypatch: pytest.MonkeyPatch, number: signal.Signals, command: str
) -> None:
    signal_at_submission(monkeypatch, number)
    assert shell(command).status == 128 + number
    assert [name for name, _ in shell.asked] == ["submit", "delete_jobs"]
    assert not cell.state.jobs


def test_signals_take_effect_at_once_during_a_session() -> None:
    terminal = Terminal()
    terminal.watch_signals()
    with pytest.raises(Exception, match="15"):
        signal.raise_signal(signal.SIGTERM)
