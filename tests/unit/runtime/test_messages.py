"""The messages file: the form of a line, levels, rotation, and a disk that is full."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest

from daemons.runtime.messages import MessageFormatter, MessagesHandler, about, keep_traceback, open_messages, set_loglevel


@pytest.fixture
def restored() -> Iterator[None]:
    """Leave the root logger as it was."""
    root = logging.getLogger()
    level, handlers = root.level, list(root.handlers)
    yield
    for handler in set(root.handlers) - set(handlers):
        root.removeHandler(handler)
        handler.close()
    root.setLevel(level)


def record(level: int, text: str, **extra: object) -> logging.LogRecord:
    made = logging.LogRecord("x", level, __file__, 1, text, None, None)
    made.__dict__.update(extra)
    return made


@pytest.mark.statement("GC-4")
@pytest.mark.parametrize(
    ("thread", "level", "expected"),
    [
        ("main", logging.INFO, "|  main|gm|I|hello"),
        ("worker", logging.WARNING, "|worker|gm|W|hello"),
        ("event_master", logging.ERROR, "|event_|gm|E|hello"),
        ("x", logging.CRITICAL, "|     x|gm|C|hello"),
    ],
)
def test_line(monkeypatch: pytest.MonkeyPatch, thread: str, level: int, expected: str) -> None:
    monkeypatch.setenv("TZ", "UTC")
    __import__("time").tzset()
    line = MessageFormatter(thread, "gm").format(record(level, "hello", created=1795198493.9))
    assert line == "11/20/2026 18:14:53" + expected


@pytest.mark.parametrize("text", ["a\nb", "a\r\nb", "a\x0bb", "a\x0cb", "a\x1cb", "a\x85b", "a\u2028b", "a\u2029b"])
def test_a_record_is_one_line(text: str) -> None:
    assert len(MessageFormatter("main", "h").format(record(logging.INFO, text)).splitlines()) == 1


def test_texts_of_requests_give_no_commands_to_a_terminal() -> None:
    line = MessageFormatter("main", "h").format(record(logging.INFO, "\x1b[2J \x07 \x9b1m \u202e \x7f \ud800 naïve 日本"))
    assert line.endswith("|\\x1b[2J \\x07 \\x9b1m \\u202e \\x7f \\ud800 naïve 日本")


def test_a_fault_of_the_program_is_one_sentence_and_its_traceback_is_elsewhere(tmp_path: Path, restored: None) -> None:
    open_messages(tmp_path / "messages", "main", "h")
    try:
        raise RuntimeError("the first line\nand the second")
    except RuntimeError:
        logging.getLogger("daemons.x").exception("it did not work")
    [line] = (tmp_path / "messages").read_text().splitlines()
    assert line.endswith("|E|it did not work: RuntimeError: the first line (see tracebacks beside this file)")
    kept = (tmp_path / "tracebacks").read_text()
    assert "it did not work" in kept and "Traceback (most recent call last)" in kept and "and the second" in kept
    assert (tmp_path / "tracebacks").stat().st_mode & 0o077 == 0


def test_tracebacks_do_not_grow_for_ever(tmp_path: Path) -> None:
    for number in range(3):
        keep_traceback(tmp_path / "tracebacks", f"{number}" + "x" * 1_000_000)
    assert [path.read_text()[0] for path in sorted(tmp_path.iterdir())] == ["2", "1"]


def test_libraries_and_colours_have_no_place_in_it(tmp_path: Path, restored: None) -> None:
    open_messages(tmp_path / "messages", "main", "h")
    logging.getLogger("ray.worker").error("what Ray says")
    logging.getLogger("daemons.x").error("\x1b[36m(raylet)\x1b[0m red")
    assert [line.split("|")[4] for line in (tmp_path / "messages").read_text().splitlines()] == ["(raylet) red"]


@pytest.mark.statement("GC-4")
def test_the_same_events_as_json(tmp_path: Path, restored: None) -> None:
    open_messages(tmp_path / "messages", "worker", "gm", "log_info", "qmaster", as_json=True)
    logging.getLogger("daemons.x").warning("job %d is ended", 5, extra=about("qdel", job=5, user="ann", hosts=[], by=""))
    logging.getLogger("daemons.qmaster.disk").info("of no kind")
    first, second = map(json.loads, (tmp_path / "messages.json").read_text().splitlines())
    time = datetime.fromisoformat(first.pop("time"))
    assert time.utcoffset() is not None and abs(time.timestamp() - (tmp_path / "messages.json").stat().st_mtime) < 60
    fields = {"level": "warning", "component": "qmaster", "thread": "worker", "host": "gm", "event": "qdel", "job": 5}
    assert first == {**fields, "user": "ann", "text": "job 5 is ended"}
    assert (second["event"], second["level"]) == ("disk", "info")
    assert [line.split("|")[4] for line in (tmp_path / "messages").read_text().splitlines()] == ["job 5 is ended", "of no kind"]


@pytest.mark.statement("GC-4")
def test_loglevel(tmp_path: Path, restored: None) -> None:
    path = tmp_path / "messages"
    open_messages(path, "main", "h", "log_warning")
    logging.getLogger("a").info("not this")
    logging.getLogger("a").warning("this")
    set_loglevel("log_err")
    logging.getLogger("a").warning("nor this")
    set_loglevel("LOG_INFO")
    logging.getLogger("a").info("and this")
    assert [line.split("|")[4] for line in path.read_text().splitlines()] == ["this", "and this"]


def test_the_file_is_opened_again_after_rotation(tmp_path: Path) -> None:
    handler = MessagesHandler(tmp_path / "messages")
    handler.emit(record(logging.INFO, "before"))
    os.rename(tmp_path / "messages", tmp_path / "messages.1")
    handler.emit(record(logging.INFO, "after"))
    handler.close()
    assert (tmp_path / "messages").read_text() == "after\n"


def test_a_full_disk_does_not_end_the_daemon(capfd: pytest.CaptureFixture[str]) -> None:
    handler = MessagesHandler(Path("/dev/full"))
    handler.emit(record(logging.INFO, "lost"))
    handler.emit(record(logging.INFO, "%d wrong", args=("x",)))
    handler.close()
    fields = capfd.readouterr().err
    assert "lost\n" in fields and "cannot log" in fields
