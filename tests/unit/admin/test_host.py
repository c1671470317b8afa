"""`gridengine host`: hosts come, are drained and go, on a cell in this process whose keys are real."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from clients.admin.cell import read_cell
from clients.admin.cell_plan import CellOptions, CellPlan, plan_cell
from clients.admin.certificate import utc_now
from clients.admin.creation import create_cell
from clients.admin.host_keys import authority_of
from clients.admin.installation import Installation
from gridengine.protocols.delivery import Load
from tests.harness import LOAD, Cell
from tests.unit.admin.administrator import Administrator

CONFIG = Path(__file__).parents[3] / "cluster-config"


@pytest.fixture
def plan(tmp_path: Path) -> CellPlan:
    """A cell on disk whose master host is this machine, with keys for h1."""
    found = plan_cell(
        CellOptions(
            root=tmp_path,
            spool_dir=tmp_path / "spool",
            run_dir=Path("/tmp/r"),
            exec_hosts=["h1"],
            aliases=[f"{socket.gethostname()}=127.0.0.1", "h1=127.0.0.2", "h8=127.0.0.8", "h9=127.0.0.9", "h9=nine"],
        )
    )
    create_cell(found, Installation(tmp_path / "bin", CONFIG), utc_now())
    return found


@pytest.fixture
def admin(
    plan: CellPlan, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Administrator:
    (tmp_path / "cell").mkdir()
    monkeypatch.setenv("SGE_ROOT", str(tmp_path))
    monkeypatch.setenv("SGE_CELL", "default")
    return Administrator(Cell(tmp_path / "cell", hosts=2), "host", capsys, monkeypatch)


def have_keys(plan: CellPlan) -> list[str]:
    return [known.name for known in authority_of(read_cell(plan.files)).hosts()]


@pytest.mark.statement("IN-1")
def test_a_new_host_is_all_that_hosts_are_and_has_keys(admin: Administrator, plan: CellPlan) -> None:
    status, output = admin("add", "nine", "--slots", 16)
    state = admin.cell.state
    assert status == 0, output
    assert all(state.has(kind, "h9") for kind in ("admin_host", "submit_host", "exec_host"))
    assert state.kind("host_group")["@allhosts"]["hostlist"] == "h1 h2 h9"
    assert state.configs["all.q@h9"].slots == 16 and state.configs["all.q@h1"].slots == 4
    assert "slots of all.q on h9: 4,[h9=8]\n" in admin("add", "h9", "--slots", 8)[1], "also of a host that is there"
    assert state.configs["all.q@h9"].slots == 8
    assert have_keys(plan) == ["h1", "h9"] and "next: gridengine start on h9" in output


@pytest.mark.statement("IN-1")
def test_a_new_host_joins_a_new_queue_an_existing_queue_or_groups(admin: Administrator) -> None:
    admin.cell.add("cluster_queue", "old.q", hostlist="NONE", slots="7")
    admin.cell.add("host_group", "@fast", hostlist="NONE")
    assert admin("add", "h8", "--new-queue", "h8.q", "--slots", 3)[0] == 0
    assert admin("add", "h9", "--queue", "old.q", "--group", "@fast", "--slots", 5)[0] == 0
    state = admin.cell.state
    assert state.kind("host_group")["@allhosts"]["hostlist"] == "h1 h2"
    assert sorted(name for name in state.instances if name.endswith(("h8", "h9"))) == ["h8.q@h8", "old.q@h9"]
    assert (state.configs["h8.q@h8"].slots, state.configs["old.q@h9"].slots) == (3, 5)
    assert state.kind("host_group")["@fast"]["hostlist"] == "h9"
    wrong = ((["--queue", "old.p"], 'mean "old.q"'), (["--new-queue", "old.q"], "already"), (["--role", "x"], "admin"))
    for arguments, hint in wrong:
        status, output = admin("add", "h1", *arguments)
        assert status == 1 and hint in output, output


def test_reported_processors_and_memory_are_configured(admin: Administrator) -> None:
    status, output = admin("add", "h9", "--memory", "total")
    assert status == 1 and "has not reported its memory" in output
    assert not admin.cell.state.has("exec_host", "h9")
    _, output = admin("add", "h9")
    assert "h9 has not reported its processors yet; when it runs: gridengine host add h9 --queue all.q\n" in output
    load = {**LOAD, "num_proc": "64", "mem_total": "1024.000000M"}
    admin.cell.report("h9", Load(admin.cell.now, load, full=True, incarnation="boot1"))
    assert admin("add", "h9", "--queue", "all.q", "--memory", "total")[0] == 0
    state = admin.cell.state
    assert state.configs["all.q@h9"].slots == 64
    assert state.kind("exec_host")["h9"]["complex_values"] == "h_vmem=1024M"
    counted = state.kind("complex")["h_vmem"]
    assert (counted["consumable"], counted["default"]) == ("YES", "16M"), "a slot has its share"


@pytest.mark.statement("CX-5")
def test_where_memory_is_counted_that_of_a_new_host_is_too(admin: Administrator) -> None:
    assert admin("add", "h1", "--memory", "2G")[0] == 0
    _, output = admin("add", "h9", "--slots", 3)
    assert "h9 has not reported its memory yet; when it runs: gridengine host add h9 --queue all.q --slots 3\n" in output
    load = {**LOAD, "num_proc": "64", "mem_total": "1024.000000M"}
    admin.cell.report("h9", Load(admin.cell.now, load, full=True, incarnation="boot1"))
    assert "has not reported" not in admin("add", "h9", "--queue", "all.q", "--slots", 3)[1]
    hosts = admin.cell.state.kind("exec_host")
    assert (hosts["h1"]["complex_values"], hosts["h9"]["complex_values"]) == ("h_vmem=2G", "h_vmem=1024M")
    assert "has all of that already" in admin("add", "h1", "--group", "@allhosts", "--slots", 4)[1], "what it has stays"
    assert admin("add", "h9", "--memory", "1X")[0] == 1


@pytest.mark.statement("CX-5")
def test_gpus_are_a_consumable_that_comes_with_the_first_host_that_has_some(admin: Administrator) -> None:
    assert "gpu" not in admin.cell.state.complexes
    assert admin("add", "h1", "--gpus", 4)[0] == 0
    assert admin.cell.state.kind("exec_host")["h1"]["complex_values"] == "gpu=4"
    assert admin.cell.state.complexes["gpu"].is_consumable
    job = admin.cell.submit(hard=["gpu=3"])
    admin.cell.cycle()
    [start] = admin.cell.starts
    assert admin.cell.placed(job) == [("all.q@h1", 1)] and start.gpus == 3
    waits = admin.cell.submit(hard=["gpu=2", "h=h1"])
    admin.cell.cycle()
    assert not admin.cell.state.jobs[waits].tasks


def test_gpus_of_a_cell_that_names_them_are_numbers_from_0_on(admin: Administrator) -> None:
    admin.cell.add("complex", "gpu", shortcut="gpu", type="RSMAP", relop="<=", consumable="JOB")
    assert admin("add", "h1", "--gpus", 2)[0] == 0
    job = admin.cell.submit(hard=["gpu=2"])
    admin.cell.cycle()
    assert admin.cell.placed(job) == [("all.q@h1", 1)] and admin.cell.starts[-1].units == {"gpu": ["0", "1"]}


def test_gpus_are_refused_where_the_name_means_something_else(admin: Administrator) -> None:
    admin.cell.add("complex", "gpu_free", shortcut="gpu", type="INT", relop="<=")
    status, output = admin("add", "h1", "--gpus", 4)
    assert status == 1 and 'the complex "gpu"' in output


def test_adding_again_changes_nothing_and_leaves_the_keys(admin: Administrator, plan: CellPlan) -> None:
    admin("add", "h9")
    key = (plan.files.secrets / "h9" / "gdi_key").read_text()
    status, output = admin("add", "h9")
    assert status == 0 and "has all of that already" in output
    assert (plan.files.secrets / "h9" / "gdi_key").read_text() == key
    assert admin("keys", "h9")[0] == 0
    assert (plan.files.secrets / "h9" / "gdi_key").read_text() != key


def test_removing_shows_all_that_there_is_and_asks(admin: Administrator, plan: CellPlan) -> None:
    admin("add", "h9", "--slots", 2)
    admin.cell.add("resource_quota", "rq", limit="hosts {h9,h1} to slots=9")
    status, output = admin("remove", "h9")
    assert status == 1 and "nothing was changed (--yes removes it)" in output
    for line in (
        "admin host", "submit host", "exec host", 'host group "@allhosts": hostlist', 'cluster queue "all.q": slots',
        'resource quota set "rq": limit', "keys of its own", "no job runs there",
    ):
        assert f"    {line}\n" in output
    assert admin.cell.state.has("exec_host", "h9") and "h9" in have_keys(plan)
    status, output = admin("remove", "h9", "--yes")
    state = admin.cell.state
    assert status == 0, output
    assert not any(state.has(kind, "h9") for kind in ("admin_host", "submit_host", "exec_host"))
    assert "all.q@h9" not in state.instances and state.kind("cluster_queue")["all.q"]["slots"] == "4"
    assert have_keys(plan) == ["h1"] and 'resource quota set "rq" still names h9' in output


def test_a_host_where_jobs_run_is_not_removed(admin: Administrator) -> None:
    job = admin.cell.submit(hard_queues=["all.q@h1"])
    admin.cell.cycle()
    status, output = admin("remove", "h1", "h2", "--yes")
    assert status == 1 and f"    runs there: {job} of alice\n" in output
    assert "gridengine host drain h1 --reason TEXT" in output and admin.cell.state.has("exec_host", "h2")
    status, output = admin("remove", "h7", "--yes")
    assert (status, output) == (1, 'gridengine: host "h7" is not known in this cell\n')


def test_draining_and_resuming(admin: Administrator) -> None:
    assert admin("drain", "h1")[0] == 1
    status, output = admin("drain", "h1", "@allhosts", "--reason", "new disk")
    assert status == 0 and 'drained host "h2"' in output
    assert admin.cell.state.hosts["h1"].drained.reason == "new disk"
    assert admin("resume", "h1", "h2")[0] == 0
    assert admin.cell.state.hosts["h2"].drained is None
