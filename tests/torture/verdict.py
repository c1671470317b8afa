"""What must hold of all that happened. Each rule reads the evidence and yields its breaches, one line each.

Owns the rules, and nothing of how evidence comes about. Pure. Called by `play`; `tests/unit/torture` plants a breach of each.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator

from tests.torture.evidence import Evidence, Try
from tests.torture.journal import Said
from tests.torture.load import LICENCES, SLOTS
from tests.torture.plan import MASTER

LATE_S = 10.0
"""So long after its deletion a task may still begin that was on its way to its host."""
_TICK_S = 0.02
"""Two notes of jobs, in hundredths of a second, may be off by this."""


def breaches(evidence: Evidence) -> list[str]:
    """All breaches of all rules, each with the name of its rule."""
    return [f"{rule.__name__}: {text}" for rule in RULES for text in rule(evidence)]


def lost(e: Evidence) -> Iterator[str]:
    """What was acknowledged has run or was deleted, by a user or with its reservation."""
    tries, records = e.tries_of(), e.records_of()
    deleted = {each.job for each in e.said if each.what == "delete"}
    deleted |= {each.job for each in _submissions(e) if each.more["kind"] == "reserved"}
    for said in _submissions(e):
        for task in range(1, said.more["tasks"] + 1):
            key = said.job, task
            if key not in records and (key in tries or said.job not in deleted):
                yield f"task {key} has no record, {'but began' if key in tries else 'and never began'}"


def invented(e: Evidence) -> Iterator[str]:
    """Jobs that nobody knows of are at most as many as commands that had no answer."""
    known = {each.job for each in _submissions(e)}
    sessions = {each.more["name"] for each in e.said if each.what == "session"}
    strange = {each.job for each in e.tries if each.name not in sessions} | {each.job for each in e.records} - known
    strange -= known | {each.job for each in e.tries if each.name in sessions}
    doubtful = sum(not each.sure for each in e.said if each.what in ("submit", "session"))
    if len(strange) > doubtful:
        yield f"{len(strange)} jobs beside {doubtful} commands without an answer: {sorted(strange)}"


def once(e: Evidence) -> Iterator[str]:
    """A task succeeds once, one that is not rerunnable is tried once, and each try has its record."""
    records = e.records_of()
    for key, tries in e.tries_of().items():
        of_task = records.get(key, [])
        if len(tries) > max(1, len(of_task)):
            yield f"task {key} was tried {len(tries)} times and has {len(of_task)} records"
    rerun = {each.job: each.more["rerun"] for each in _submissions(e)}
    for key, tries in e.tries_of().items():
        if len(tries) > 1 and rerun.get(key[0]) == "n":
            yield f"task {key} is not rerunnable and was tried {len(tries)} times"
    for key, of_task in records.items():
        if sum(not each.failed for each in of_task) > 1:
            yield f"task {key} has succeeded more than once"


def agreement(e: Evidence) -> Iterator[str]:
    """A task that succeeded says the same of itself: it came to its end on that host."""
    tries = e.tries_of()
    for key, records in e.records_of().items():
        last, seen = records[-1], tries.get(key, [])
        if last.failed == 0 and last.exit_status == 0 and not any(each.end for each in seen if each.process[0] == last.host):
            yield f"task {key} has succeeded on {last.host} and did not come to its end there"
        if last.failed == 0 and last.exit_status != 0:
            yield f"task {key} ended with status {last.exit_status}"


def explained(e: Evidence) -> Iterator[str]:
    """A task fails only where something was broken, or when it was deleted or its reservation was over."""
    excused = {each.job for each in e.said if each.what == "delete"}
    excused |= {each.job for each in _submissions(e) if each.more["kind"] == "reserved"}
    for key, records in e.records_of().items():
        last = records[-1]
        if last.failed and key[0] not in excused and not any(each.host in (last.host, MASTER) for each in e.broken):
            yield f"task {key} has failed with {last.failed} on {last.host}, where nothing was broken"


def overlap(e: Evidence) -> Iterator[str]:
    """Of two tries of a task the second begins after the first is over."""
    for key, tries in e.tries_of().items():
        for first, second in zip(tries, tries[1:], strict=False):
            if first.end is not None and first.end > second.begin + _TICK_S:
                yield f"task {key} ran on {first.process} until {first.end} and on {second.process} from {second.begin}"


def dependencies(e: Evidence) -> Iterator[str]:
    """A job begins after those that it waits for."""
    of_job: dict[int, list[Try]] = defaultdict(list)
    for each in e.tries:
        of_job[each.job].append(each)
    for said in _submissions(e):
        for before in of_job[said.more.get("after", 0)]:
            for after in of_job[said.job]:
                if max(before.begin, before.end or 0) > after.begin + _TICK_S:
                    yield f"job {said.job} began at {after.begin}, before {said.more['after']} was over"


def licences(e: Evidence) -> Iterator[str]:
    """No more of the consumable is in use than there is."""
    most = _most((each, each.licences) for each in e.tries)
    if most > LICENCES:
        yield f"{most} of {LICENCES} licences were in use at once"


def slots(e: Evidence) -> Iterator[str]:
    """No host has more jobs than slots."""
    for host in sorted({host for each in e.tries for host in each.slots}):
        most = _most((each, each.slots[host]) for each in e.tries if host in each.slots)
        if most > SLOTS:
            yield f"{most} of {SLOTS} slots of {host} were in use at once"


def windows(e: Evidence) -> Iterator[str]:
    """Jobs of a reservation begin while it lasts."""
    made = {each.more["reservation"]: each for each in e.said if each.what == "reserve" and each.sure}
    tries = e.tries_of()
    for said in _submissions(e):
        number = said.more.get("reservation", 0)
        for each in tries.get((said.job, 1), []) if number in made else []:
            if not made[number].asked <= each.begin <= made[number].answered + made[number].more["lasts"] + 1:
                yield f"job {said.job} began at {each.begin}, outside of reservation {number}"


def holds(e: Evidence) -> Iterator[str]:
    """A held job begins after somebody has released it."""
    released: dict[int, float] = {}
    for said in e.said:
        if said.what == "release":
            released[said.job] = min(said.asked, released.get(said.job, said.asked))
    held = {each.job for each in _submissions(e) if each.more["kind"] == "held"}
    for each in e.tries:
        if each.job in held and each.begin < released.get(each.job, float("inf")) - _TICK_S:
            yield f"job {each.job} was held and began at {each.begin}"


def deletions(e: Evidence) -> Iterator[str]:
    """What was deleted does not begin afterwards, unless it was on its way to a host that could not be told."""
    for said in e.said:
        if said.what != "delete" or not said.sure:
            continue
        for each in e.tries:
            late = each.job == said.job and each.begin > said.answered + LATE_S
            if late and not any(b.begin < each.begin and b.end > said.answered - LATE_S for b in e.broken):
                yield f"job {said.job} was deleted at {said.answered} and began at {each.begin}"


def alterations(e: Evidence) -> Iterator[str]:
    """A job bears the account that was given to it last before it began."""
    began: dict[int, float] = {}
    for each in e.tries:
        began[each.job] = min(each.begin, began.get(each.job, each.begin))
    accounts = {each.job: each.account for each in e.records}
    for job, account in accounts.items():
        allowed = {"sge"}
        for said in (each for each in e.said if each.what == "alter" and each.job == job):
            if said.sure and said.answered < began.get(job, float("inf")):
                allowed = set()
            allowed.add(said.more["account"])
        if account not in allowed:
            yield f"job {job} bears the account {account}, not one of {sorted(allowed)}"


def configuration(e: Evidence) -> Iterator[str]:
    """The queue is as it was changed last."""
    allowed: dict[str, set[str]] = defaultdict(set)
    for said in e.said:
        if said.what == "configure":
            if said.sure:
                allowed[said.more["attribute"]].clear()
            allowed[said.more["attribute"]].add(said.more["value"])
    for attribute, values in allowed.items():
        if e.queue[attribute] not in values:
            yield f"{attribute} is {e.queue[attribute]}, not one of {sorted(values)}"


def sessions(e: Evidence) -> Iterator[str]:
    """A session runs its command once, and wholly if it said so."""
    tries = Counter(each.name for each in e.tries)
    ended = {each.name for each in e.tries if each.end is not None}
    for said in e.said:
        if said.what == "session":
            name = said.more["name"]
            if tries[name] > 1 or (said.sure and name not in ended):
                yield f"session {name} began {tries[name]} times{'' if name in ended else ' and did not end'}"


def slave_tasks(e: Evidence) -> Iterator[str]:
    """Slave tasks begin while their job runs."""
    begins: dict[int, float] = {}
    for each in e.tries:
        begins[each.job] = min(each.begin, begins.get(each.job, each.begin))
    for slave in e.slaves:
        if slave.begin < begins.get(slave.job, float("inf")) - _TICK_S:
            yield f"a slave task of {slave.job} began on {slave.host} at {slave.begin}, before its job"


def tracebacks(e: Evidence) -> Iterator[str]:
    """No command shows one."""
    for said in e.said:
        if said.what == "traceback":
            yield f"{said.user}: {said.more['said'][-300:]}"


def left_over(e: Evidence) -> Iterator[str]:
    """Nothing is left of what has ended."""
    yield from e.left


RULES: tuple[Callable[[Evidence], Iterator[str]], ...] = (
    lost, invented, once, agreement, explained, overlap, dependencies, licences, slots, windows, holds, deletions,
    alterations, configuration, sessions, slave_tasks, tracebacks, left_over,
)


def _submissions(e: Evidence) -> list[Said]:
    return [each for each in e.said if each.what == "submit" and each.sure]


def _most(uses: Iterator[tuple[Try, int]]) -> int:
    """The largest sum at any time; a try that was ended from outside counts at its begin alone."""
    changes = []
    for each, amount in uses:
        end = each.begin if each.end is None else max(each.begin, each.end - _TICK_S)
        changes += [(each.begin, 1, amount), (end, 0 if end > each.begin else 2, -amount)]
    most = total = 0
    for _, _, amount in sorted(changes):
        total += amount
        most = max(most, total)
    return most
