"""The dashboards of Grafana and the alert rules of Prometheus: they ask for metrics and labels that `/metrics` has."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from gridengine.protocols.delivery import Load
from tests.unit.web.followed import Followed
from tests.unit.web.test_metrics import count_memory, get, on_master

FILES = Path(__file__).parents[3] / "cluster-config"
CELL, DETAIL = (json.loads((FILES / "grafana" / name).read_text()) for name in ("gridengine.json", "gridengine-detail.json"))
RULES = yaml.safe_load((FILES / "prometheus" / "gridengine.rules.yml").read_text())["groups"][0]["rules"]
_OF_SCRAPE = {"job", "instance"}
"""Labels that Prometheus adds."""


@pytest.fixture
def metrics(followed: Followed, tmp_path: Path) -> dict[str, set[str]]:
    """The labels of each metric of a cell with one of everything."""
    cell = followed.cell
    count_memory(cell)
    cell.configure("exec_host", "h1", complex_values="h_vmem=8G")
    cell.report("h1", Load(cell.now, {"load_avg": "0.5", "mem_used": "1G", "mem_total": "4G"}))
    cell.submit()
    cell.master.flush()
    followed.take()
    (tmp_path / "qmaster").mkdir()
    found: dict[str, set[str]] = {}
    for family in text_string_to_metric_families(get(followed, tmp_path, "/metrics", on_master)[1]):
        for sample in family.samples:
            found.setdefault(sample.name, set(_OF_SCRAPE)).update(sample.labels)
    return found


def expressions(dashboard: Any) -> list[str]:
    return [target["expr"] for panel in dashboard["panels"] for target in panel.get("targets", ())]


def bare(names: Any) -> set[str]:
    return {re.sub("_(bucket|sum|count)$", "", name) for name in names}


@pytest.mark.parametrize("expression", [*expressions(CELL), *expressions(DETAIL), *(rule["expr"] for rule in RULES)])
def test_an_expression_asks_for_metrics_and_labels_that_exist(metrics: dict[str, set[str]], expression: str) -> None:
    named = re.findall(r"(gridengine_\w+)(?:\{([^}]*)\})?", expression)
    assert named
    for name, labels in named:
        assert set(re.findall(r"(\w+)!?=", labels)) <= metrics[name], expression
    for grouped in re.findall(r"\bby \(([^)]*)\)", expression):
        assert set(grouped.replace(" ", "").split(",")) <= set().union(*(metrics[name] for name, _ in named)), expression


def test_the_dashboard_of_the_cell_has_all_metrics(metrics: dict[str, set[str]]) -> None:
    named = bare(re.findall(r"gridengine_\w+", " ".join(expressions(CELL))))
    assert bare(metrics) - named == {"gridengine_jobs", "gridengine_mirror_age_seconds"}


@pytest.mark.parametrize("dashboard", [CELL, DETAIL], ids=["cell", "detail"])
def test_panels_do_not_overlap_and_use_variables_that_exist(dashboard: Any) -> None:
    places = [panel["gridPos"] for panel in dashboard["panels"]]
    assert len({(place["x"], place["y"]) for place in places}) == len(places)
    assert all(place["x"] + place["w"] <= 24 for place in places)
    variables = {each["name"] for each in dashboard["templating"]["list"]}
    assert set(re.findall(r"\$(\w+)", " ".join(expressions(dashboard)))) <= variables


def test_values_of_the_cell_lead_to_their_detail(metrics: dict[str, set[str]]) -> None:
    variables = {each["name"] for each in DETAIL["templating"]["list"]}
    links = [(panel, link["url"]) for panel in CELL["panels"] for link in panel["fieldConfig"]["defaults"].get("links", ())]
    assert {re.findall(r"__field\.labels\.(\w+)", url)[0] for _, url in links} == {"host", "queue", "user", "project"}
    for panel, url in links:
        assert url.startswith(f"/d/{DETAIL['uid']}?")
        assert set(re.findall(r"[?&]var-(\w+)=", url)) <= variables
        asked = " ".join(target["expr"] for target in panel["targets"])
        label = re.findall(r"__field\.labels\.(\w+)", url)[0]
        assert any(label in metrics[name] for name in re.findall(r"gridengine_\w+", asked))
    queries = [each["query"] for each in DETAIL["templating"]["list"] if each["type"] == "query"]
    for name, label in (re.findall(r"label_values\((\w+).*, (\w+)\)", query)[0] for query in queries):
        assert label in metrics[name]


def test_each_alert_has_severity_and_next_step() -> None:
    names = [rule["alert"] for rule in RULES]
    assert len(set(names)) == len(names)
    for rule in RULES:
        assert rule["labels"]["severity"] in ("critical", "warning", "info")
        assert re.fullmatch(r"[0-9]+[mh]", rule["for"])
        assert rule["annotations"]["summary"] and rule["annotations"]["description"]
