"""When a shepherd takes the limits of a job for itself while it starts the job, and has its own again (RL-6)."""

from __future__ import annotations

import resource
import time
from contextlib import suppress

import pytest

from gridengine.protocols.task_file import MAX_LIMIT
from shepherd.limits import ResourceLimit, borrowed, can_be_borrowed

LOCKS = 10
OWN = (2**40, 2**41)
INFINITY = resource.RLIM_INFINITY


def size(limit: int) -> float:
    return float("inf") if limit == INFINITY else limit


class Kernel:
    """The limits of this process; `privileged`: it may raise hard ones. `calls`: what was set, in its order."""

    def __init__(self) -> None:
        self.limits: dict[int, tuple[int, int]] = {}
        self.privileged = True
        self.calls: list[tuple[int, tuple[int, int]]] = []

    def getrlimit(self, kind: int) -> tuple[int, int]:
        return self.limits.get(kind, OWN)

    def setrlimit(self, kind: int, limits: tuple[int, int]) -> None:
        self.calls.append((kind, limits))
        if size(limits[0]) > size(limits[1]) or (not self.privileged and size(limits[1]) > size(self.getrlimit(kind)[1])):
            raise ValueError("not allowed to raise maximum limit")
        self.limits[kind] = limits


@pytest.fixture
def kernel(monkeypatch: pytest.MonkeyPatch) -> Kernel:
    made = Kernel()
    monkeypatch.setattr(resource, "getrlimit", made.getrlimit)
    monkeypatch.setattr(resource, "setrlimit", made.setrlimit)
    monkeypatch.setattr(time, "process_time", lambda: 5.0)
    return made


@pytest.mark.statement("RL-6")
@pytest.mark.usefixtures("kernel")
@pytest.mark.parametrize(
    ("name", "least"),
    [
        ("data", 2**28), ("stack", 2**23), ("vmem", 2**30), ("descriptors", 64),
        ("cpu", 7),  # it has used five seconds itself
        ("core", 0), ("locks", 0), ("fsize", 0),
    ],
)
def test_a_shepherd_takes_no_limit_that_it_would_die_of_itself(name: str, least: int) -> None:
    assert can_be_borrowed([ResourceLimit(name, least, 2**41)], last=False)
    assert can_be_borrowed([ResourceLimit(name, None, None)], last=False)
    if least:
        assert not can_be_borrowed([ResourceLimit(name, least - 1, 2**41)], last=False)


@pytest.mark.statement("RL-6")
def test_a_limit_that_the_shepherd_has_anyhow_is_no_hindrance(kernel: Kernel) -> None:
    kernel.limits[resource.RLIMIT_NOFILE], kernel.privileged = (20, 30), False
    assert can_be_borrowed([ResourceLimit("descriptors", 20, 30)], last=False)
    assert not can_be_borrowed([ResourceLimit("descriptors", 19, 30)], last=False)
    assert kernel.calls == []


@pytest.mark.statement("RL-6")
@pytest.mark.parametrize(
    ("locks", "tried"), [((INFINITY, INFINITY), (MAX_LIMIT, MAX_LIMIT)), ((3, 5), (3, 4)), ((5, 5), (4, 4)), ((1, 1), (0, 0))]
)
@pytest.mark.parametrize("privileged", [True, False])
def test_a_lower_hard_limit_is_taken_only_where_the_own_can_be_had_again(
    kernel: Kernel, locks: tuple[int, int], tried: tuple[int, int], privileged: bool
) -> None:
    kernel.limits[LOCKS] = locks
    kernel.privileged = privileged
    assert can_be_borrowed([ResourceLimit("fsize", 2**30, 2**30)], last=False) == privileged
    assert kernel.calls == [(LOCKS, tried), (LOCKS, locks)], "it loses next to nothing when it may not raise it again"
    assert kernel.limits[LOCKS] == (locks if privileged else tried)
    assert can_be_borrowed([ResourceLimit("fsize", 2**30, OWN[1])], last=False), "a soft one anybody may raise again"


@pytest.mark.statement("RL-6")
@pytest.mark.parametrize("name", ["maxproc", "memorylocked", "locks", "core", "rss"])
def test_before_the_last_process_limits_that_root_does_not_feel_are_no_matter(kernel: Kernel, name: str) -> None:
    kernel.privileged = False
    limits = [ResourceLimit(name, 100, 100)]
    assert can_be_borrowed(limits, last=True)
    assert not can_be_borrowed(limits, last=False)
    kernel.limits.clear()
    with borrowed(limits, last=True):
        taken = dict(kernel.limits)
    assert list(taken.values()) == [(100, 100)]
    assert kernel.limits == taken, "they stay: nothing is started any more"


@pytest.mark.statement("RL-6")
@pytest.mark.parametrize("last", [True, False])
def test_borrowed_limits_hold_inside_and_are_given_back_also_after_an_error(kernel: Kernel, last: bool) -> None:
    limits = [ResourceLimit("vmem", 2**31, 2**32), ResourceLimit("fsize", 2**30, None)]
    inside = {}
    with suppress(OSError), borrowed(limits, last):
        inside = dict(kernel.limits)
        raise OSError("no such program")
    assert inside == {resource.RLIMIT_AS: (2**31, 2**32), resource.RLIMIT_FSIZE: (2**30, INFINITY)}
    assert kernel.limits == {resource.RLIMIT_AS: OWN, resource.RLIMIT_FSIZE: OWN}
    assert [kind for kind, _ in kernel.calls[:2]] == [resource.RLIMIT_FSIZE, resource.RLIMIT_AS], "memory comes last"
