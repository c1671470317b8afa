"""Load values that sensors report of other hosts and of the cluster, from the report to the decision."""

from __future__ import annotations

from pathlib import Path

import pytest

from gridengine.placement.config_snapshot import PlacementConfig
from gridengine.placement.ledger import Ledger
from gridengine.placement.resources import available
from gridengine.protocols.delivery import Load
from tests.harness import LOAD, Cell


def cell(directory: Path) -> Cell:
    made = Cell(directory)
    made.add("complex", "lic", shortcut="lic", type="INT", relop="<=", consumable="NO", requestable="YES", default="0")
    return made


def shown(cell: Cell, name: str = "lic", instance: str = "all.q@h2") -> str | None:
    offer = available(PlacementConfig(cell.state), Ledger(cell.state), instance, name)
    return offer.text() if offer is not None else None


@pytest.mark.statement("LS-3", "CX-35")
def test_a_global_value_is_that_of_the_cluster(tmp_path: Path) -> None:
    here = cell(tmp_path)
    job = here.submit(hard=["lic=2"])
    here.cycle()
    assert here.placed(job) == []
    here.report("h1", Load(here.now, others={"global": {"lic": "3"}}))
    assert shown(here) == "gl:lic=3"
    assert not here.state.hosts["global"].up
    here.cycle()
    assert len(here.placed(job)) == 1


@pytest.mark.statement("LS-3")
def test_a_value_of_another_host_does_not_mark_it_up(tmp_path: Path) -> None:
    here = cell(tmp_path)
    here.master.lose_host("h2")
    here.report("h1", Load(here.now, others={"h2": {"lic": "3"}}))
    assert shown(here) == "hl:lic=3"
    assert not here.state.hosts["h2"].up


@pytest.mark.statement("LS-3")
def test_a_hosts_own_values_override_values_from_other_hosts(tmp_path: Path) -> None:
    here = cell(tmp_path)
    here.report("h1", Load(here.now, others={"h2": {"lic": "3", "arch": "other"}}))
    assert shown(here, "arch") == "hl:arch=lx-amd64"
    here.report("h2", Load(here.now, {"lic": "5"}))
    here.report("h1", Load(here.now, others={"h2": {"lic": "4"}}, others_removed={"h2": ["arch"]}))
    assert shown(here) == "hl:lic=5" and shown(here, "arch") == "hl:arch=lx-amd64"
    here.report("h2", Load(here.now, dict(LOAD), full=True))
    assert shown(here) is None


@pytest.mark.statement("LS-3", "LS-8")
@pytest.mark.parametrize("how", ["removed", "full", "lost", "host removed"])
def test_values_cease_with_the_sensor_and_with_its_host(tmp_path: Path, how: str) -> None:
    here = cell(tmp_path)
    here.report("h1", Load(here.now, others={"global": {"lic": "3"}, "h2": {"lic": "7"}}))
    here.report("h2", Load(here.now, dict(LOAD), full=True))
    assert shown(here) == "gl:lic=3"
    if how == "removed":
        here.report("h1", Load(here.now, others_removed={"global": ["lic"]}))
    elif how == "full":
        here.report("h1", Load(here.now, dict(LOAD), full=True, others={"h2": {"lic": "7"}}))
    elif how == "lost":
        here.master.lose_host("h1")
        here.report("h3", Load(here.now, others={"h2": {"lic": "7"}}))
    else:
        here.configure("host_group", "@allhosts", hostlist="h2 h3")
        assert here.admin("config_delete", kind="exec_host", name="h1").status == 0
        here.report("h3", Load(here.now, others={"h2": {"lic": "7"}}))
    assert shown(here) == "hl:lic=7"
    assert here.state.hosts["global"].load == {}


@pytest.mark.statement("LS-8")
def test_the_scheduler_notices_that_a_global_value_is_gone(tmp_path: Path) -> None:
    here = cell(tmp_path)
    here.configure("cluster_queue", "all.q", load_thresholds="lic=5")
    here.report("h1", Load(here.now, others={"global": {"lic": "9"}}))
    here.cycle()
    here.master.lose_host("h1")
    here.master.flush()
    job = here.submit()
    here.cycle()
    assert here.placed(job) == []


@pytest.mark.statement("LS-3")
def test_a_host_that_does_not_exist_is_answered_and_not_kept(tmp_path: Path) -> None:
    here = cell(tmp_path)
    [verdict] = here.report("h1", Load(here.now, others={"h77": {"lic": "1"}, "h3": {"lic": "1"}}))
    assert verdict.unknown_hosts == ["h77"]
    assert "h77" not in here.state.hosts and here.state.hosts["h3"].load["lic"] == "1"


@pytest.mark.statement("CX-18")
@pytest.mark.parametrize(
    ("text", "shown_as"), [("abc", None), ("nan", None), ("", None), ("1e999", "hl:lic=infinity")]
)
def test_values_without_an_entry_or_of_a_wrong_type_do_nothing(tmp_path: Path, text: str, shown_as: str | None) -> None:
    here = cell(tmp_path)
    here.report("h2", Load(here.now, {"nosuch": "1", "lic": text}))
    assert (shown(here), shown(here, "nosuch")) == (shown_as, None)
    job = here.submit()
    here.cycle()
    assert len(here.placed(job)) == 1


@pytest.mark.statement("LS-4", "GC-1")
def test_sensors_are_named_by_absolute_paths(tmp_path: Path) -> None:
    here = cell(tmp_path)
    assert here.configure("configuration", "global", load_sensor="/a/b,/c").status == 0
    answer = here.configure("configuration", "global", load_sensor="/a/b,c")
    assert answer.status == 1 and "load_sensor" in answer.answers[0][1]


@pytest.mark.statement("LS-3")
def test_values_no_longer_reported_for_other_hosts_are_removed(tmp_path: Path) -> None:
    here = cell(tmp_path)
    here.report("h1", Load(here.now, others={"h2": {"lic": "3"}, "h3": {"lic": "5"}}))
    here.report("h3", Load(here.now, others={"h2": {"x": "9"}}))
    before = here.state.revision
    assert here.report("h1", Load(here.now, others={"h2": {}}, others_removed={"h3": []}))[0].unknown_hosts == []
    assert here.state.revision == before + 1, "only that it was heard"
    here.report("h1", Load(here.now, others_removed={"h3": ["lic"]}))
    assert ("lic" in here.state.hosts["h2"].load, "lic" in here.state.hosts["h3"].load) == (True, False)
    here.report("h1", Load(here.now, dict(LOAD), full=True, others={"h3": {"lic": "1"}}))
    assert ("lic" in here.state.hosts["h2"].load, here.state.hosts["h3"].load["lic"]) == (False, "1")
    assert here.state.hosts["h2"].load["x"] == "9", "another host says that"
