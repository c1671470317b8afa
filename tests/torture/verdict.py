"""The rules for the evidence of a run. Each rule reads the evidence and yields its breaches, one line each.

Owns the rules, and nothing of how evidence comes about. Pure. Called by `play`; `tests/unit/torture` plants a breach of each.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator

from tests.torture.evidence import Evidence, Try
from tests.torture.journal import Request
from tests.torture.load import LICENCES, SLOTS
from tests.torture.plan import MASTER

LATE_S = 10.0
"""So long after its deletion a task may still begin that was on its way to its host."""
_TICK_S = 0.02
"""The tolerance between two notes of jobs, which are in hundredths of a second."""


def breaches(evidence: Evidence) -> list[str]:
    """All breaches of all rules, each with the name of its rule."""
    return [f"{rule.__name__}: {text}" for rule in RULES for text in rule(evidence)]


def lost(e: Evidence) -> Iterator[str]:
    """An acknowledged job has run or was deleted, by a user or with its reservation."""
    tries, records = e.tries_of(), e.records_of()
    deleted = {each.job for each in e.requests if each.what == "delete"}
    deleted |= {each.job for each in _submissions(e) if each.more["kind"] == "reserved"}
    for request in _submissions(e):
        for task in range(1, request.more["tasks"] + 1):
            key = request.job, task
            if key not in records and (key in tries or request.job not in deleted):
                yield f"task {key} has no record, {'but began' if key in tries else 'and never began'}"


def invented(e: Evidence) -> Iterator[str]:
    """There are at most as many unknown jobs as commands without an answer."""
    known = {each.job for each in _submissions(e)}
    sessions = {each.more["name"] for each in e.requests if each.what == "session"}
    strange = {each.job for each in e.tries if each.name not in sessions} | {each.job for each in e.records} - known
    strange -= known | {each.job for each in e.tries if each.name in sessions}
    doubtful = sum(not each.sure for each in e.requests if each.what in ("submit", "session"))
    if len(strange) > doubtful:
        yield f"{len(strange)} jobs beside {doubtful} commands without an answer: {sorted(strange)}"


def once(e: Evidence) -> Iterator[str]:
    """A task succeeds once, a task that is not rerunnable has one attempt, and each attempt has its record."""
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
    """The notes of a successful task agree: it came to its end on that host."""
    tries = e.tries_of()
    for key, records in e.records_of().items():
        last, seen = records[-1], tries.get(key, [])
        if last.failed == 0 and last.exit_status == 0 and not any(each.end for each in seen if each.process[0] == last.host):
            yield f"task {key} has succeeded on {last.host} and did not come to its end there"
        if last.failed == 0 and last.exit_status != 0:
            yield f"task {key} ended with status {last.exit_status}"


def explained(e: Evidence) -> Iterator[str]:
    """A task fails only where something was broken, or when it was deleted or its reservation was over."""
    excused = {each.job for each in e.requests if each.what == "delete"}
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
    """A job starts after its predecessors."""
    of_job: dict[int, list[Try]] = defaultdict(list)
    for each in e.tries:
        of_job[each.job].append(each)
    for request in _submissions(e):
        for before in of_job[request.more.get("after", 0)]:
            for after in of_job[request.job]:
                if max(before.begin, before.end or 0) > after.begin + _TICK_S:
                    yield f"job {request.job} began at {after.begin}, before {request.more['after']} was over"


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
    made = {each.more["reservation"]: each for each in e.requests if each.what == "reserve" and each.sure}
    tries = e.tries_of()
    for request in _submissions(e):
        number = request.more.get("reservation", 0)
        for each in tries.get((request.job, 1), []) if number in made else []:
            if not made[number].asked <= each.begin <= made[number].answered + made[number].more["lasts"] + 1:
                yield f"job {request.job} began at {each.begin}, outside of reservation {number}"


def holds(e: Evidence) -> Iterator[str]:
    """A held job starts after a user has released it."""
    released: dict[int, float] = {}
    for request in e.requests:
        if request.what == "release":
            released[request.job] = min(request.asked, released.get(request.job, request.asked))
    held = {each.job for each in _submissions(e) if each.more["kind"] == "held"}
    for each in e.tries:
        if each.job in held and each.begin < released.get(each.job, float("inf")) - _TICK_S:
            yield f"job {each.job} was held and began at {each.begin}"


def deletions(e: Evidence) -> Iterator[str]:
    """A deleted task does not start afterwards, unless its start was on the way to an unreachable host."""
    for request in e.requests:
        if request.what != "delete" or not request.sure:
            continue
        for each in e.tries:
            late = each.job == request.job and each.begin > request.answered + LATE_S
            if late and not any(b.begin < each.begin and b.end > request.answered - LATE_S for b in e.broken):
                yield f"job {request.job} was deleted at {request.answered} and began at {each.begin}"


def alterations(e: Evidence) -> Iterator[str]:
    """A job bears the account that was given to it last before it began."""
    began: dict[int, float] = {}
    for each in e.tries:
        began[each.job] = min(each.begin, began.get(each.job, each.begin))
    accounts = {each.job: each.account for each in e.records}
    for job, account in accounts.items():
        allowed = {"sge"}
        for request in (each for each in e.requests if each.what == "alter" and each.job == job):
            if request.sure and request.answered < began.get(job, float("inf")):
                allowed = set()
            allowed.add(request.more["account"])
        if account not in allowed:
            yield f"job {job} bears the account {account}, not one of {sorted(allowed)}"


def configuration(e: Evidence) -> Iterator[str]:
    """The queue is as it was changed last."""
    allowed: dict[str, set[str]] = defaultdict(set)
    for request in e.requests:
        if request.what == "configure":
            if request.sure:
                allowed[request.more["attribute"]].clear()
            allowed[request.more["attribute"]].add(request.more["value"])
    for attribute, values in allowed.items():
        if e.queue[attribute] not in values:
            yield f"{attribute} is {e.queue[attribute]}, not one of {sorted(values)}"


def sessions(e: Evidence) -> Iterator[str]:
    """A session runs its command once, and completely if it was acknowledged."""
    tries = Counter(each.name for each in e.tries)
    ended = {each.name for each in e.tries if each.end is not None}
    for request in e.requests:
        if request.what == "session":
            name = request.more["name"]
            if tries[name] > 1 or (request.sure and name not in ended):
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
    """No command shows a traceback."""
    for request in e.requests:
        if request.what == "traceback":
            yield f"{request.user}: {request.more['output'][-300:]}"


def left_over(e: Evidence) -> Iterator[str]:
    """Ended tasks leave nothing behind."""
    yield from e.left


RULES: tuple[Callable[[Evidence], Iterator[str]], ...] = (
    lost, invented, once, agreement, explained, overlap, dependencies, licences, slots, windows, holds, deletions,
    alterations, configuration, sessions, slave_tasks, tracebacks, left_over,
)


def _submissions(e: Evidence) -> list[Request]:
    return [each for each in e.requests if each.what == "submit" and each.sure]


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
