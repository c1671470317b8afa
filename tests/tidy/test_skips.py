"""A skipped test names in one sentence its requirement and the remedy: `tests/needs.py` makes all such sentences."""

from __future__ import annotations

import ast

import pytest

from tests.tidy.sources import Source

MAKER = "tests/needs.py"
_SKIPPING = {"skip", "skipif", "importorskip", "xfail"}


def faults_of(source: Source) -> list[str]:
    """A sentence for each test that is left out in words of its own."""
    return [
        f"{source.path}:{node.lineno}: pytest.{node.func.attr}: {MAKER} has what tests need"
        for node in source.nodes
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _SKIPPING
        if ast.unparse(node.func).startswith("pytest.")
    ]


def test_skips_are_made_in_one_place() -> None:
    assert [fault for source in Source.of("tests") if source.path != MAKER for fault in faults_of(source)] == []


@pytest.mark.parametrize(
    ("text", "fine"),
    [
        ('@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")\ndef test(): ...', False),
        ('def test():\n    pytest.skip("not here")', False),
        ('@needs.root\ndef test():\n    needs.skip("cgroup v2", "mount it")', True),
    ],
)
def test_a_skip_elsewhere_is_seen(text: str, fine: bool) -> None:
    assert (faults_of(Source("tests/unit/test_x.py", text)) == []) is fine
