"""pytest plugin (`-p tools.covering`): the lines that each test runs, in the file that COVERING names.

Owns one context of coverage a test; lines that run while modules are loaded have the context "". Must not change how tests run.
Called by `tools/mutants.py`, which also reads the file through `Covering`.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from coverage import Coverage, CoverageData

PACKAGES = ("gridengine", "daemons", "shepherd")
_coverages: list[Coverage] = []


def pytest_configure() -> None:
    if "COVERING" in os.environ:
        found = Coverage(os.environ["COVERING"], config_file=False, source=list(PACKAGES), messages=False)
        found.start()
        _coverages.append(found)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    for each in _coverages:
        each.switch_context(item.nodeid)
    return (yield)


def pytest_unconfigure() -> None:
    while _coverages:
        found = _coverages.pop()
        found.stop()
        found.save()


class Covering:
    """The tests of a recorded run, by the lines that they run."""

    def __init__(self, data_file: Path) -> None:
        self._data = CoverageData(str(data_file))
        self._data.read()
        self._lines: dict[str, dict[int, list[str]]] = {}
        self._breadth: Counter[str] = Counter()
        for path in self._data.measured_files():
            lines = self._lines[path] = self._data.contexts_by_lineno(path)
            self._breadth.update(test for tests in lines.values() for test in tests)

    def tests(self, path: Path, first: int, last: int) -> list[str]:
        """The tests that run any of these lines of a file, ordered by the number of lines that a test runs.

        For lines that run while modules are loaded: the tests that run any line of the file.
        """
        lines = self._lines.get(str(path), {})
        found = {test for line in range(first, last + 1) for test in lines.get(line, ())}
        if found == {""}:
            found = {test for tests in lines.values() for test in tests}
        return sorted(found - {""}, key=lambda test: (self._breadth[test], test))
