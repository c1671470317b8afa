"""What the program says of a wrong word of its command line: the place and the reason, in words of its own."""

from __future__ import annotations

import sys

import pytest

from clients.admin.__main__ import main


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("init --slots abc", "--slots: a whole number is expected"),
        ("token join --hours x", "--hours: a number is expected"),
        ("host add h1 --slots -1", "--slots: must be at least 0"),
        ("completion x", "shell: 'x' is not one of 'bash', 'zsh', 'fish'"),
        ("init --bogus", "No such option: --bogus"),
    ],
)
def test_a_wrong_word_is_named_with_the_reason(
    words: str, said: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["gridengine", *words.split()])
    monkeypatch.setenv("SGE_ROOT", "/nonexistent")
    assert main() == 1
    assert capsys.readouterr().err == f"gridengine: {said} (gridengine --help explains)\n"
