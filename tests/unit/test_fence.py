"""The fence of tests/conftest.py itself: unit tests cannot wait, fork or start Ray."""

from __future__ import annotations

import os
import subprocess
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st


@pytest.mark.parametrize(
    "call",
    [
        lambda: time.sleep(0),
        lambda: os.fork(),
        lambda: os.system("true"),
        lambda: subprocess.run(["true"]),
    ],
)
def test_calls_that_wait_or_start_something_are_refused(call):
    with pytest.raises(AssertionError, match="must not call"):
        call()


def test_ray_cannot_be_started():
    with pytest.raises((ImportError, AssertionError)):
        import ray

        ray.init()


@given(st.integers())
def test_properties_live_with_the_fence(number):
    assert number == number
