"""`gridengine` over a cell whose files are damaged: each command names the file and the reason, and none shows a traceback."""

from __future__ import annotations

import builtins
import io
import os
import pwd
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer.main

from clients.admin.__main__ import main
from clients.admin.program import app
from gridengine.files.bootstrap import REQUIRED

NEEDED = ("bootstrap", "act_qmaster")
OPTIONAL = ("cell_id", "web", "arco", "shadow_masters", "host_aliases", "cluster_name")
READERS = (
    "status", "doctor", "shadow show", "host list", "arco status", "web --list", "web --stop",
    "token list", "stop", "uninstall",
)
"""Commands that also read optional files."""
COMMANDS = (
    *READERS, "web --token", "token join h7", "config history", "config plan /nonexistent", "start", "upgrade --check",
    "host add h9", "shadow take-over", "top",
)
PROGRAM = typer.main.get_command(app)
USER = pwd.getpwuid(os.geteuid()).pw_name


def _absent(path: Path) -> None:
    path.unlink()


def _directory(path: Path) -> None:
    path.unlink()
    path.mkdir()


def _loop(path: Path) -> None:
    path.unlink()
    path.symlink_to(path.name)


DAMAGES: dict[str, Callable[[Path], Any]] = {
    "absent": _absent,
    "empty": lambda path: path.write_bytes(b""),
    "binary": lambda path: path.write_bytes(bytes(range(256))),
    "zeros": lambda path: path.write_bytes(b"\0" * 64),
    "unreadable": lambda path: path.chmod(0),
    "directory": _directory,
    "loop": _loop,
    "truncated": lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 3]),
    "wrong": lambda path: path.write_text("x y z\nqmaster_port -5\n"),
}
#: after which there is a file that some reader takes for a sound one
HARMLESS = {
    ("act_qmaster", "truncated"),
    *((name, damage) for name in OPTIONAL for damage in ("absent", "empty", "truncated")),
    *((name, damage) for name in OPTIONAL if name != "cell_id" for damage in ("wrong", "zeros")),
}


@pytest.fixture
def common(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The files of a cell whose daemons do not run, on its master host."""
    made = tmp_path / "default" / "common"
    made.mkdir(parents=True)
    texts = {**dict.fromkeys(REQUIRED, "6444"), "spooling_method": "sqlite", "security_mode": "tls", "admin_user": USER}
    texts |= {name: str(tmp_path / name) for name in ("qmaster_spool_dir", "execd_spool_dir", "run_dir")}
    (made / "bootstrap").write_text("".join(f"{key} {value}\n" for key, value in texts.items()))
    (made / "act_qmaster").write_text(f"{socket.gethostname()}\n")
    (made / "cell_id").write_text("cell_id 0123456789abcdef\n")
    (made / "web").write_text("port 8646\n")
    (made / "arco").write_text("database /x/arco.duckdb\n")
    (made / "shadow_masters").write_text(f"{socket.gethostname()}\nother\n")
    (made / "host_aliases").write_text("node1 node1.example.org\n")
    (made / "cluster_name").write_text("default\n")
    for variable in ("SGE_CELL", "SGE_DEBUG_LEVEL"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("SGE_ROOT", str(tmp_path))
    monkeypatch.setattr("clients.gdi.PATIENCE_ABSENT_S", -1.0)
    failed = subprocess.CompletedProcess([], 1, "", "the daemon says why")
    monkeypatch.setattr(subprocess, "run", lambda *arguments, **more: failed)
    monkeypatch.setattr("clients.admin.__main__.app", PROGRAM)  # which is made once, not for each command
    return made


def closed(monkeypatch: pytest.MonkeyPatch, path: Path) -> None:
    """Opening of the file fails, as its mode would make it fail for users other than root, the user of these tests."""
    real = io.open

    def call(file: Any, *arguments: Any, **more: Any) -> Any:
        if not isinstance(file, int) and Path(file) == path:
            raise PermissionError(13, "Permission denied", str(path))
        return real(file, *arguments, **more)

    monkeypatch.setattr(io, "open", call)
    monkeypatch.setattr(builtins, "open", call)


def outcome(line: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> tuple[int, str]:
    """Exit status and whole output of a command, which must not raise."""
    monkeypatch.setattr(sys, "argv", ["gridengine", *line.split()])
    try:
        status = main()
    except SystemExit as error:
        status = int(error.code or 0)
    output = capsys.readouterr()
    return status, output.out + output.err


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("name", [*NEEDED, *OPTIONAL])
def test_each_command_names_the_file_and_the_reason(
    name: str, damage: str, common: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = common / name
    DAMAGES[damage](path)
    if damage == "unreadable":
        closed(monkeypatch, path)
    harmless = (name, damage) in HARMLESS
    for line in COMMANDS if name in NEEDED else READERS:
        status, output = outcome(line, capsys, monkeypatch)
        for token in ("Traceback", "nternal error", "codec can't decode", "SGE_DEBUG_LEVEL", "embedded null"):
            assert token not in output, (line, output)
        if name in NEEDED and not harmless:
            assert status and str(path) in output, (line, output)
        elif line == "doctor":
            assert status and (harmless or f"WRONG  {path}" in output or f"WRONG  cannot read {path}" in output), output


def test_a_sound_cell_is_read_whole(
    common: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    output = [outcome(line, capsys, monkeypatch)[1] for line in READERS]
    assert not [text for text in output if str(common / "bootstrap") in text and "can be used" not in text]
    shutil.rmtree(common)
    for line in ("status", "stop", "web --list", "token list"):
        assert "no cell here" in outcome(line, capsys, monkeypatch)[1]
