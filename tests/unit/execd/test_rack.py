"""The node of a rack: batches pass through, and the qmaster learns who is connected before it hears of them."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from daemons.execd import rack as module
from daemons.execd.rack import Rack
from daemons.runtime.calls import CallFailedError
from gridengine.protocols.racks import Place, decode_statement


class Host:
    """A connection to a host, which answers every call with its name."""

    def __init__(self, is_silent: bool = False) -> None:
        self.is_silent, self.closed = is_silent, False

    async def call(self, name: str, *values: Any) -> Any:
        return name, values

    def close(self) -> None:
        self.closed = True


class Qmaster:
    """Takes statements while it is `up`, until another host is the node."""

    def __init__(self) -> None:
        self.stated: list[list[str]] = []
        self.up, self.other_node = True, False
        self.rack = Rack(Place("r1", "h1", "secret", 7), self.report, self.state)

    async def report(self, host: str, data: bytes) -> bytes:
        if not self.up:
            raise LookupError("no qmaster")
        return host.encode() + data

    async def state(self, data: bytes) -> bool:
        if not self.up:
            raise LookupError("no qmaster")
        self.stated.append(decode_statement(data).hosts)
        return not self.other_node


def play(scene: Any) -> Qmaster:
    async def run() -> Qmaster:
        qmaster = Qmaster()
        stating = asyncio.create_task(qmaster.rack.run())
        await scene(qmaster, qmaster.rack)
        stating.cancel()
        return qmaster

    return asyncio.run(run())


def test_a_host_is_admitted_when_the_qmaster_knows_and_calls_pass_through() -> None:
    async def scene(qmaster: Qmaster, rack: Rack) -> None:
        await rack.admit("h2", "secret", Host())
        assert qmaster.stated[-1] == ["h2"]
        assert await rack.call("h2", "deliver", b"batch") == ("deliver", (b"batch",))
        assert await rack.report("h2", b"+") == b"h2+"
        with pytest.raises(LookupError, match="not connected"):
            await rack.call("h3", "deliver", b"batch")

    play(scene)


def test_a_host_with_the_token_of_an_earlier_node_is_refused() -> None:
    async def scene(qmaster: Qmaster, rack: Rack) -> None:
        with pytest.raises(CallFailedError, match="denied"):
            await rack.admit("h2", "earlier", Host())

    assert play(scene).stated in ([], [[]])


def test_a_silent_host_is_stated_as_gone_at_once_and_a_dead_daemon_may_return(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "RETURN_S", 0.05)

    async def scene(qmaster: Qmaster, rack: Rack) -> None:
        silent, dead = Host(is_silent=True), Host()
        await rack.admit("h2", "secret", silent)
        await rack.admit("h3", "secret", dead)
        rack.note_end("h2", silent)
        rack.note_end("h3", dead)
        await rack.admit("h4", "secret", Host())
        assert qmaster.stated[-1] == ["h3", "h4"]
        while qmaster.stated[-1] != ["h4"]:
            await asyncio.sleep(0.01)

    play(scene)


def test_a_later_connection_of_a_host_replaces_the_earlier() -> None:
    async def scene(qmaster: Qmaster, rack: Rack) -> None:
        earlier, later = Host(is_silent=True), Host()
        await rack.admit("h2", "secret", earlier)
        await rack.admit("h2", "secret", later)
        rack.note_end("h2", earlier)
        assert earlier.closed and not later.closed
        assert await rack.call("h2", "ping")

    assert play(scene).stated[-1] == ["h2"]


def test_reports_that_fail_are_failed_calls_and_the_statement_is_repeated() -> None:
    async def scene(qmaster: Qmaster, rack: Rack) -> None:
        await rack.admit("h2", "secret", Host())
        count, qmaster.up = len(qmaster.stated), False
        with pytest.raises(CallFailedError, match="no qmaster"):
            await rack.report("h2", b"")
        qmaster.up = True
        while len(qmaster.stated) == count:
            await asyncio.sleep(0.01)

    assert play(scene).stated[-1] == ["h2"]


def test_the_node_ends_when_another_is_named() -> None:
    async def scene(qmaster: Qmaster, rack: Rack) -> None:
        qmaster.other_node = True
        await rack.run()

    play(scene)
