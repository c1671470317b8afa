"""Acts of the service itself: shutting daemons down, the permission and the hosts meant; monitoring the scheduler."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from daemons.qmaster.serve.service import Service
from gridengine.protocols.gdi.requests import Answer, Caller, ExecdHello, Shutdown
from tests.harness import MASTER, Cell
from tests.service_callbacks import IdleCallbacks

ROOT = Caller("root", 0, "root", 0, MASTER)


@pytest.fixture
def asked() -> list[Shutdown]:
    return []


@pytest.fixture
def service(cell: Cell, asked: list[Shutdown]) -> Service:
    async def shut_down(request: Shutdown) -> Answer:
        asked.append(request)
        answer = Answer()
        for host in request.hosts:
            answer.info(host)
        return answer

    return Service(cell.master, IdleCallbacks(shut_down=shut_down))


def shutdown(service: Service, caller: Caller = ROOT, **fields: Any) -> Answer:
    return asyncio.run(service.answer("shutdown", msgspec.json.encode(fields), caller))


@pytest.mark.statement("QF-34")
def test_all_hosts_are_those_that_are_up(service: Service, cell: Cell) -> None:
    cell.master.lose_host("h2")
    answer = shutdown(service, what="execd", hosts=["all"])
    assert (answer.status, [text for _, text in answer.answers]) == (0, ["h1", "h3"])


@pytest.mark.statement("QF-34", "QF-38")
def test_unknown_hosts_are_reported_and_the_other_hosts_shut_down(service: Service, asked: list[Shutdown]) -> None:
    answer = shutdown(service, what="execd", hosts=["nosuch", "h2"], kill_jobs=True)
    assert (asked[0].hosts, asked[0].kill_jobs) == (("h2",), True)
    assert (answer.status, answer.answers[1]) == (1, ("error", 'can\'t resolve hostname "nosuch"'))


@pytest.mark.statement("QF-34", "QF-36")
@pytest.mark.parametrize("caller", [Caller("alice", 1001, "users", 100, MASTER), Caller("root", 0, "root", 0, "elsewhere")])
def test_managers_on_admin_hosts_only(service: Service, asked: list[Shutdown], caller: Caller) -> None:
    assert shutdown(service, caller, what="qmaster").status == 1
    assert not asked


@pytest.mark.statement("QF-35", "QF-36")
def test_managers_have_a_scheduling_run_monitored(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[bool] = []
    monkeypatch.setattr(service.driver, "monitor", lambda: asked.append(True))
    alice = asyncio.run(service.answer("monitor_scheduling", b"", Caller("alice", 1001, "users", 100, MASTER)))
    assert (alice.status, asked) == (1, [])
    answer = asyncio.run(service.answer("monitor_scheduling", b"", ROOT))
    assert answer.answers == [("info", f"root@{MASTER} triggers scheduler monitoring")]
    assert asked == [True]


def hello(service: Service, cell_id: str) -> Answer:
    body = msgspec.json.encode({"host": "h1", "cell_id": cell_id})
    return asyncio.run(service.answer("execd_hello", body, Caller("root", 0, "root", 0, "h1", daemon=True)))


def test_a_host_of_another_cell_does_not_join(cell: Cell, caplog: pytest.LogCaptureFixture) -> None:
    joined: list[str] = []

    async def host_joined(hello: ExecdHello) -> dict[str, str]:
        joined.append(hello.host)
        return {"cell_id": "5f"}

    service = Service(cell.master, IdleCallbacks(host_joined=host_joined, session=lambda: {"cell_id": "5f"}))
    for _ in range(2):
        assert hello(service, "07").answers == [("error", 'denied: host "h1" belongs to another cell, 07')]
    assert not joined and not cell.state.hosts["h1"].execd
    assert caplog.text.count("belongs to another cell, 07") == 1
    assert hello(service, "5f").data["cell_id"] == "5f"
    assert hello(service, "").status == 0, "one that never joined is welcome"
    assert joined == ["h1", "h1"]


def test_a_host_sends_hello_for_itself_alone(service: Service) -> None:
    message = msgspec.json.encode({"host": "h1", "pid": 1, "incarnation": "x"})
    callers = {host: Caller("root", 0, "root", 0, host) for host in ("h1", "h2")}
    answers = {host: asyncio.run(service.answer("execd_hello", message, caller)) for host, caller in callers.items()}
    assert answers["h1"].status == 0
    assert answers["h2"].answers == [("error", 'denied: "h2" may not send a hello for host "h1"')]
    assert answers["h2"].data is None


@pytest.mark.statement("QI-3")
def test_a_goodbye_stops_its_daemon_and_no_later_daemon(service: Service, cell: Cell) -> None:
    caller = Caller("root", 0, "root", 0, "h1", daemon=True)

    def say(pid: int, ending: bool) -> bool:
        body = msgspec.json.encode({"host": "h1", "pid": pid, "incarnation": "x", "ending": ending})
        assert asyncio.run(service.answer("execd_hello", body, caller)).status == 0
        return cell.state.hosts["h1"].up

    assert say(2, ending=False)
    assert say(1, ending=True), "it comes late, of the daemon before"
    assert not say(2, ending=True)
    assert service.requests.host_log.was_stopped("h1")
