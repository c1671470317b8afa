"""`make messages`: all texts of the web console in one table, so that an author has read each text and a diff shows each change.

Owns the selection of texts: words between tags, labels and sentences in templates, and sentences in the code of the pages.
A tidy test compares the table with the code, and has the laws of these texts.
"""

from __future__ import annotations

import ast
import html
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from jinja2 import Environment

ROOT = Path(__file__).resolve().parents[1]
TABLE = ROOT / "tests" / "data" / "console_texts.txt"
TEMPLATES, CODE = "daemons/web/pages/templates", "daemons/web"
_VALUE = "{…}"
_TAG = re.compile(r"<[^<>]*>")
_SHOWN_ATTRIBUTES = re.compile(r'\b(?:aria-label|title|placeholder|alt)="([^"]*)"')
_SENTENCE = re.compile(r"(?:[A-Z][a-z]|\{…\}).* .*")
"""A text of several words that begins like one; single words of the code are mostly keys."""
_LABEL = re.compile(r"(?!\w+(-\w+)+$)[A-Z][a-z]+\b[^<>=;{}\\]*")
"""A single word, or several; names of HTTP headers are left out."""
_READABLE = re.compile(r"[A-Za-z]{3}")


def texts_of_template(source: str) -> set[str]:
    """The words between tags, in shown attributes, and in arguments of macros."""
    shown, found = [], set()
    for _, kind, value in Environment().lex(source):
        if kind == "data":
            shown.append(value)
        elif kind in ("variable_begin", "block_begin"):
            shown.append(_VALUE if kind == "variable_begin" else "\n")
        elif kind == "string" and _LABEL.fullmatch(text := value[1:-1]):
            found.add(text)
    page = "".join(shown)
    parts = [*_SHOWN_ATTRIBUTES.findall(page), *_TAG.sub("\n", page).split("\n")]
    return found | {text for part in parts if re.search("[A-Za-z]{2}", text := html.unescape(" ".join(part.split())))}


def texts_of_code(tree: ast.AST) -> set[str]:
    """The sentences and labels of a module, without its docstrings and its log; an inserted value is shown as {…}."""
    left_out = {id(part) for node in ast.walk(tree) if _is_silent(node) for part in ast.walk(node)}
    left_out |= {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    texts = {_text(node) for node in ast.walk(tree) if id(node) not in left_out}
    return {text for text in texts if _READABLE.search(text) and (_SENTENCE.fullmatch(text) or _LABEL.fullmatch(text))}


def _is_silent(node: ast.AST) -> bool:
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Constant) or "_log" in ast.unparse(node)[:5]
    return isinstance(node, ast.Call) and ast.unparse(node.func) == "re.compile"


def _text(node: ast.AST) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else _VALUE for part in node.values)
    return ""


def all_texts(root: Path = ROOT) -> str:
    """The table: each file with its texts, sorted."""
    templates = ((path, texts_of_template(path.read_text())) for path in (root / TEMPLATES).glob("*.html"))
    code = ((path, texts_of_code(ast.parse(path.read_text()))) for path in (root / CODE).rglob("*.py"))
    return "\n\n".join(_rows(root, (*templates, *code))) + "\n"


def _rows(root: Path, found: Iterable[tuple[Path, set[str]]]) -> Iterator[str]:
    for path, texts in sorted(found):
        if texts:
            yield "\n".join([f"# {path.relative_to(root)}", *sorted(texts)])


def main() -> int:
    TABLE.write_text(all_texts())
    print(f"{TABLE.relative_to(ROOT)}: read what `git diff` shows of it")
    return 0


if __name__ == "__main__":
    sys.exit(main())
