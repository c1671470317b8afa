"""Makes a trace: `python -m bench.traces JOBS --seed 1 --format swf|accounting > trace.swf`.

Users have habits: a project, a usual width and run time, campaigns of similar jobs, and an estimate that is too long. Most jobs
come by day on working days. Some fail early. The same seed makes the same trace. For `gridengine simulate`.
"""

from __future__ import annotations

import argparse
import math
import random
import sys
from collections.abc import Iterator
from dataclasses import dataclass

BEGIN = 1_767_571_200
"""Monday, 5 January 2026, 0:00 UTC."""
DAY_S, HOUR_S = 86_400, 3600
ESTIMATES_S = (600, 1800, 3600, 2 * HOUR_S, 4 * HOUR_S, 8 * HOUR_S, 12 * HOUR_S, DAY_S, 2 * DAY_S)
WIDTHS = (1, 1, 1, 1, 2, 4, 8, 16, 32)
FAILING = 0.08
AT_NIGHT, ON_WEEKENDS = 0.2, 0.3


@dataclass(frozen=True)
class Habit:
    """A user: `mean_s`: the typical run time; `caution`: how many times longer the estimates are; `activity`: part of all
    campaigns; `campaign`: typical number of jobs in one."""

    user: int
    project: int
    width: int
    mean_s: float
    caution: float
    activity: float
    campaign: int


@dataclass(frozen=True)
class Job:
    """`submit_s`: after BEGIN; `estimate_s`: the limit that its user asks for."""

    number: int
    submit_s: int
    run_s: int
    estimate_s: int
    width: int
    user: int
    project: int
    failed: bool


def habits(dice: random.Random, users: int, projects: int) -> list[Habit]:
    """The users; few are responsible for most campaigns."""
    return [
        Habit(
            user,
            dice.randrange(projects),
            dice.choice(WIDTHS),
            math.exp(dice.gauss(math.log(1200), 1.2)),
            dice.choice((1.5, 3.0, 10.0)),
            1.0 / (1 + user),
            dice.choice((1, 5, 20, 60)),
        )
        for user in range(users)
    ]


def jobs(count: int, seed: int, users: int = 40, projects: int = 4, slots: int = 1024, load: float = 0.85) -> list[Job]:
    """The jobs by their submission, so many per day that they would use `load` of a cell of so many slots."""
    dice = random.Random(seed)
    people = habits(dice, users, projects)
    drawn: list[tuple[float, Habit, int, int, int, bool]] = []
    while len(drawn) < count:
        (habit,) = dice.choices(people, [each.activity for each in people])
        begin, apart = _moment(dice), dice.choice((0.0, 1.0, 30.0))
        for number in range(min(count - len(drawn), 1 + int(dice.expovariate(1 / habit.campaign)))):
            drawn.append((begin + number * apart / DAY_S, habit, *_shape(dice, habit)))
    work = sum(run_s * width for _, _, run_s, _, width, _ in drawn)
    days = work / (slots * load * DAY_S)
    # moments are in weeks of the trace; the whole number of weeks nearest to the work keeps days and nights
    weeks = max(1, round(days / 7))
    placed = sorted(
        (int((dice.randrange(weeks) * 7 + moment) * DAY_S), habit.user, at) for at, (moment, habit, *_) in enumerate(drawn)
    )
    made = []
    for number, (submit_s, user, at) in enumerate(placed, 1):
        _, habit, run_s, estimate_s, width, failed = drawn[at]
        made.append(Job(number, submit_s, run_s, estimate_s, width, user, habit.project, failed))
    return made


def _moment(dice: random.Random) -> float:
    """A moment in a week, in days: by day on working days more often."""
    while True:
        moment = dice.random() * 7
        hour, weekend = moment % 1 * 24, moment >= 5
        likely = (1.0 if 9 <= hour < 18 else AT_NIGHT) * (ON_WEEKENDS if weekend else 1.0)
        if dice.random() < likely:
            return moment


def _shape(dice: random.Random, habit: Habit) -> tuple[int, int, int, bool]:
    """Run time, estimate, width, and whether the job fails."""
    typical_s = min(float(ESTIMATES_S[-1]), habit.mean_s * math.exp(dice.gauss(0, 0.5)))
    estimate = next((each for each in ESTIMATES_S if each >= typical_s * habit.caution), ESTIMATES_S[-1])
    failed = dice.random() < FAILING
    run_s = max(1, int(typical_s * dice.random() * 0.2 if failed else typical_s))
    return min(run_s, estimate), estimate, habit.width, failed


def swf_lines(made: list[Job]) -> Iterator[str]:
    """Lines of the Standard Workload Format."""
    yield f"; UnixStartTime: {BEGIN}"
    for job in made:
        status = 0 if job.failed else 1
        yield (
            f"{job.number} {job.submit_s} -1 {job.run_s} {job.width} -1 -1 {job.width} {job.estimate_s} -1 "
            f"{status} {job.user} {job.project} -1 -1 -1 -1 -1"
        )


def accounting_lines(made: list[Job]) -> Iterator[str]:
    """Lines of accounting(5): of a cell in which each job began at once."""
    for job in made:
        begin = BEGIN + job.submit_s
        pe = f"-pe smp {job.width}" if job.width > 1 else ""
        category = f"-l h_rt={job.estimate_s} {pe}".strip()
        name, slots, cpu = f"user{job.user}", job.width, job.run_s * job.width
        yield (
            f"all.q:h1:users:{name}:job:{job.number}:sge:0:{begin}:{begin}:{begin + job.run_s}:0:{int(job.failed)}:{job.run_s}"
            f"{':0' * 17}:{'NONE'}:defaultdepartment:{'smp' if slots > 1 else 'NONE'}:{slots}:0:{cpu}:0:0:{category}:0:NONE:0:0:0"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("jobs", type=int)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--format", choices=("swf", "accounting"), default="swf")
    parser.add_argument("--users", type=int, default=40)
    parser.add_argument("--projects", type=int, default=4)
    parser.add_argument("--slots", type=int, default=1024, help="of the cell for which the trace is made")
    parser.add_argument("--load", type=float, default=0.85, help="part of these slots that the jobs use")
    given = parser.parse_args()
    made = jobs(given.jobs, given.seed, given.users, given.projects, given.slots, given.load)
    lines = swf_lines(made) if given.format == "swf" else accounting_lines(made)
    sys.stdout.writelines(f"{line}\n" for line in lines)


if __name__ == "__main__":
    main()
