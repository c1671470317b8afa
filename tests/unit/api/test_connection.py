"""Connections of programs: the parser of answers, and one text of the recovery for both kinds of cell."""

from __future__ import annotations

import asyncio
import inspect
import json
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from gridengine.api import operations
from gridengine.api.answers import CellEvent, RequestDenied, StreamEnded
from gridengine.api.async_cell import AsyncCell
from gridengine.api.blocking_channel import BlockingChannel
from gridengine.api.cell import Cell
from gridengine.api.wire import AnswerLost, AnswerParser, Unreachable

CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\n1\n2\n\r\n3;x=y\r\n3\n4\r\n0\r\nTrailer: t\r\n\r\n"


@pytest.mark.parametrize("size", [1, 2, 7, 1000])
def test_an_answer_is_parsed_however_its_bytes_come(size: int) -> None:
    parser, lines = AnswerParser(), []
    for start in range(0, len(CHUNKED), size):
        assert not parser.is_complete
        parser.feed(CHUNKED[start : start + size])
        lines += parser.lines()
    assert (parser.status, parser.reason, parser.headers) == (200, "OK", {b"transfer-encoding": b"chunked"})
    assert parser.is_complete and lines == [b"1", b"2", b"3"] and parser.body() == b"4"


def test_a_body_of_a_known_length_comes_as_a_whole() -> None:
    parser = AnswerParser()
    parser.feed(b"HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\nab")
    assert parser.has_head and not parser.is_complete and parser.body() == b""
    parser.feed(b"cd")
    assert parser.is_complete and parser.body() == b"abcd" and parser.body() == b""


def test_the_end_of_a_connection_before_the_end_of_an_answer_is_an_error() -> None:
    parser = AnswerParser()
    parser.feed(CHUNKED[:-2])
    with pytest.raises(AnswerLost, match="closed the connection"):
        parser.feed(b"")


def reply(value: object, status: int = 0) -> bytes:
    """The answer of the qmaster with this data."""
    return _http(json.dumps({"status": status, "answers": [["error", "no"]] if status else [], "data": value}).encode())


def records(*values: object) -> bytes:
    """The answer of a stream that ends with these records."""
    return _http(b"".join(json.dumps(value).encode() + b"\n" for value in values))


def _http(body: bytes) -> bytes:
    return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body


class Server:
    """A qmaster that gives these answers in this order: one list for each connection, which it closes after them."""

    def __init__(self, path: Path, answers: list[list[bytes]]) -> None:
        self.requests: list[tuple[str, str, Any]] = []
        self._answers = answers
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(path))
        self._listener.listen()
        self.thread = Thread(target=self._serve)
        self.thread.start()

    def _serve(self) -> None:
        for answers in self._answers:
            accepted, _ = self._listener.accept()
            with accepted, accepted.makefile("rb") as reader:
                for answer in answers:
                    lines = list(iter(reader.readline, b"\r\n"))
                    headers = dict(line.decode().strip().split(": ", 1) for line in lines[1:])
                    body = json.loads(reader.read(int(headers["Content-Length"])))
                    self.requests.append((lines[0].split()[1].decode(), headers.get("Idempotency-Key", ""), body))
                    accepted.sendall(answer)
        self._listener.close()


Work = Callable[[Any], Any]


def run_blocking(root: Path, work: Work, patience: float = 5) -> Any:
    with Cell(str(root), "test", patience=patience) as cell:
        return work(cell)


def run_async(root: Path, work: Work, patience: float = 5) -> Any:
    async def main() -> Any:
        async with AsyncCell(str(root), "test", patience=patience) as cell:
            made = work(cell)
            return [each async for each in made] if inspect.isasyncgen(made) else await made

    return asyncio.run(main())


@pytest.fixture(params=[run_blocking, run_async])
def run(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Carries out `work(cell)` with a cell of either kind."""

    async def no_pause(_seconds: float) -> None:
        pass

    monkeypatch.setattr(BlockingChannel, "sleep", no_pause)
    kind: Callable[..., Any] = request.param
    return kind


@contextmanager
def serving(tmp_path: Path, *answers: list[bytes]) -> Iterator[Server]:
    common = tmp_path / "test/common"
    common.mkdir(parents=True)
    (common / "bootstrap").write_text(f"run_dir {tmp_path}\n")
    server = Server(tmp_path / "gdi.sock", list(answers))
    yield server
    server.thread.join()


def test_a_connection_is_kept_and_a_closed_one_is_replaced(tmp_path: Path, run: Callable[..., Any]) -> None:
    with serving(tmp_path, [reply(["a"]), reply(["b"])], [reply(["c"])]) as server:
        with_names = [operations.names("pe"), operations.names("cluster_queue"), operations.names("project")]

        def blocking(cell: Cell) -> Any:
            return [cell.do(each) for each in with_names]

        async def awaited(cell: AsyncCell) -> Any:
            return [await cell.do(each) for each in with_names]

        assert run(tmp_path, lambda cell: (blocking if isinstance(cell, Cell) else awaited)(cell)) == [["a"], ["b"], ["c"]]
    assert [path for path, _, _ in server.requests] == ["/v1/config_list"] * 3


def test_a_change_whose_answer_is_lost_is_repeated_under_its_key(tmp_path: Path, run: Callable[..., Any]) -> None:
    with serving(tmp_path, [b"HTTP/1.1 200 OK\r\nContent-Le"], [reply(None)]) as server:
        assert run(tmp_path, lambda cell: cell.delete(7)) is None
    first, second = server.requests
    assert first == second and first[1] and first[2]["targets"] == ["7"]


def test_a_refusal_is_an_exception_with_its_texts(tmp_path: Path, run: Callable[..., Any]) -> None:
    with serving(tmp_path, [reply(None, status=1)]), pytest.raises(RequestDenied) as denied:
        run(tmp_path, lambda cell: cell.hold(7))
    assert (denied.value.status, denied.value.texts) == (1, ["no"])


def test_no_answer_is_an_exception_once_patience_has_passed(tmp_path: Path, run: Callable[..., Any]) -> None:
    with serving(tmp_path):
        (tmp_path / "gdi.sock").unlink()
        with pytest.raises(Unreachable, match="unable to contact the qmaster"):
            run(tmp_path, lambda cell: cell.hosts(), patience=0)


def ended(task: int) -> dict[str, Any]:
    return {"task_id": task, "exit_status": task, "failed": 0}


def test_a_stream_that_breaks_is_reopened_without_repetition(tmp_path: Path, run: Callable[..., Any]) -> None:
    with serving(tmp_path, [records(ended(2))], [b""], [records(ended(2), ended(1), {"done": True})]) as server:
        ends = run(tmp_path, lambda cell: cell.wait(5))
    assert [(end.task_id, end.exit_status) for end in ends] == [(1, 1), (2, 2)]
    assert [(path, body) for path, _, body in server.requests] == [("/v1/wait", {"job_id": 5})] * 3


def test_a_wait_ends_at_its_timeout(tmp_path: Path, run: Callable[..., Any]) -> None:
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n\n\r\n"
    with serving(tmp_path, [head]), pytest.raises(TimeoutError, match="job 5 has not ended"):
        run(tmp_path, lambda cell: cell.wait(5, timeout=0.05))


def test_events_end_with_the_reason_of_the_qmaster(tmp_path: Path, run: Callable[..., Any]) -> None:
    event = {"number": 1, "type": "JOB", "action": "LIST", "name": "", "data": []}
    seen: list[CellEvent] = []

    def blocking(cell: Cell) -> None:
        seen.extend([next(events := cell.events("JOB", name="x"))])
        next(events)

    async def awaited(cell: AsyncCell) -> None:
        async for each in cell.events("JOB", name="x"):
            seen.append(each)

    with serving(tmp_path, [records(event, {"refused": "no room"})]) as server, pytest.raises(StreamEnded, match="no room"):
        run(tmp_path, lambda cell: (blocking if isinstance(cell, Cell) else awaited)(cell))
    assert seen == [CellEvent(1, "JOB", "LIST", "", [])]
    assert server.requests[0][2] == {"name": "x", "types": ["JOB"]}
