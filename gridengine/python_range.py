"""The versions of Python that run this system, as numbers and as words.

As a program, for `make` and `tools/install`, it refuses another version of the interpreter that runs it: so its syntax is that
of Python 3.6. Called by `clients.admin.doctor`, too. `tests/tidy/test_python_range.py` compares `pyproject.toml` and the pages.
"""

import sys

#: (major, minor), both included
OLDEST, NEWEST = (3, 11), (3, 14)

#: in words
PYTHON_RANGE = f"3.{OLDEST[1]} to 3.{NEWEST[1]}"


def runs_here() -> bool:
    """Whether this interpreter is one of them."""
    return OLDEST <= sys.version_info[:2] <= NEWEST


if __name__ == "__main__" and not runs_here():
    sys.exit(f"{sys.executable} is not Python {PYTHON_RANGE}: name one with make PYTHON=...")
