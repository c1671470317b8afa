"""Fixtures of the unit tests of what the daemons run in."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from tests.garbage import collect_garbage


@pytest.fixture
def no_cycles_looked_for() -> Iterator[None]:
    """As in the daemons, which look for cycles so seldom that an attack is faster. Those of earlier tests are gone."""
    collect_garbage()
    gc.disable()
    yield
    gc.enable()
