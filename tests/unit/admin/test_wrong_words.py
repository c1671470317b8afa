"""What the program says of a wrong word of its command line: the place and the reason, in words of its own."""

from __future__ import annotations

import sys
from pathlib import Path
from unittest.mock import Mock

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


@pytest.mark.parametrize("words", ["status", "stop", "config history", "token list"])
@pytest.mark.parametrize(
    ("file", "content"),
    [("bootstrap", b"\xff\xfe garbage"), ("bootstrap", b""), ("act_qmaster", b"\xff\xf5\n"), ("bootstrap", None)],
)
def test_a_broken_cell_is_a_sentence_and_no_traceback(
    words: str,
    file: str,
    content: bytes | None,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    common = tmp_path / "default" / "common"
    common.mkdir(parents=True)
    keys = "spooling_method sqlite\nadmin_user root\nsecurity_mode tls\nqmaster_port 6444\nray_port 6446\n"
    places = "".join(f"{name} {tmp_path}/{name}\n" for name in ("qmaster_spool_dir", "execd_spool_dir", "run_dir"))
    (common / "bootstrap").write_text(keys + places)
    (common / "act_qmaster").write_text("nowhere\n")
    if content is None:
        (common / file).unlink()
        (common / file).mkdir()
    else:
        (common / file).write_bytes(content)
    monkeypatch.setattr(sys, "argv", ["gridengine", *words.split()])
    monkeypatch.setenv("SGE_ROOT", str(tmp_path))
    monkeypatch.delenv("SGE_CELL", raising=False)
    monkeypatch.delenv("SGE_DEBUG_LEVEL", raising=False)
    monkeypatch.setattr("clients.gdi.PATIENCE_ABSENT_S", -1.0)
    assert main() == 1
    err = capsys.readouterr().err
    assert err.startswith("gridengine: ") and len(err.splitlines()) <= 3


def test_an_error_that_no_command_explains_is_one_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for error in (PermissionError(13, "Permission denied", "/x/common"), ValueError("embedded null byte")):
        monkeypatch.setattr("clients.admin.__main__.app", Mock(side_effect=error))
        monkeypatch.setattr(sys, "argv", ["gridengine", "status"])
        monkeypatch.delenv("SGE_DEBUG_LEVEL", raising=False)
        assert main() == 1
        assert capsys.readouterr().err.count("\n") == 1
