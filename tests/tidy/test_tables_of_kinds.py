"""The row of a kind in `gridengine.kinds` describes its configuration objects: no other table is keyed by kinds.

Seen are dictionaries written out with the names of three kinds or more as keys.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from gridengine.kinds import KIND
from tests.tidy.sources import Source

PROGRAMS = ("gridengine", "daemons", "shepherd", "clients")
FEWEST = 3
#: table -> why it stands where it does
KEPT = {
    "clients/admin/completion.py": "its keys are what arguments of commands are, jobs and files among them",
    "clients/admin/import_sge/objects.py": "what objects of other versions have otherwise, not what a kind is",
    "daemons/qmaster/decide/configuration/complex_settings.py": "which attributes of an object are lists of complexes,"
    " not what its kind is",
    "daemons/web/pages/configuration.py": "nouns of pages, where qconf and the manual have shorter ones",
}


def tables_of_kinds(sources: list[Source]) -> Iterator[str]:
    """The file of every such dictionary."""
    for source in sources:
        for node in source.nodes:
            if isinstance(node, ast.Dict):
                keys = {key.value for key in node.keys if isinstance(key, ast.Constant) and isinstance(key.value, str)}
                if len(keys & KIND.keys()) >= FEWEST:
                    yield source.path


def test_no_other_table_has_kinds_as_keys() -> None:
    assert set(tables_of_kinds(Source.of(*PROGRAMS))) == KEPT.keys()


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ('WIDTHS = {"calendar": 17, "userset": 8, "exec_host": 22}', True),
        ('FIELDS = {"project": 1, "user": 2, "pe": 3}', False),
    ],
)
def test_a_table_is_seen(text: str, seen: bool) -> None:
    assert bool(list(tables_of_kinds([Source("daemons/x.py", text)]))) == seen
