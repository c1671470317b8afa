"""Warnings and errors in the journal of systemd, where it is the daemon's stderr."""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from daemons.runtime import journal
from daemons.runtime.journal import STREAM, forget_foreign_stream
from daemons.runtime.messages import open_messages


@pytest.fixture
def received(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[socket.socket]:
    """The journal's socket."""
    monkeypatch.setattr(journal, "SOCKET", str(tmp_path / "journal"))
    monkeypatch.setenv(STREAM, "8:15")
    root = logging.getLogger()
    before, level = list(root.handlers), root.level
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind(str(tmp_path / "journal"))
        listener.setblocking(False)
        yield listener
    for handler in [each for each in root.handlers if each not in before]:
        root.removeHandler(handler)
        handler.close()
    root.setLevel(level)


def lines(listener: socket.socket) -> list[str]:
    found = []
    while True:
        try:
            found.append(listener.recv(65536).decode())
        except BlockingIOError:
            return found


@pytest.mark.statement("GC-4")
def test_warnings_and_errors_go_to_the_journal_which_names_the_file(received: socket.socket, tmp_path: Path) -> None:
    open_messages(tmp_path / "messages", "main", "h1", "log_info", "execd")
    for level, text in ((logging.INFO, "i"), (logging.WARNING, "w"), (logging.ERROR, "e\nPRIORITY=0"), (logging.CRITICAL, "c")):
        logging.getLogger("daemons.x").log(level, text)
    logging.getLogger("ray.x").error("of a library")
    entries = [entry.splitlines() for entry in lines(received)]
    assert [entry[0] for entry in entries] == ["PRIORITY=5", "PRIORITY=4", "PRIORITY=3", "PRIORITY=2"]
    assert entries[0][2].endswith(str(tmp_path / "messages"))
    assert entries[1:3] == [[f"PRIORITY={number}", "SYSLOG_IDENTIFIER=sge_execd", f"MESSAGE={text}"] for number, text in
                            ((4, "w"), (3, "e | PRIORITY=0"))]


def test_a_journal_that_is_gone_costs_no_message(received: socket.socket, tmp_path: Path) -> None:
    open_messages(tmp_path / "messages", "main", "h1", "log_info", "execd")
    (tmp_path / "journal").unlink()
    logging.getLogger("daemons.x").error("e")
    assert "|E|e" in (tmp_path / "messages").read_text()


def test_a_stream_that_is_not_the_own_stderr_is_forgotten() -> None:
    status = os.fstat(2)
    own, foreign = {STREAM: f"{status.st_dev}:{status.st_ino}"}, {STREAM: "8:15"}
    for environment in (own, foreign):
        forget_foreign_stream(environment)
    assert (bool(own), foreign) == (True, {})
