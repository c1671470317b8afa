"""A file name describes the content of the file: it occurs at most twice, except in folders that give it its meaning."""

from __future__ import annotations

from collections import Counter
from pathlib import PurePath

from tests.tidy.sources import Source

#: folders with a file for each kind of object (its page, its model, its options …), and the scheduler with its actor
ONE_FOR_EACH = frozenset("pages drawing api config configured machines options syntax state queries configuration schedd".split())
MAX_SAME = 2


def repeated_names(paths: list[str]) -> dict[str, int]:
    """File names that occur more than MAX_SAME times outside of such folders, with their number."""
    names = Counter(path.name for path in map(PurePath, paths) if path.parent.name not in ONE_FOR_EACH)
    return {name: count for name, count in names.items() if count > MAX_SAME and not name.startswith("__")}


def test_no_file_name_is_used_for_many_things() -> None:
    assert repeated_names([source.path for source in Source.of("daemons", "gridengine")]) == {}


def test_a_third_file_of_a_name_is_seen() -> None:
    paths = ["daemons/a/jobs.py", "daemons/b/jobs.py", "gridengine/jobs.py", "daemons/web/pages/jobs.py", "daemons/c/__init__.py"]
    assert repeated_names(paths) == {"jobs.py": 3}
