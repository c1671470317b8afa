"""Rows of jobs that are rebuilt one by one equal the list of qstat, in its order, after any change."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable

import pytest

from daemons.qmaster.decision import Decision
from daemons.qmaster.master import DAEMON
from daemons.qmaster.queries.jobs import jobs
from daemons.qmaster.queries.selection import Listing
from daemons.web.job_rows import GROUPS, JobFilter, JobRows
from gridengine.job_rows import ID, STATE_CODES, TASKS
from gridengine.protocols.gdi.requests import Caller
from gridengine.state.machines.job import PrioritiesSet
from tests.harness import Cell
from tests.unit.web.followed import Followed

ANY_USER = Caller("", -1, "", -1, "")


def listed(followed: Followed) -> list[tuple[int, str, str]]:
    """The list of qstat: job, tasks, state codes."""
    body = {"users": ["*"], "states": ["p", "r", "s", "z"]}
    phases = jobs(Listing(followed.mirror.state), body, ANY_USER, followed.cell.now)
    rows = [row for phase in ("running", "inconsistent", "pending", "finished") for row in phases[phase]]
    return [(row[ID], str(row[TASKS]), row[STATE_CODES]) for row in rows]


def shown(rows: JobRows) -> list[tuple[int, str, str]]:
    return [(row.id, row.tasks, row.state) for row in rows.all]


def _some_job(cell: Cell, chance: random.Random) -> str:
    return str(chance.choice([*cell.state.jobs, 1]))


def _submit(cell: Cell, chance: random.Random) -> None:
    after = [_some_job(cell, chance)] if cell.state.jobs and chance.random() < 0.4 else []
    cell.submit(
        chance.choice(["alice", "bob"]),
        tasks=chance.choice(["", "1-5", "2-8:2"]), priority=-chance.randrange(50), hold_jid=after,
        holds=chance.choice(["", "", "u"]), hard=chance.choice([[], [], ["arch=nosuch"]]),
    )


def _end(cell: Cell, chance: random.Random) -> None:
    running = [(job.id, task.id) for job in cell.state.jobs.values() for task in job.tasks.values() if task.status == "running"]
    if running:
        cell.end(*chance.choice(running))


def _act(request: str, **fields: object) -> Callable[[Cell, random.Random], None]:
    def act(cell: Cell, chance: random.Random) -> None:
        cell.admin(request, targets=[_some_job(cell, chance)], **fields)

    return act


def _prioritise(cell: Cell, chance: random.Random) -> None:
    numbers = chance.sample([*cell.state.jobs], min(2, len(cell.state.jobs)))
    event = PrioritiesSet({number: (chance.random(), 0.5, 0.0, 0.0) for number in numbers})
    cell.master.record(Decision(events=[event]), DAEMON)


STEPS: list[Callable[[Cell, random.Random], None]] = [
    _submit, _submit, _submit, _end, _end, _prioritise,
    _act("hold_jobs", holds="u"), _act("hold_jobs", holds="u", release=True), _act("delete_jobs"),
    _act("change_states", action="suspend", what="job"), _act("change_states", action="unsuspend", what="job"),
    _act("alter_jobs", changes={"priority": -7}),
    lambda cell, chance: cell.cycle(),
    lambda cell, chance: cell.cycle(),
    lambda cell, chance: cell.admin(
        "change_states", action=chance.choice(["suspend", "unsuspend"]), what="queue", targets=["all.q@h1"]
    )
    and None,
    lambda cell, chance: cell.configure("cluster_queue", "all.q", slots=str(chance.randrange(1, 5))) and None,
]


@pytest.mark.parametrize("seed", range(4))
def test_rows_follow_one_by_one(followed: Followed, seed: int) -> None:
    chance, cell, rows = random.Random(seed), followed.cell, JobRows(followed.mirror)
    for _ in range(40):
        _submit(cell, chance)
    followed.cell.master.flush()
    followed.take()
    assert shown(rows) == listed(followed)
    seen: Counter[str] = Counter()
    for number in range(150):
        chance.choice(STEPS)(cell, chance)
        cell.master.flush()
        followed.take()
        if chance.random() < 0.7:  # several changes may come between two looks
            assert shown(rows) == listed(followed), f"step {number}"
            seen.update(row.state for row in rows.all)
    assert len(seen) > 4
    for group in GROUPS:
        chosen = rows.select_rows(JobFilter(state=group))
        assert {row.state for row in chosen.rows} <= {row.state for row in rows.all if GROUPS[group](row.state)}
        assert len(chosen.rows) == chosen.counts[group]
        filtered = rows.select_rows(JobFilter(state=group, owner="*"))
        assert (list(filtered.rows), filtered.counts) == (list(chosen.rows), chosen.counts)


def test_a_change_costs_what_it_concerns(followed: Followed, monkeypatch: pytest.MonkeyPatch) -> None:
    made = []
    cell, rows = followed.cell, JobRows(followed.mirror)
    for _ in range(200):
        cell.submit(holds="u")
    followed.take()
    assert len(rows.all) == 200
    real = rows._entries_of_job
    monkeypatch.setattr(rows, "_entries_of_job", lambda listing, number: made.append(number) or real(listing, number))
    cell.admin("hold_jobs", holds="u", release=True, targets=["17"])
    cell.master.flush()
    followed.take()
    assert [row.state for row in rows.of_job(17)] == ["qw"]
    assert made == [17]
