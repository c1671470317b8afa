"""Releases of hosts: the fields of hellos, the hosts that may join, and the request to restart as another release."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import Any

import msgspec
import pytest

from daemons.qmaster.serve.hosts.host_releases import HELLO_S, HostReleases
from daemons.qmaster.serve.service import Service
from daemons.runtime.release import ray_version
from gridengine.protocols.delivery import Batch, Inventory, encode
from gridengine.protocols.gdi.requests import Answer, Caller, ExecdHello
from gridengine.protocols.protocol import PROTOCOL, incompatibility_reason
from gridengine.protocols.racks import APART, CONNECTED
from tests.harness import MASTER, Cell
from tests.service_callbacks import IdleCallbacks

ROOT = Caller("root", 0, "root", 0, MASTER)


@pytest.fixture
def service(cell: Cell) -> Service:
    return Service(cell.master, IdleCallbacks(session=lambda: {"session": "s"}))


def hello(service: Service, host: str = "h1", **fields: Any) -> Answer:
    caller = Caller("root", 0, "root", 0, host, daemon=True)
    return asyncio.run(service.answer("execd_hello", msgspec.json.encode({"host": host, **fields}), caller))


def ask(service: Service, name: str, **fields: Any) -> Answer:
    return asyncio.run(service.answer(name, msgspec.json.encode(fields), ROOT))


def row(service: Service, host: str = "h1") -> dict[str, Any]:
    return next(each for each in ask(service, "releases").data["hosts"] if each["host"] == host)


def restart(service: Service, *hosts: str) -> Answer:
    return ask(service, "restart_hosts", hosts=hosts, release="2")


def test_a_host_joins_from_a_release_beside_the_masters_alone(service: Service, caplog: pytest.LogCaptureFixture) -> None:
    """A release before these numbers sends no number, a later release sends an unknown number."""
    assert hello(service).data == {"session": "s", "protocol": PROTOCOL}
    assert hello(service, protocol=PROTOCOL + 1, thing="of the future").status == 0
    for _ in range(2):
        refused = hello(service, protocol=PROTOCOL + 2)
        assert (refused.status, refused.data) == (1, {"protocol": PROTOCOL})
    sentence = f"host h1 speaks protocol {PROTOCOL + 2}, the master {PROTOCOL}: they may differ by 1; upgrade the master"
    assert refused.answers == [("error", f"denied: {sentence}")]
    assert caplog.text.count(sentence) == 1 and row(service)["complaint"] == sentence
    assert incompatibility_reason("h1", 1, 3).endswith("upgrade host h1")


@pytest.mark.parametrize("other", [ray_version().replace("Python 3.", "Python 3.9"), ray_version().replace("Ray ", "Ray 9")])
def test_a_host_with_another_version_of_ray_or_python_is_refused_with_both_and_the_remedy(
    service: Service, caplog: pytest.LogCaptureFixture, other: str
) -> None:
    assert hello(service, protocol=PROTOCOL, ray=ray_version()).status == 0
    sentence = f"host h1 has {other}, the master {ray_version()}: install the same package on all hosts, then gridengine upgrade"
    for _ in range(2):
        assert hello(service, protocol=PROTOCOL, ray=other).answers == [("error", f"denied: {sentence}")]
    assert caplog.text.count(sentence) == 1 and row(service)["complaint"] == sentence


def test_a_host_gets_the_request_at_each_hello_until_it_is_of_that_release(service: Service, cell: Cell) -> None:
    old: dict[str, Any] = {"protocol": 1, "release": "1", "installed": "2"}
    hello(service, **old)
    assert restart(service, "h1").status == 0
    assert hello(service, **old).data["restart"] == "2"
    assert hello(service, **(old | {"protocol": 9})).data["restart"] == "2", "also a host that may not join"
    assert "restart" not in (hello(service, **(old | {"release": "2"})).data or {})
    assert "restart" not in (hello(service, **old).data or {}), "told once"
    assert restart(service, "h1").status == 0
    hello(service, **(old | {"refusal": "does not go on: no disk"}))
    assert row(service)["refusal"] == "does not go on: no disk"
    assert "restart" not in (hello(service, **old).data or {}), "one that cannot is not told for ever"


def test_only_hosts_that_have_a_release_get_the_request(service: Service) -> None:
    hello(service, installed="1", release="1")
    answer = restart(service, "h1", "h2")
    assert [text for _, text in answer.answers] == [
        'denied: execution host "h1" has 1 installed, not 2',
        'denied: execution host "h2" has sent no hello to this qmaster',
    ]


def test_a_host_that_restarts_by_request_is_not_lost_and_is_ready_after_its_inventory(
    service: Service, cell: Cell, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    hello(service, release="1", installed="2")
    restart(service, "h1")
    service.lose_nodes({"h1"})
    assert cell.state.hosts["h1"].up
    hello(service, release="2", installed="2")
    service.lose_nodes({"h1"})
    assert cell.state.hosts["h1"].up and not row(service)["ready"], "its daemon says hello before its node has joined"
    inventory = Batch(reports=[Inventory([], "boot")], host=(1, 1), master=cell.master.stamp)
    asyncio.run(service.reports("h1", encode(inventory)))
    assert row(service)["ready"] and "host h1 goes on as release 2, after" in caplog.text
    service.lose_nodes({"h1"})
    assert not cell.state.hosts["h1"].up, "from then on its silence is a loss again"


def test_a_host_that_does_not_come_back_is_lost_in_the_end(service: Service, cell: Cell) -> None:
    hello(service, release="1", installed="2")
    restart(service, "h1")
    cell.pass_time(61)
    service.lose_nodes({"h1"})
    assert not cell.state.hosts["h1"].up


@pytest.mark.parametrize(
    ("hosts", "rack", "seconds"),
    [
        (3, "", 2.0), (500, "", 5.0), (10_000, "", 20.0),
        (3, APART, 2.0), (3, CONNECTED, 10.0), (500, CONNECTED, 10.0), (1_500, CONNECTED, 15.0),
    ],
)
def test_hosts_send_hellos_less_often_the_more_there_are(tmp_path: Path, hosts: int, rack: str, seconds: float) -> None:
    releases = HostReleases(Cell(tmp_path).master)
    for number in range(hosts):
        releases.heard(ExecdHello(f"n{number}", protocol=PROTOCOL, ray=ray_version(), rack=rack), "")
    assert releases.release_report("n1").get("hello_s", HELLO_S) == seconds
