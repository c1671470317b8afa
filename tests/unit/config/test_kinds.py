"""The table of kinds says the same as the models, and imports nothing, for clients load it."""

from __future__ import annotations

import ast
from pathlib import Path

from gridengine import kinds
from gridengine.config import KINDS
from gridengine.kinds import KIND


def test_every_model_has_a_row_and_the_key_of_its_files() -> None:
    assert {name: model.key for name, model in KINDS.items()} == {name: kind.key for name, kind in KIND.items()}


def test_a_bare_kind_has_a_name_alone_and_a_single_one_has_none() -> None:
    assert {name for name, kind in KIND.items() if kind.bare} == {
        name for name, model in KINDS.items() if len(model.model_fields) == 1 and not KIND[name].single
    }
    assert not any(kind.key for kind in KIND.values() if kind.single)


def test_the_table_imports_nothing() -> None:
    tree = ast.parse(Path(kinds.__file__).read_text())
    assert not [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
