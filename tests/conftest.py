"""Parts of all tests: the `statement` mark, and the fence around unit tests.

A unit test must not wait, start a process or start Ray; a test that needs one of these is an integration test.
"""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NoReturn

import pytest
from hypothesis import HealthCheck, settings

from gridengine.state.apply import CHECKS, HANDLERS
from gridengine.state.machines.event import Handler, StateOf
from gridengine.state.state import State
from tests.garbage import collect_garbage, collect_garbage_rarely
from tests.harness import spools_closed

# shared modules of these tests assert, too, and a failure has to show the values
pytest.register_assert_rewrite("tests.integration")

FENCED_DIRECTORIES = {"unit", "property", "simulation"}
OF_MAKE = ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")
"""Variables of the make that runs the tests: with them, a make that a test starts would act as a part of it."""


def pytest_configure(config: pytest.Config) -> None:
    """Register the marks, and make the outcome independent of where it runs: of the time zone, the umask, a cell that the
    shell knows, a make around it. Random data differ from run to run for people, and are the same in continuous integration."""
    collect_garbage_rarely()
    os.environ["TZ"] = "UTC"
    time.tzset()
    os.umask(0o022)
    for name in [name for name in os.environ if name.startswith("SGE_") or name in OF_MAKE]:
        del os.environ[name]
    settings.register_profile(
        "project",
        deadline=None,
        derandomize="CI" in os.environ,
        suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow],
    )
    settings.load_profile("project")
    # a shell's background job, as this session may be one, ignores interrupts, and so would all commands that tests start
    signal.signal(signal.SIGINT, signal.default_int_handler)
    config.addinivalue_line("markers", "statement(*ids): the statements of docs/statements.md that the test proves")


def pytest_collection_finish() -> None:
    """Modules and tests stay until the end."""
    collect_garbage()


def pytest_unconfigure() -> None:
    gc.unfreeze()  # libraries complain of their own objects when these outlive them


@pytest.fixture(autouse=True)
def fence(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make sleeping, starting processes and starting Ray fail in the tests that must do without."""
    if Path(request.node.path).relative_to(Path(__file__).parent).parts[0] not in FENCED_DIRECTORIES:
        return
    for owner, names in [
        (time, ["sleep"]),
        (os, ["fork", "forkpty", "posix_spawn", "posix_spawnp", "system"]),
        (subprocess, ["Popen"]),
    ]:
        for name in names:
            monkeypatch.setattr(owner, name, _refusal(f"{owner.__name__}.{name}"))
    if "ray" in sys.modules:
        monkeypatch.setattr(sys.modules["ray"], "init", _refusal("ray.init"))
    else:
        monkeypatch.setitem(sys.modules, "ray", None)


@pytest.fixture(autouse=True, scope="module")
def spools_of_the_module() -> Iterator[None]:
    """The cells that the tests of a module share end with the module."""
    with spools_closed():
        yield


@pytest.fixture(autouse=True)
def spools_of_the_test(spools_of_the_module: None) -> Iterator[None]:
    """The cells of one test end with it."""
    with spools_closed():
        yield


@pytest.fixture(autouse=True, scope="session")
def transitions() -> None:
    """After each event that a test applies, the object is in the state that the table of its machine names."""

    def checked(handler: Handler, state_of: StateOf, rows: Mapping[str, str | tuple[str, ...]]) -> Handler:
        def handle(state: State, event: Any) -> None:
            was = state_of(state, event)
            handler(state, event)
            now = state_of(state, event)
            to = rows[was]
            assert now in (to if isinstance(to, tuple) else (to,)), f"{was} -> {now} by {event}"

        return handle

    for event, (state_of, rows) in CHECKS.items():
        HANDLERS[event] = checked(HANDLERS[event], state_of, rows)


def _refusal(what: str) -> Callable[..., NoReturn]:
    def refuse(*_arguments: object, **_options: object) -> NoReturn:
        raise AssertionError(f"a unit test must not call {what}")

    return refuse
