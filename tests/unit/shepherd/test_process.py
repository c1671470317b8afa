"""Processes of a task that must be copies of the shepherd first (adr/0122)."""

from __future__ import annotations

import os
import resource
import time
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from shepherd import limits, process
from shepherd.command_line import CommandLine
from shepherd.containment import Containment
from shepherd.identity import Identity
from shepherd.limits import ResourceLimit, can_be_borrowed
from shepherd.plan import Output, Run
from shepherd.process import ProcessContext
from shepherd.session import Session

UNLIMITED = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
JOB = Run("job", CommandLine("/bin/sh", ["sh"]), Output("/dev/null", "/dev/null", None), 11, 0, {})
AROUND = ProcessContext(Identity("ann", 1000, 1000, ()), "/", 0o022, 0, Containment([], 40000))
IN_A_CGROUP, LIMITED = (replace(AROUND, containment=Containment([Path("/cg/1.1")], None)) for _ in range(2))
LIMITED.containment.limits_memory = True
CONNECTED = replace(AROUND, session=cast(Session, object()))


@pytest.fixture
def present(monkeypatch: pytest.MonkeyPatch) -> dict[int, tuple[int, int]]:
    """The limits of the process, which is a container's root: its own are these, and none that is lowered can be raised."""
    values = dict.fromkeys(range(16), UNLIMITED)

    def lower(kind: int, requested: tuple[int, int]) -> None:
        hard = values[kind][1]
        if hard != resource.RLIM_INFINITY and not 0 <= requested[1] <= hard:
            raise ValueError("not allowed to raise maximum limit")
        values[kind] = requested

    monkeypatch.setattr(resource, "getrlimit", values.__getitem__)
    monkeypatch.setattr(resource, "setrlimit", lower)
    monkeypatch.setattr(os, "getpriority", lambda *_: 0)
    return values


@pytest.mark.usefixtures("present")
@pytest.mark.parametrize(
    ("run", "context", "copied"),
    [
        (JOB, AROUND, False),
        (replace(JOB, command=CommandLine("/home/ann/sh", ["sh"])), AROUND, True),
        (replace(JOB, command=CommandLine("/usr/bin/../../home/ann/sh", ["sh"])), AROUND, True),
        (replace(JOB, command=CommandLine("sh", ["sh"])), AROUND, True),
        (replace(JOB, user="bob"), AROUND, True),
        (replace(JOB, awaits_client=True), AROUND, True),
        (replace(JOB, limits=[ResourceLimit("vmem", 2**24, 2**24)]), AROUND, True),
        (JOB, CONNECTED, True),
        (JOB, IN_A_CGROUP, False),
        (JOB, LIMITED, True),
        (JOB, replace(AROUND, nice=5), True),
        *((replace(JOB, name="epilog"), context, False) for context in (CONNECTED, LIMITED, replace(AROUND, nice=5))),
    ],
)
def test_steps_that_must_be_a_copy(run: Run, context: ProcessContext, copied: bool) -> None:
    assert process.must_be_a_copy(run, context) == copied


@pytest.mark.parametrize(
    ("limit", "last", "possible"),
    [
        (ResourceLimit("fsize", None, None), False, True),
        (ResourceLimit("fsize", 2**30, None), False, True),
        (ResourceLimit("fsize", 2**30, 2**30), True, False),
        (ResourceLimit("maxproc", 10, 10), False, False),
        (ResourceLimit("maxproc", 10, 10), True, True),
        *((ResourceLimit(name, 2**23 - 1, None), True, False) for name in ("data", "stack", "vmem")),
        (ResourceLimit("descriptors", 63, None), True, False),
        (ResourceLimit("cpu", 102, None), True, True),
        (ResourceLimit("cpu", 101, None), True, False),
    ],
)
def test_limits_that_a_containers_root_can_take_on_and_back(
    present: dict[int, tuple[int, int]], monkeypatch: pytest.MonkeyPatch, limit: ResourceLimit, last: bool, possible: bool
) -> None:
    monkeypatch.setattr(time, "process_time", lambda: 100.0)
    assert can_be_borrowed([limit], last) == possible
    assert [kind for kind, values in present.items() if values != UNLIMITED and kind != limits.LOCKS] == []


@pytest.mark.usefixtures("present")
def test_root_with_all_capabilities_can_take_hard_limits_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "setrlimit", lambda *_: None)
    assert can_be_borrowed([ResourceLimit("fsize", 2**30, 2**30)], last=False)
