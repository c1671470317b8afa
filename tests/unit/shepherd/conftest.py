"""Fixtures of the shepherd's unit tests: a run that is played, and sessions: with pipes, with a terminal, or with either."""

from __future__ import annotations

from pathlib import Path

import pytest

from shepherd.streams import open_pipes
from tests.unit.shepherd.played_run import PlayedRun
from tests.unit.shepherd.played_session import Play, Played, open_raw_terminal


@pytest.fixture
def played_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PlayedRun:
    return PlayedRun(tmp_path, monkeypatch)


@pytest.fixture
def play(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Play:
    return lambda **changes: Played(tmp_path, monkeypatch, open_pipes(), **changes)


@pytest.fixture
def terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Played:
    return Played(tmp_path, monkeypatch, open_raw_terminal(), session="pty")


@pytest.fixture(params=[open_pipes, open_raw_terminal])
def either(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Played:
    return Played(tmp_path, monkeypatch, request.param())
