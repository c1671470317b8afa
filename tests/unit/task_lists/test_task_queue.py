"""The next command: dependencies, retries, the limit of failures, requested retries."""

from __future__ import annotations

from clients.task_runner.task_queue import TaskQueue
from gridengine.task_lists.list_script import ListOptions
from gridengine.task_lists.task_lines import read_lines
from gridengine.task_lists.task_states import ListStates, fold


def queue_of(text: str, states: ListStates | None = None, **options: int) -> TaskQueue:
    queue = TaskQueue(ListOptions(**options), states or ListStates())  # type: ignore[arg-type]
    queue.add(read_lines(text, "list"))
    return queue


def begun(queue: TaskQueue) -> list[int]:
    """Begin all commands that may begin; their numbers."""
    found = []
    while queue.has_next:
        found.append(queue.begin_next().number)
    return found


def states(queue: TaskQueue) -> list[str]:
    return [queue.state(line.number).state for line in queue.lines]


def test_a_command_waits_for_all_its_predecessors() -> None:
    queue = queue_of("[name=c after=a,b] c\n[name=a] a\n[name=b] b\n[after=c] d\n")
    assert begun(queue) == [2, 3]
    assert queue.end(2, 0, 0) == ("done", [])
    assert begun(queue) == []
    queue.end(3, 0, 0)
    assert begun(queue) == [1]
    queue.end(1, 0, 0)
    assert begun(queue) == [4]


def test_a_failure_skips_all_that_depends_on_it() -> None:
    queue = queue_of("[name=a] a\n[name=b after=a] b\n[after=b] c\nd\n")
    assert begun(queue) == [1, 4]
    assert queue.end(1, 0, 9) == ("failed", [(2, 1), (3, 2)])
    assert states(queue) == ["failed", "skipped", "skipped", "running"]
    assert not queue.has_next


def test_a_chain_of_any_length_is_skipped_and_revived() -> None:
    length = 20_000
    queue = queue_of("[name=n1] x\n" + "".join(f"[name=n{each} after=n{each - 1}] x\n" for each in range(2, length + 1)))
    assert begun(queue) == [1]
    assert len(queue.end(1, 1, 0)[1]) == length - 1
    assert queue.counts["skipped"] == length - 1
    assert queue.retry(1) == list(range(1, length + 1))
    assert begun(queue) == [1]


def test_retries_of_the_line_count_before_those_of_the_list() -> None:
    queue = queue_of("[retries=0] a\nb\n[retries=2] c\n", retries=1)
    kinds = dict.fromkeys((1, 2, 3), "")
    while queue.has_next:
        for number in begun(queue):
            kinds[number] += " " + queue.end(number, 1, 0)[0]
    assert kinds == {1: " failed", 2: " again failed", 3: " again again failed"}
    assert [queue.state(number).attempt for number in kinds] == [1, 2, 3]


def test_no_command_starts_after_the_limit_of_failures() -> None:
    queue = queue_of("a\nb\nc\n", max_fails=1)
    assert queue.begin_next().number == 1
    queue.end(1, 1, 0)
    assert (queue.has_next, queue.is_closed) == (False, True)
    assert queue.retry(1) == [1]
    assert begun(queue) == [1, 2, 3]


def test_a_requested_retry_revives_what_was_skipped_for_it_alone() -> None:
    queue = queue_of("[name=a] a\n[name=b] b\n[name=c after=a] c\n[after=a,b] d\n[after=c] e\n")
    assert begun(queue) == [1, 2]
    queue.end(1, 1, 0)
    queue.end(2, 1, 0)
    assert queue.retry(3) == [], "its reason is still there"
    assert queue.retry(1) == [1, 3, 5]
    assert states(queue) == ["waiting", "failed", "waiting", "skipped", "waiting"]
    assert queue.retry(2) == [2, 4]
    assert queue.retry(2) == [], "it waits already"
    assert begun(queue) == [1, 2]
    queue.end(1, 0, 0)
    queue.end(2, 0, 0)
    assert queue.retry(1) == [], "nothing that ended well runs again"
    assert begun(queue) == [3, 4]


def test_a_later_runner_continues_where_the_records_end() -> None:
    records = (
        b'{"run":1,"host":"h","time":1}\n'
        b'{"number":1,"state":"done","attempt":1,"exit":0,"signal":0,"start":1.0,"end":2.0,"host":"h"}\n'
        b'{"number":2,"state":"running","attempt":1,"start":1.0,"host":"h"}\n'
        b'{"number":3,"state":"failed","attempt":1,"exit":3,"signal":0,"start":1.0,"end":2.0,"host":"h"}\n'
        b'{"number":5,"state":"again","attempt":1,"exit":3,"signal":0,"start":1.0,"end":2.0,"host":"h"}\n'
        b'{"number":6,"state":"done","atte'
    )
    queue = queue_of("[name=a] a\nb\n[name=c] c\n[after=c] d\n[after=a] e\nf\n", fold(records), retries=1)
    assert states(queue) == ["done", "waiting", "failed", "skipped", "waiting", "waiting"]
    assert begun(queue) == [2, 5, 6]
    assert [queue.state(number).attempt for number in (2, 5, 6)] == [2, 2, 1]
    assert queue.end(5, 1, 0)[0] == "failed", "the failure before counts"


def test_added_commands_may_wait_for_ended_ones() -> None:
    queue = queue_of("[name=a] a\n[name=b] b\n")
    begun(queue)
    queue.end(1, 0, 0)
    queue.end(2, 1, 0)
    further = read_lines("[after=a] c\n[name=d after=b] d\n[after=d] e\n", "list", earlier=queue.lines)
    assert queue.add(further) == [(4, 2), (5, 4)]
    assert begun(queue) == [3]
