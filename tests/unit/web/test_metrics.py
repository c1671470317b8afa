"""Metrics for monitoring: the figures of the cell, equal to the output of the commands."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from aiohttp.test_utils import TestClient, TestServer
from prometheus_client.parser import text_string_to_metric_families

from daemons.web.app import build_app
from gridengine.protocols.delivery import Load
from tests.harness import MASTER, USERS, Cell
from tests.unit.web.followed import Followed, web_of


def get(followed: Followed, directory: Path, path: str, before: Callable[[Any], None] = lambda shared: None) -> tuple[int, str]:
    """Ask for a page; `before` is given what the handlers share, when the web server has started."""

    async def play() -> tuple[int, str]:
        shared = web_of(followed, directory)[0]
        before(shared)
        async with TestClient(TestServer(build_app(shared))) as client:
            response = await client.get(path)
            return response.status, await response.text()

    return asyncio.run(play())


def samples(
    followed: Followed, directory: Path, before: Callable[[Any], None] = lambda shared: None
) -> dict[tuple[str, ...], float]:
    status, text = get(followed, directory, "/metrics", before)
    assert status == 200
    families = text_string_to_metric_families(text)
    return {
        (sample.name, *sample.labels.values()): sample.value for family in families for sample in family.samples
    }


def test_tasks_are_counted_by_state(followed: Followed, tmp_path: Path) -> None:
    cell = followed.cell
    cell.submit(tasks="1-14")
    cell.submit(holds="u", tasks="1-5")
    cell.submit(hard=["arch=nosuch"])
    cell.cycle()
    cell.ask("change_states", action="suspend", what="job", targets=["1.1"])
    followed.take()
    found = samples(followed, tmp_path)
    counts = {state: found["gridengine_tasks", state] for state in ("pending", "held", "running", "transferring", "suspended")}
    assert counts == {"pending": 3, "held": 5, "running": 11, "transferring": 0, "suspended": 1}
    assert found[("gridengine_jobs",)] == 3
    assert found["gridengine_queue_slots", "all.q", "used"] == 12
    assert found["gridengine_queue_slots", "all.q", "total"] == 12


def test_hosts_and_reservations(followed: Followed, tmp_path: Path) -> None:
    cell = followed.cell
    now = cell.now
    cell.admin("reserve", start_time=now + 60, end_time=now + 600)
    cell.pass_time(30)
    cell.report("h1", Load(cell.now, {}))
    cell.pass_time(20)
    cell.master.lose_host("h2")
    cell.master.flush()
    followed.mirrors.send_heartbeat()
    followed.take()
    found = samples(followed, tmp_path)
    assert [found["gridengine_host_up", host] for host in ("h1", "h2", "h3")] == [1, 0, 1]
    assert 20 <= found["gridengine_host_report_age_seconds", "h1"] < 80  # the clock goes on
    assert found["gridengine_reservations", "w"] == 1


def test_slots_by_user_and_project_and_the_oldest_wait(followed: Followed, tmp_path: Path) -> None:
    cell = followed.cell
    cell.add("project", "physics")
    cell.submit(tasks="1-12", project="physics")
    cell.cycle()
    cell.submit("bob", pe="make", pe_range="2-4")
    cell.submit("bob", holds="u")
    cell.pass_time(100)
    cell.submit(tasks="1-3")
    followed.take()
    found = samples(followed, tmp_path)
    slots = {key[1:]: value for key, value in found.items() if key[0] in ("gridengine_user_slots", "gridengine_project_slots")}
    assert slots == {
        ("used", "alice"): 12, ("pending", "alice"): 3, ("used", "bob"): 0, ("pending", "bob"): 2,
        ("physics", "used"): 12, ("physics", "pending"): 0, ("NONE", "used"): 0, ("NONE", "pending"): 5,
    }
    assert 100 <= found[("gridengine_oldest_pending_task_age_seconds",)] < 110, "held tasks do not count"


def test_names_of_users_are_bounded(followed: Followed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(60):
        monkeypatch.setitem(USERS, f"user{number:02}", 2000 + number)
        followed.cell.submit(f"user{number:02}", tasks=f"1-{100 - number}")
    followed.take()
    found = {key[1:]: value for key, value in samples(followed, tmp_path).items() if key[0] == "gridengine_user_slots"}
    assert len(found) == 2 * 51
    assert found["pending", "user49"] == 51
    assert found["pending", "(others)"] == sum(range(41, 51))


def test_ended_tasks_are_counted_by_code(followed: Followed, tmp_path: Path) -> None:
    cell = followed.cell
    number = cell.submit(tasks="1-3")
    cell.cycle()

    def end(shared: Any) -> None:
        cell.end(number, 1)
        cell.end(number, 2, failed=37, exit_status=137)
        cell.end(number, 3, exit_status=1)
        followed.take()

    found = samples(followed, tmp_path, end)
    assert {key[1]: value for key, value in found.items() if key[0] == "gridengine_tasks_ended_total"} == {"0": 2, "37": 1}


def count_memory(cell: Cell) -> None:
    row = {**cell.state.kind("complex")["h_vmem"], "consumable": "YES"}
    cell.admin("config_add", kind="complex", name="h_vmem", attributes=[(name, text, 1) for name, text in row.items()])


def test_consumables_load_and_memory(followed: Followed, tmp_path: Path) -> None:
    cell = followed.cell
    count_memory(cell)
    for host in ("h1", "h2"):
        cell.configure("exec_host", host, complex_values="h_vmem=8G")
    cell.submit(hard=["h_vmem=2G"])
    cell.cycle()
    cell.report("h1", Load(cell.now, {"load_avg": "1.5", "mem_used": "1G", "mem_total": "4G"}))
    cell.master.flush()
    followed.take()
    found = samples(followed, tmp_path)
    giga = 2**30
    assert found["gridengine_consumable_used", "h_vmem"] == 2 * giga
    assert found["gridengine_consumable_capacity", "h_vmem"] == 16 * giga
    shown = ("load_average", "processors", "memory_used_bytes", "memory_total_bytes")
    assert [found[f"gridengine_host_{name}", "h1"] for name in shown] == [1.5, 4, giga, 4 * giga]
    assert ("gridengine_host_memory_used_bytes", "h2") not in found, "which has not reported it"


def on_master(shared: Any) -> None:
    shared.cell.own_name = lambda: MASTER


def test_the_spool_and_its_backups(followed: Followed, tmp_path: Path) -> None:
    backups = tmp_path / "qmaster" / "backups"
    backups.mkdir(parents=True)
    assert samples(followed, tmp_path, on_master)[("gridengine_last_backup_timestamp_seconds",)] == 0
    for day in (1, 2):
        saved = backups / f"default-2026110{day}T020000Z.tar.gz"
        saved.touch()
        os.utime(saved, (day * 1000, day * 1000))
    found = samples(followed, tmp_path, on_master)
    assert found[("gridengine_last_backup_timestamp_seconds",)] == 2000
    assert 0 < found[("gridengine_spool_free_bytes",)] <= found[("gridengine_spool_size_bytes",)]
    assert ("gridengine_spool_free_bytes",) not in samples(followed, tmp_path), "this host is not the master"


def test_measures_are_histograms(followed: Followed, tmp_path: Path) -> None:
    for seconds in (0.0005, 0.0007, 0.3, 60):
        followed.measures.dispatch.note(seconds)
    followed.mirrors.send_heartbeat()
    followed.take()
    found = samples(followed, tmp_path)
    buckets = {key[1]: value for key, value in found.items() if key[0] == "gridengine_dispatch_seconds_bucket"}
    assert (buckets["0.001"], buckets["0.25"], buckets["0.5"], buckets["10.0"], buckets["+Inf"]) == (2, 2, 3, 3, 4)
    assert found[("gridengine_dispatch_seconds_sum",)] == pytest.approx(60.3012)


def test_whether_it_lives_and_follows(followed: Followed, tmp_path: Path) -> None:
    assert get(followed, tmp_path, "/healthz") == (200, "ok\n")
    assert get(followed, tmp_path, "/readyz") == (200, "ok\n")
    followed.mirror.mark_disconnected()
    status, text = get(followed, tmp_path, "/readyz")
    assert (status, "away" in text) == (503, True)
    found: dict[Any, float] = samples(followed, tmp_path)
    assert found[("gridengine_mirror_connected",)] == 0
    assert found["gridengine_host_up", "h1"] == 1, "what was known last is still there"
