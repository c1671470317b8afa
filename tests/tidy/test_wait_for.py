"""Time limits in the daemons are `asyncio.timeout`: `asyncio.wait_for` may lose a cancellation (Python 3.11)."""

from __future__ import annotations

import ast

from tests.tidy.sources import Source


def test_nothing_in_the_product_may_lose_a_cancellation() -> None:
    found = [
        f"{source.path}:{node.lineno}"
        for source in Source.of("gridengine", "daemons", "shepherd", "clients")
        if "wait_for" in source.text
        for node in source.nodes
        if isinstance(node, ast.Attribute) and ast.unparse(node) == "asyncio.wait_for"
    ]
    assert found == []
