"""`make messages`: all texts of the commands in one file, so that an author has read each text and a diff shows each change.

Owns the selection of texts: sentences in string literals and f-strings that are arguments of functions and exceptions of
`SAYING`, in the programs that users meet. A tidy test compares the file with the code.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TEXTS = ROOT / "tests" / "data" / "messages.txt"
DIRECTORIES = ("clients", "daemons/qmaster/decide", "daemons/qmaster/queries", "gridengine")
#: names of functions and exceptions that get a sentence for users
SAYING = frozenset(
    "error info warning refuse hint print_error report_misuse print_usage CommandError RefusedError AdminError InvalidValueError "
    "OptionError Unreachable Finding HostMembership echo ConfigError Answer".split()
)
_FEWEST_TOKENS = 3


def texts_of(tree: ast.AST) -> Iterator[str]:
    """The sentences in a file, in order; an inserted value is shown as {…}."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _name(node.func) in SAYING:
            for argument in [*node.args, *(keyword.value for keyword in node.keywords)]:
                yield from _sentences(argument)


def _name(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else function.id if isinstance(function, ast.Name) else ""


def _sentences(node: ast.expr) -> Iterator[str]:
    """The sentences of an argument, also within lists and conditional expressions; the caller visits nested calls itself."""
    if isinstance(node, ast.Call):
        return
    text = _text(node)
    if text is None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                yield from _sentences(child)
    elif len(text.split()) >= _FEWEST_TOKENS:
        yield text.replace("\n", "\\n")


def _text(node: ast.expr) -> str | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "{…}" for part in node.values)
    return None


def all_texts(root: Path = ROOT) -> str:
    """The content of the file: each file of the code with its texts, sorted."""
    parts = []
    for directory in DIRECTORIES:
        for path in sorted((root / directory).rglob("*.py")):
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
