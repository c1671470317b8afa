"""Only the models of `gridengine.config` have predefined values of parameters: behind the gate none is read as text.

The test finds `….get("parameter", …)`: a second default for a parameter whose default is in its model.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from gridengine.config import KINDS
from gridengine.config.parameters import KNOWN_PARAMETERS
from tests.tidy.sources import Source

BEHIND_THE_GATE = ("gridengine/state", "gridengine/placement", "daemons")
PARAMETERS = {name for model in KINDS.values() for name in model.model_fields} - {"name", "type", "calendar"} | {
    key for known in KNOWN_PARAMETERS.values() for key in known
}

def reads_of_texts(sources: list[Source]) -> Iterator[tuple[str, str]]:
    """(file, parameter) of every `.get` of a parameter with a predefined value of its own."""
    for source in sources:
        for node in source.nodes:
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and node.func.attr == "get"
                and len(node.args) == 2
                and isinstance(node.args[0], ast.Constant)
                and node.args[0].value in PARAMETERS
                and isinstance(node.args[1], ast.Constant)
                and isinstance(node.args[1].value, str)
            ):
                yield source.path, str(node.args[0].value)


def test_parameters_are_not_read_as_texts() -> None:
    assert list(reads_of_texts(Source.of(*BEHIND_THE_GATE))) == []


@pytest.mark.parametrize(
    ("line", "seen"),
    [
        ('state.kind("scheduler")[""].get("maxujobs", "0")', True),
        ('parameters.get("MAX_DYN_EC", "")', True),
        ("state.scheduler.maxujobs", False),
        ('body.get("job", "")', False),
    ],
)
def test_a_read_with_a_predefined_value_is_seen(line: str, seen: bool) -> None:
    assert bool(list(reads_of_texts([Source("daemons/x.py", line)]))) == seen
