"""gridmap unchanged: functions run as jobs that it submits by DRMAA; an exception of a function is raised, and the other jobs
are killed."""

from __future__ import annotations

import pytest

from tests.integration.unmodified.conftest import BLOCKS, User

FUNCTIONS = """\
import time


def reciprocal(number):
    if number:
        time.sleep(600)
    return 1 / number
"""
FAILING = """\
from functions import reciprocal
from gridmap import grid_map

if __name__ == "__main__":
    try:
        grid_map(reciprocal, [0, 1], queue="all.q", require_cluster=True, max_processes=2, temp_dir=".")
    except ZeroDivisionError as error:
        print("raised", error)
"""


@pytest.fixture(autouse=True)
def settings(user: User) -> None:
    """The hosts' load, the mail server and the plot library that the program uses are not there."""
    options = {"USE_MEM_FREE": "False", "SEND_ERROR_MAIL": "False", "CREATE_PLOTS": "False", "PYTHONPATH": str(user.work)}
    user.environment.update(options)


@pytest.mark.apart
@pytest.mark.statement("DM-1")
def test_functions_run_as_jobs(user: User) -> None:
    assert user.play(BLOCKS["gridmap"]) == ["results [6, 24, 120]"]


@pytest.mark.apart
@pytest.mark.statement("DM-1")
def test_an_exception_of_a_function_ends_the_other_functions(user: User) -> None:
    user.write("functions.py", FUNCTIONS)
    assert user.play(FAILING) == ["raised division by zero"]
