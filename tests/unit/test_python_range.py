"""Which versions of Python run the system, and the refusal of all others."""

from __future__ import annotations

import runpy
import sys

import pytest

from gridengine.python_range import NEWEST, OLDEST, PYTHON_RANGE, runs_here


def run_as(version: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "version_info", (*version, 4))
    monkeypatch.delitem(sys.modules, "gridengine.python_range")  # else runpy warns
    runpy.run_module("gridengine.python_range", run_name="__main__")


def test_this_python_is_in_the_range() -> None:
    assert runs_here()


@pytest.mark.parametrize("version", [OLDEST, NEWEST])
def test_the_program_accepts_both_ends_of_the_range(version: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    run_as(version, monkeypatch)


@pytest.mark.parametrize("minor", [OLDEST[1] - 1, NEWEST[1] + 1])
def test_the_program_refuses_what_is_outside_the_range_with_a_remedy(minor: int, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SystemExit) as refusal:
        run_as((3, minor), monkeypatch)
    assert refusal.value.code == f"{sys.executable} is not Python {PYTHON_RANGE}: name one with make PYTHON=..."
