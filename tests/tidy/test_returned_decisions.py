"""No function that another file calls takes a decision to fill in: it returns its own (adr/0124)."""

from __future__ import annotations

import ast

from tests.tidy.sources import Source

FILLED = frozenset(("decision", "outcome", "verdict"))
#: it finishes the decision that it is given, and may turn it into a refusal
ALLOWED = {"conclude"}
FOLDERS = ("daemons/qmaster/decide", "daemons/qmaster/rules")


def filled(source: Source) -> list[str]:
    """Public functions of a file that take one of these and are no reading of it."""
    found = []
    for node in source.tree.body:
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            if FILLED & {argument.arg for argument in (*node.args.args, *node.args.kwonlyargs)}:
                found.append(node.name)
    return found


def test_functions_that_other_files_call_return_their_decisions() -> None:
    found = {name for source in Source.of(*FOLDERS) for name in filled(source)}
    assert found == ALLOWED


def test_a_decision_to_fill_is_seen() -> None:
    text = "def lose(state, decision): ...\ndef _lose(decision): ...\ndef lost(state): ..."
    assert filled(Source("daemons/qmaster/decide/a.py", text)) == ["lose"]
