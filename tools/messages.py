"""`make messages`: all texts of the commands in one file, so that each has been read by somebody and a change of one is seen.

Owns which texts these are: sentences in string literals and f-strings that are given to what answers, refuses, complains or
raises, in the programs that users meet. A tidy test compares the file with the code.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TEXTS = ROOT / "tests" / "data" / "messages.txt"
ROOMS = ("clients", "daemons/qmaster/decide", "daemons/qmaster/views", "gridengine")
#: names of what a sentence for users is given to, or is raised as
SAYING = frozenset(
    "error info warning refuse hint complain misused Failure Refused Refusal SyntaxFault OptionError Unreachable Finding "
    "HostStanding echo ConfigError Answer".split()
)
_LEAST_WORDS = 3


def texts_of(tree: ast.AST) -> Iterator[str]:
    """The sentences in a file, in order; what is put into one stands as {…}."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _name(node.func) in SAYING:
            for argument in [*node.args, *(keyword.value for keyword in node.keywords)]:
                yield from _sentences(argument)


def _name(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else function.id if isinstance(function, ast.Name) else ""


def _sentences(node: ast.expr) -> Iterator[str]:
    """Those of an argument, also within lists and choices, but not of calls, which are looked at themselves."""
    if isinstance(node, ast.Call):
        return
    text = _text(node)
    if text is None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                yield from _sentences(child)
    elif len(text.split()) >= _LEAST_WORDS:
        yield text.replace("\n", "\\n")


def _text(node: ast.expr) -> str | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "{…}" for part in node.values)
    return None


def all_texts(root: Path = ROOT) -> str:
    """What the file holds: each file of the code with its texts, sorted."""
    parts = []
    for room in ROOMS:
        for path in sorted((root / room).rglob("*.py")):
            texts = sorted(set(texts_of(ast.parse(path.read_text()))))
            if texts:
                parts.append("\n".join([f"# {path.relative_to(root)}", *texts]))
    return "\n\n".join(parts) + "\n"


def main() -> int:
    TEXTS.write_text(all_texts())
    print(f"{TEXTS.relative_to(ROOT)}: read what `git diff` shows of it")
    return 0


if __name__ == "__main__":
    sys.exit(main())
