"""Names of hosts that decisions depend on: looked up beside the event loop, for a time, remembered in a bounded memory."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest

from daemons.qmaster.serve.requests import host_names as names
from daemons.qmaster.serve.requests.host_names import HostNames
from daemons.runtime.cell import Cell

ALICE, BOB = ("h1", 1001), ("h1", 1002)


class Resolver:
    """Knows names that begin with `h`; gives no answer for names that begin with `slow` until it is released."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.let_go = threading.Event()

    def exists(self, name: str) -> bool:
        self.asked.append(name)
        if name.startswith("slow"):
            self.let_go.wait(120)
        return name.startswith("h")


@pytest.fixture
def resolver() -> Resolver:
    return Resolver()


@pytest.fixture
def hosts(resolver: Resolver, monkeypatch: pytest.MonkeyPatch) -> HostNames:
    monkeypatch.setattr(names, "PATIENCE_S", 120.0)
    plain = {"root": Path("/r"), "name": "c", "admin_user": "root", "run_dir": Path("/r")}
    spools = {"qmaster_spool_dir": Path("/q"), "execd_spool_dir": Path("/e")}
    cell = Cell(**plain, **spools, qmaster_port=1, ray_port=2, aliases={"alias": "m"})  # type: ignore[arg-type]
    return HostNames(cell, resolver.exists, lambda address: {"10.88.0.14": "h1", "fd00::14": "alias"}.get(address, ""))


@pytest.mark.statement("GC-5")
def test_a_decision_is_made_again_when_its_names_are_known(hosts: HostNames, resolver: Resolver) -> None:
    attempts = []

    def decide() -> list[str | None]:
        attempts.append([hosts.resolve(name) for name in ("h1", "alias", "nowhere")])
        return attempts[-1]

    async def ask() -> None:
        assert await hosts.call_resolved(decide, ALICE) == ["h1", "m", None]
        assert await hosts.call_resolved(lambda: hosts.resolve("h1"), BOB) == "h1"

    asyncio.run(ask())
    assert attempts == [[None, "m", None], ["h1", "m", None]]
    assert sorted(resolver.asked) == ["h1", "nowhere"]


@pytest.mark.statement("GC-5", "HG-4")
def test_an_address_is_the_host_whose_name_the_resolver_gives(hosts: HostNames, resolver: Resolver) -> None:
    async def ask() -> None:
        asked = ("10.88.0.14", "fd00::14", "10.88.0.15")
        assert await hosts.call_resolved(lambda: [hosts.resolve(name) for name in asked], ALICE) == ["h1", "m", None]

    asyncio.run(ask())
    assert resolver.asked == []


@pytest.mark.statement("GC-5")
def test_an_address_is_not_cut_at_its_first_dot() -> None:
    plain = {"root": Path("/r"), "name": "c", "admin_user": "root", "run_dir": Path("/r")}
    spools = {"qmaster_spool_dir": Path("/q"), "execd_spool_dir": Path("/e")}
    aliases = {"10.88.0.1": "m", "10": "wrong"}
    cell = Cell(**plain, **spools, qmaster_port=1, ray_port=2, aliases=aliases, ignore_fqdn=True)  # type: ignore[arg-type]
    assert [cell.unique_name(name) for name in ("10.88.0.14", "10.88.0.1", "h1.example.org")] == ["10.88.0.14", "m", "h1"]


def test_a_name_that_only_shows_when_others_are_known_is_looked_up_too(hosts: HostNames) -> None:
    async def ask() -> None:
        assert await hosts.call_resolved(lambda: hosts.resolve("h1") and hosts.resolve("h2"), ALICE) == "h2"

    asyncio.run(ask())


def test_a_silent_resolver_holds_up_only_the_user_who_asked(hosts: HostNames, resolver: Resolver) -> None:
    async def ask() -> None:
        many = [asyncio.create_task(hosts.call_resolved(lambda name=f"slow{n}": hosts.resolve(name), ALICE)) for n in range(40)]
        while len(resolver.asked) < names.MAX_OF_USER:
            await asyncio.sleep(0)
        assert await hosts.call_resolved(lambda: hosts.resolve("h2"), BOB) == "h2"
        assert len(resolver.asked) == names.MAX_OF_USER + 1
        assert not any(each.done() for each in many)
        resolver.let_go.set()
        assert set(await asyncio.gather(*many)) == {None}

    asyncio.run(ask())


def test_a_request_does_not_wait_for_ever(hosts: HostNames, resolver: Resolver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(names, "PATIENCE_S", 0.0)

    async def ask() -> None:
        try:
            async with asyncio.timeout(60):
                assert await hosts.call_resolved(lambda: hosts.resolve("slow"), ALICE) is None
        finally:
            resolver.let_go.set()

    asyncio.run(ask())


def test_the_memory_of_names_is_bounded(hosts: HostNames, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(names, "MAX_NAMES", 10)

    async def ask() -> None:
        for number in range(30):
            await hosts.call_resolved(lambda name=f"h{number}": hosts.resolve(name), ALICE)
            await hosts.call_resolved(lambda: hosts.resolve("h0"), ALICE)

    asyncio.run(ask())
    assert len(hosts._known) == 10 and "h0" in hosts._known
    assert not hosts._lookups and not hosts._lookups_of


def test_the_lookups_of_a_request_are_limited(hosts: HostNames, resolver: Resolver) -> None:
    async def ask() -> None:
        await hosts.call_resolved(lambda: [hosts.resolve(f"h{number}") for number in range(5000)], ALICE)

    asyncio.run(ask())
    assert len(resolver.asked) <= 4 * names.MAX_LOOKUPS
    assert hosts.resolve("h" * 5000) is None
