"""Tasks on a host that the qmaster does not know stay, and no other task replaces them."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import msgspec
import pytest

from daemons.execd.attempt_log import AttemptLog
from daemons.execd.cgroups import HostCgroups
from daemons.execd.resource_assignment import ResourceAssigner
from daemons.execd.site import HostSite, prepare_spool
from daemons.execd.task_record import TaskRecord
from daemons.execd.tasks import Tasks
from gridengine.protocols.delivery import Ended, Origin, Report
from gridengine.values.task_key import TaskKey
from gridengine.values.topology import Topology
from tests.unit.execd.instructions import configuration, start


@pytest.fixture
def site(tmp_path: Path) -> HostSite:
    made = HostSite("g1", "/opt/ge", "default", tmp_path / "spool")
    prepare_spool(made.spool)
    return made


def on_disk(site: HostSite, job_id: int, **end: object) -> None:
    """The directory of a task of alice, with the files of its shepherd if it has ended."""
    directory = site.active_jobs / f"{job_id}.1"
    directory.mkdir()
    (directory / "execd").write_bytes(msgspec.json.encode(TaskRecord((job_id, 1, 1), origin=Origin("alice", 5.0))))
    if end:
        (directory / "exit").write_text(json.dumps(end))


def tasks_of(site: HostSite, reports: list[Report]) -> Tasks:
    assigner = ResourceAssigner(Topology.of([(0, 0, 0)]), {0}, lambda pid: HostCgroups())
    tasks = Tasks(site, AttemptLog(site.spool / "tries", 1), lambda *new: reports.extend(new), assigner, lambda: None)
    tasks.configuration = configuration()
    return tasks


@pytest.mark.statement("EX-9")
def test_the_end_of_an_orphan_is_reported_again_with_each_inventory(site: HostSite) -> None:
    """The master that comes next may know it."""
    on_disk(site, 12, exit_status=3, failed=0)
    on_disk(site, 13)
    reports: list[Report] = []
    tasks = tasks_of(site, reports)
    tasks.find_ends()
    reported = [Ended((12, 1, 1), exit_status=3)]
    assert reports == reported
    inventory = tasks.inventory("boot1")
    assert (inventory.keys, inventory.origins) == ([(12, 1, 1), (13, 1, 1)], [Origin("alice", 5.0)] * 2)
    assert reports == reported, "it is on its way already"
    tasks.keep_orphans([(12, 1, 1), (13, 1, 1)])
    tasks.inventory("boot1")
    assert reports == reported * 2
    assert set(tasks.directories) == {(12, 1, 1), (13, 1, 1)}


def test_an_orphan_is_not_replaced_by_a_task_of_its_number(site: HostSite, monkeypatch: pytest.MonkeyPatch) -> None:
    """The start of another attempt is not acknowledged for it, and it is not killed as an earlier attempt of that."""
    on_disk(site, 12)
    tasks = tasks_of(site, [])
    tasks.keep_orphans([(12, 1, 1)])

    async def reported(*_arguments: object) -> bool:
        raise AssertionError("the launcher is not asked")

    monkeypatch.setattr(tasks.launcher, "signal", reported)
    monkeypatch.setattr(tasks.launcher, "start", reported)
    for attempt in (1, 2):
        answer = asyncio.run(tasks.start(msgspec.structs.replace(start(), key=TaskKey(12, 1, attempt)), (1, 1)))
        assert not answer.ok and "which the cell does not know" in answer.reason
    assert set(tasks.directories) == {(12, 1, 1)}
