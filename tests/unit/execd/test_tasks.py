"""The tasks of a host while others come and go, with a launcher that answers at once."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from daemons.execd.restraints import Restraints
from daemons.execd.site import Site, prepare_spool
from daemons.execd.tasks import Tasks
from gridengine.topology import Topology


@pytest.mark.statement("QF-34")
def test_a_task_that_ends_while_others_are_told_does_not_stop_the_shutdown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = Site("g1", "/opt/ge", "default", tmp_path / "spool")
    prepare_spool(site.spool)
    for job_id in (1, 2):
        directory = site.active_jobs / f"{job_id}.1"
        directory.mkdir()
        (directory / "config").write_text(json.dumps({"job_id": job_id, "task_id": 1, "attempt": 1}))
    tasks = Tasks(site, lambda *_: None, Restraints("default", Topology.of([(0, 0, 0)]), {0}), lambda: None)
    told = []

    async def signal(directory: str, command: str) -> bool:
        told.append((Path(directory).name, command))
        for key in list(tasks.directories):
            tasks.acknowledged(key)
        return True

    monkeypatch.setattr(tasks.launcher, "signal", signal)
    asyncio.run(tasks.end_all(5))
    assert told == [("1.1", "shutdown")]
    assert not tasks.directories
