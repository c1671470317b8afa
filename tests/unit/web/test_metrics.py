"""What monitors read: the figures of the cell, as the commands print them."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import pytest
from aiohttp.test_utils import TestClient, TestServer
from prometheus_client.parser import text_string_to_metric_families

from daemons.web.app import build_app
from gridengine.delivery import Load
from tests.unit.web.followed import Followed, web_of


def get(followed: Followed, directory: Path, path: str) -> tuple[int, str]:
    async def play() -> tuple[int, str]:
        async with TestClient(TestServer(build_app(web_of(followed, directory)[0]))) as client:
            response = await client.get(path)
            return response.status, await response.text()

    return asyncio.run(play())


def samples(followed: Followed, directory: Path) -> dict[tuple[str, ...], float]:
    status, text = get(followed, directory, "/metrics")
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
    followed.mirrors.beat()
    followed.take()
    found = samples(followed, tmp_path)
    assert [found["gridengine_host_up", host] for host in ("h1", "h2", "h3")] == [1, 0, 1]
    assert 20 <= found["gridengine_host_report_age_seconds", "h1"] < 80  # the clock goes on
    assert found["gridengine_reservations", "w"] == 1


def test_measures_are_histograms(followed: Followed, tmp_path: Path) -> None:
    for seconds in (0.0005, 0.0007, 0.3, 60):
        followed.measures.dispatch.note(seconds)
    followed.mirrors.beat()
    followed.take()
    found = samples(followed, tmp_path)
    buckets = {key[1]: value for key, value in found.items() if key[0] == "gridengine_dispatch_seconds_bucket"}
    assert (buckets["0.001"], buckets["0.25"], buckets["0.5"], buckets["10.0"], buckets["+Inf"]) == (2, 2, 3, 3, 4)
    assert found[("gridengine_dispatch_seconds_sum",)] == pytest.approx(60.3012)


def test_whether_it_lives_and_follows(followed: Followed, tmp_path: Path) -> None:
    assert get(followed, tmp_path, "/healthz") == (200, "ok\n")
    assert get(followed, tmp_path, "/readyz") == (200, "ok\n")
    followed.mirror.lost()
    status, text = get(followed, tmp_path, "/readyz")
    assert (status, "away" in text) == (503, True)
    found: dict[Any, float] = samples(followed, tmp_path)
    assert found[("gridengine_mirror_connected",)] == 0
    assert found["gridengine_host_up", "h1"] == 1, "what was known last is still there"


def test_the_dashboard_asks_for_metrics_and_labels_that_there_are(followed: Followed, tmp_path: Path) -> None:
    followed.cell.report("h1", Load(followed.cell.now, {"load_avg": "0.5"}))
    followed.cell.master.flush()
    followed.take()
    _, text = get(followed, tmp_path, "/metrics")
    there: dict[str, set[str]] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            there.setdefault(sample.name, {"job"}).update(sample.labels)
    dashboard = json.loads((Path(__file__).parents[3] / "cluster-config" / "grafana" / "gridengine.json").read_text())
    asked = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    for expression in asked:
        found = re.findall(r"(gridengine_\w+)\{([^}]*)\}", expression)
        assert found
        for name, labels in found:
            assert set(re.findall(r"(\w+)=", labels)) <= there.get(name, set()), expression
    named = {re.sub("_(bucket|sum|count)$", "", name) for name in re.findall(r"gridengine_\w+", " ".join(asked))}
    shown = {re.sub("_(bucket|sum|count)$", "", name) for name in there}
    assert shown - named == {"gridengine_jobs", "gridengine_mirror_age_seconds"}
    places = [panel["gridPos"] for panel in dashboard["panels"]]
    assert len({(place["x"], place["y"]) for place in places}) == len(places)
    assert all(place["x"] + place["w"] <= 24 for place in places)
