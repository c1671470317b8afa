"""Arrays of a million tasks: submission, holds, deletion and dependencies with odd strides keep them compact."""

import pytest

from gridengine.state.state_codes import held_tasks
from gridengine.values.ranges import Ranges
from tests.harness import Cell

MILLION = 1_000_000


@pytest.fixture
def array(cell: Cell) -> int:
    cell.configure("configuration", "global", max_aj_tasks="0")
    return cell.submit(tasks=f"1-{MILLION}")


@pytest.mark.statement("AJ-6", "SO-46")
def test_every_third_task_is_deleted_and_stays_so_after_a_restart(cell: Cell, array: int) -> None:
    answer = cell.ask("delete_jobs", targets=[f"{array}"], tasks=f"1-{MILLION}:3")
    assert answer.status == 0 and f"tasks 1-{MILLION}:3 of job {array}" in answer.answers[0][1]
    assert cell.ask("delete_jobs", targets=[f"{array}.5-{MILLION}:5"]).answers[0][1].startswith("alice has deleted")
    left = cell.state.jobs[array].pending
    expected = MILLION - len(set(range(1, MILLION + 1, 3)) | set(range(5, MILLION + 1, 5)))
    assert len(left) == expected and 2 in left and 4 not in left and 5 not in left
    assert len(left.dump()) < 200_000
    cell.restart()
    assert cell.state.jobs[array].pending == left
    assert cell.ask("delete_jobs", targets=[str(array)]).status == 0 and array not in cell.state.jobs


@pytest.mark.statement("AJ-6", "SO-49")
def test_holds_of_odd_tasks_come_and_go(cell: Cell, array: int) -> None:
    assert cell.ask("hold_jobs", targets=[f"{array}.1-{MILLION}:3"], holds="u").status == 0
    assert cell.ask("hold_jobs", targets=[f"{array}.1-{MILLION}:2"], holds="u").status == 0
    held = cell.state.jobs[array].holds[1]
    assert len(held) == len(set(range(1, MILLION + 1, 3)) | set(range(1, MILLION + 1, 2)))
    cell.cycle()
    assert sorted(start.key[1] for start in cell.starts)[:3] == [2, 6, 8]
    assert cell.ask("hold_jobs", targets=[f"{array}.1-{MILLION}:3"], holds="u", release=True).status == 0
    assert cell.state.jobs[array].holds[1] == Ranges.parse(f"1-{MILLION}:2") - Ranges.parse(f"1-{MILLION}:3")


@pytest.mark.statement("DP-4")
def test_arrays_of_different_steps_wait_for_each_other_by_task(cell: Cell, array: int) -> None:
    cell.ask("delete_jobs", targets=[f"{array}.1-{MILLION}:3"])
    coarse = cell.submit(tasks=f"1-{MILLION}:6", hold_jid_ad=[str(array)])
    fine = cell.submit(tasks=f"1-{MILLION}", hold_jid_ad=[str(coarse)])
    jobs = cell.state.jobs
    assert held_tasks(cell.state, jobs[coarse], jobs[coarse].pending) == jobs[coarse].array
    cell.ask("delete_jobs", targets=[f"{array}.1-{MILLION - 50}"])
    held = held_tasks(cell.state, jobs[coarse], jobs[coarse].pending)
    assert held.first == 999_949 and held.last == 999_997
    cell.ask("delete_jobs", targets=[f"{coarse}.1-{MILLION}:12"])
    held = held_tasks(cell.state, jobs[fine], jobs[fine].pending)
    assert list(held.take(8)) == [7, 8, 9, 10, 11, 12, 19, 20]
