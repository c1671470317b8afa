"""A program drives a cell: its requests are carried out, and each fault between the two is retried or named."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gridengine.api import AsyncCell, Cell, RequestDenied, Unreachable
from tests.integration.cells import BIN, COMMAND_S, DemoCell, kill_daemon


@pytest.fixture
def cell(demo_cell: DemoCell) -> Iterator[Cell]:
    with Cell(str(demo_cell.place), "test") as cell:
        yield cell


def gated(cell: Cell, gate: Path, **fields: Any) -> int:
    """A job that ends with status 5 once the file is there."""
    script = f"#!/bin/sh\nwhile [ ! -e {gate} ]; do sleep 0.05; done\nexit 5\n"
    return cell.submit(script=script, stdout="/dev/null", merge=True, **fields).id


@pytest.mark.statement("DM-5")
def test_jobs_are_submitted_changed_and_waited_for(cell: Cell, demo_cell: DemoCell, tmp_path: Path) -> None:
    script = "#!/bin/sh\n#$ -t 1-3\nexit $SGE_TASK_ID\n"
    array = cell.submit(script=script, name="ends", cwd=demo_cell.work, merge=True)
    assert (array.name, array.tasks) == ("ends", "1-3:1")
    assert [(end.task_id, end.exit_status, end.ok) for end in cell.wait(array.id)] == [(n, n, False) for n in (1, 2, 3)]
    held = cell.submit("/bin/true", binary=True, holds="u", stdout="/dev/null", merge=True).id
    assert [(job.id, job.state) for job in cell.jobs() if job.id == held] == [(held, "hqw")]
    cell.alter(held, priority=-7, comment="later")
    assert cell.job(held)["comment"] == "later"
    cell.release(held)
    (end,) = cell.wait(held)
    assert end.ok and [(record["job_number"], record["exit_status"]) for record in cell.accounting(held)] == [(str(held), "0")]
    with pytest.raises(LookupError, match=f"there is no job {held}"):
        cell.job(held)
    with pytest.raises(RequestDenied, match='unknown queue "nosuch.q"') as refusal:
        cell.submit("/bin/true", binary=True, queue="nosuch.q")
    assert refusal.value.status == 1
    gate = tmp_path / "gate"
    job = gated(cell, gate)
    with pytest.raises(TimeoutError, match=f"job {job} has not ended in time"):
        cell.wait(job, timeout=0.2)
    cell.delete(job)
    (end,) = cell.wait(job)
    assert end.deleted or end.failed


@pytest.mark.statement("DM-5")
def test_the_cell_is_listed_reserved_and_configured(cell: Cell) -> None:
    assert [queue["name"] for queue in cell.queues()] == ["all.q"]
    assert [instance["name"] for instance in cell.instances()] == ["all.q@node1"]
    assert [host["name"] for host in cell.hosts()] == ["global", "node1"]
    cell.disable("all.q")
    assert "d" in cell.instances("all.q@node1")[0]["states"]
    cell.enable("all.q")
    reservation = cell.reserve(start_time=time.time() + 3600, duration=60)
    assert reservation in [row["id"] for row in cell.reservations()]
    cell.delete_reservation(reservation)
    attributes = {"name": "of_python", "oticket": "0", "fshare": "0", "acl": "NONE", "xacl": "NONE"}
    cell.configure("project", "of_python", None, attributes)
    before = cell.show("project", "of_python")
    cell.configure("project", "of_python", before, {**before, "fshare": "7"})
    assert cell.show("project", "of_python")["fshare"] == "7"
    with pytest.raises(RequestDenied, match="has been changed since"):
        cell.configure("project", "of_python", before, {**before, "fshare": "8"})
    cell.configure("project", "of_python", cell.show("project", "of_python"), None)
    assert "of_python" not in cell.names("project")
    assert cell.request("config_list", {"kind": "manager"}, changes=False)


@pytest.mark.statement("DM-5")
def test_tasks_of_an_event_loop_share_a_cell(demo_cell: DemoCell) -> None:
    async def play() -> None:
        async with AsyncCell(str(demo_cell.place), "test") as cell:
            events = cell.events("JOB")
            assert (await anext(events)).action == "LIST"
            submitting = [cell.submit("/bin/true", binary=True, stdout="/dev/null", merge=True) for _ in range(5)]
            jobs = {job.id for job in await asyncio.gather(*submitting)}
            ends = await asyncio.gather(*(cell.wait(job) for job in jobs))
            assert all(end.ok for (end,) in ends)
            added: set[int] = set()
            async for event in events:
                added |= {event.data["job_id"]} if event.action == "ADD" else set()
                if jobs <= added:
                    break
            await events.aclose()
            held = await cell.submit("/bin/true", binary=True, holds="u")
            with pytest.raises(TimeoutError, match="has not ended in time"):
                await cell.wait(held.id, timeout=0.1)
            await cell.delete(held.id)

    asyncio.run(play())


@pytest.mark.statement("DM-5")
def test_a_wait_survives_a_qmaster_that_dies(demo_cell: DemoCell, tmp_path: Path) -> None:
    """The wait, the kept connection and the stream of events all go on with the next qmaster."""
    gate = tmp_path / "gate"
    with Cell(str(demo_cell.place), "test", patience=300) as cell:
        job = gated(cell, gate)
        events = cell.events("JOB")
        assert next(events).action == "LIST"
        ends: list[Any] = []
        waiting = threading.Thread(target=lambda: ends.extend(cell.wait(job)))
        waiting.start()
        kill_daemon(next(demo_cell.place.glob("spool/**/qmaster.pid")))
        starting = threading.Thread(target=demo_cell.must, args=("gridengine", "start", "--host-name", demo_cell.host))
        starting.start()
        assert next(events).action == "LIST"
        other = cell.submit("/bin/true", binary=True, stdout="/dev/null", merge=True).id
        gate.touch()
        waiting.join(COMMAND_S)
        assert [(end.job_id, end.exit_status) for end in ends] == [(job, 5)]
        assert [end.ok for end in cell.wait(other)] == [True]
        starting.join(COMMAND_S)


@pytest.mark.statement("DM-5")
def test_a_child_and_threads_go_on_with_a_cell(cell: Cell) -> None:
    cell.jobs()
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(writer, str(cell.submit("/bin/true", binary=True, holds="u").id).encode())
        finally:
            os._exit(0)
    os.close(writer)
    assert os.waitpid(child, 0)[1] == 0
    with os.fdopen(reader) as output:
        of_child = int(output.read())
    jobs: list[int] = []
    submitting = [
        threading.Thread(target=lambda: jobs.append(cell.submit("/bin/true", binary=True, holds="u").id)) for _ in range(8)
    ]
    for thread in submitting:
        thread.start()
    for thread in submitting:
        thread.join(60)
    listed = {job.id for job in cell.jobs()}
    assert {of_child, *jobs} <= listed and len(set(jobs)) == 8
    cell.delete([of_child, *jobs])


def test_two_cells_of_a_program_are_two_connections(cell: Cell, demo_cell: DemoCell) -> None:
    with Cell(str(demo_cell.place), "test") as other:
        other.jobs()
        cell.jobs()
    other.jobs()  # a closed one makes another connection
    other.close()


@pytest.mark.parametrize(
    ("root", "text"), [("", "SGE_ROOT is not set"), ("/nosuch", "no cell there: cannot read /nosuch/test/common/bootstrap")]
)
def test_a_missing_cell_is_reported_at_once(root: str, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SGE_ROOT", raising=False)
    with pytest.raises(Unreachable, match=text):
        Cell(root, "test")


def test_sockets_that_are_not_there_are_not_waited_for(tmp_path: Path) -> None:
    common = tmp_path / "test" / "common"
    common.mkdir(parents=True)
    (common / "bootstrap").write_text(f"run_dir {tmp_path}\n")
    (common / "act_qmaster").write_text("node0\n")
    with pytest.raises(Unreachable, match='unable to contact the qmaster on host "node0"'):
        Cell(str(tmp_path), "test", patience=3600).jobs()


HEAVY = "asyncio msgspec pydantic ray typer aiohttp lark json http ssl cloudpickle subprocess dataclasses inspect".split()


@pytest.mark.parametrize("names", ["Cell", "Cell, GridError, JobEnd, TaskFailed"])
def test_a_program_that_uses_a_cell_loads_little(names: str) -> None:
    code = f"from gridengine.api import {names}; import sys; print(*sorted(set({HEAVY!r}) & set(sys.modules)))"
    library = str(BIN.parents[1])
    command = [sys.executable, "-IS", "-c", f"import sys; sys.path.append({library!r}); {code}"]
    outcome = subprocess.run(command, capture_output=True, text=True)
    assert (outcome.stdout, outcome.stderr) == ("\n", "")
