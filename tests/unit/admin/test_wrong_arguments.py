"""The message on a wrong argument of the program: the option and the reason, in terms of this program."""

from __future__ import annotations

import sys
from unittest.mock import Mock

import pytest

from clients.admin.__main__ import main


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("init --slots abc", "--slots: a whole number is expected"),
        ("token join --hours x", "--hours: a number is expected"),
        ("host add h1 --slots -1", "--slots: must be at least 0"),
        ("completion x", "shell: 'x' is not one of 'bash', 'zsh', 'fish'"),
        ("init --bogus", "No such option: --bogus"),
    ],
)
def test_a_wrong_argument_is_named_with_the_reason(
    line: str, message: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["gridengine", *line.split()])
    monkeypatch.setenv("SGE_ROOT", "/nonexistent")
    assert main() == 1
    assert capsys.readouterr().err == f"gridengine: {message} (gridengine --help explains)\n"


def test_an_error_that_no_command_explains_is_one_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for error in (PermissionError(13, "Permission denied", "/x/common"), ValueError("embedded null byte")):
        monkeypatch.setattr("clients.admin.__main__.app", Mock(side_effect=error))
        monkeypatch.setattr(sys, "argv", ["gridengine", "status"])
        monkeypatch.delenv("SGE_DEBUG_LEVEL", raising=False)
        assert main() == 1
        assert capsys.readouterr().err.count("\n") == 1
