"""`make check` runs the tests that changes affect."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.affected_tests import affected_tests, imported

SOURCES = {
    "tests/unit/a/test_one.py": "from daemons.qmaster import master\n",
    "tests/unit/a/test_two.py": "from daemons.qmaster import (\n    other,\n    master as the_master,\n)\n",
    "tests/unit/test_three.py": "def test() -> None:\n    import daemons.qmaster.master\n",
    "tests/property/test_four.py": "from daemons.qmaster.master import Master\n",
    "tests/property/test_five.py": "from daemons.qmaster.masters import Master\n",
    "tests/integration/test_six.py": "from daemons.qmaster import master\n",
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name, source in SOURCES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(source)
    return tmp_path


def test_tests_that_import_a_changed_module_are_found_by_each_form_of_import(root: Path) -> None:
    expected = ["tests/unit/a/test_one.py", "tests/unit/a/test_two.py", "tests/unit/test_three.py", "tests/property/test_four.py"]
    assert affected_tests(["daemons/qmaster/master.py", "docs/map.md"], root) == expected


def test_a_package_is_named_by_its_directory(root: Path) -> None:
    assert affected_tests(["daemons/qmaster/__init__.py"], root) == ["tests/unit/a/test_one.py", "tests/unit/a/test_two.py"]


def test_changed_tests_are_found_and_slow_tests_are_not(root: Path) -> None:
    changed = ["tests/property/test_five.py", "tests/integration/test_six.py"]
    assert affected_tests(changed, root) == ["tests/property/test_five.py"]


def test_names_are_read_without_their_aliases() -> None:
    assert list(imported("from a.b import c as d, e\nimport f.g as h")) == ["a.b", "a.b.c", "a.b.e", "f.g"]
