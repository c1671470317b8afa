"""The processor time of tests, test functions and fixtures: `make test-cost TESTS=tests/integration/drmaa`.

A pytest plugin. A control group counts all that a test starts: commands, daemons, jobs, also what outlives it. The time of a
fixture is no part of the time of the test that asked for it first. Needs root.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Generator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

_V1 = Path("/sys/fs/cgroup/cpuacct")
_ROOT = _V1 if _V1.exists() else Path("/sys/fs/cgroup")
_GROUP = _ROOT / f"gridengine-cost-{os.getpid()}"
_SHOWN, _LEAST_S = 40, 0.2
_used_by: defaultdict[tuple[str, str], float] = defaultdict(float)
_inner = [0.0]
"""Of each open measurement: seconds of the measurements inside."""


def pytest_configure() -> None:
    try:
        _GROUP.mkdir()
        (_GROUP / "cgroup.procs").write_text(str(os.getpid()))
    except OSError as error:
        raise pytest.UsageError(f"processor time is counted by a control group, which needs root: {error}") from None


def pytest_unconfigure() -> None:
    with suppress(OSError):  # a daemon that is left holds it
        (_ROOT / "cgroup.procs").write_text(str(os.getpid()))
        _GROUP.rmdir()


def _used_s() -> float:
    if _V1.exists():
        return int((_GROUP / "cpuacct.usage").read_text()) / 1e9
    return int((_GROUP / "cpu.stat").read_text().split()[1]) / 1e6


def _measured(**names: str) -> Generator[None, Any, Any]:
    began = _used_s()
    _inner.append(0.0)
    try:
        return (yield)
    finally:
        used, inside = _used_s() - began, _inner.pop()
        _inner[-1] += used
        for each in names.items():
            _used_by[each] += used - inside


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, Any, Any]:
    return (yield from _measured(file="collection"))


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef: Any) -> Generator[None, Any, Any]:
    return (yield from _measured(fixture=f"{fixturedef.scope} {fixturedef.argname} {fixturedef.baseid}"))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, Any, Any]:
    file, _, name = item.nodeid.partition("::")
    return (yield from _measured(file=file, function=f"{file}::{name.partition('[')[0]}"))


def pytest_terminal_summary(terminalreporter: Any) -> None:
    terminalreporter.section(f"processor time: {_used_s():.1f} s")
    for kind in ("fixture", "file", "function"):
        rows = [(used, name) for (what, name), used in _used_by.items() if what == kind and used > _LEAST_S]
        for used, name in sorted(rows, reverse=True)[:_SHOWN]:
            terminalreporter.write_line(f"{used:8.1f} s  {kind} {name}")
