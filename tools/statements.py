"""Lists the statements of `docs/statements.md` that no test cites.

Owns the reading of that file and of `@pytest.mark.statement` decorators. Called by `make statements`.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

_SECTION = re.compile(r"#{2,4} (.+)")
_STATEMENT = re.compile(r"- ([A-Z]{2}-\d+) ")
_TRAP = re.compile(r"\| (X-\d+) \|")


def statements(text: str) -> dict[str, list[str]]:
    """Return the IDs of each section, in the order of the document."""
    sections: dict[str, list[str]] = {}
    section = ""
    for line in text.splitlines():
        if heading := _SECTION.match(line):
            section = heading[1]
        elif found := _STATEMENT.match(line) or _TRAP.match(line):
            sections.setdefault(section, []).append(found[1])
    return sections


def cited(source: str) -> Iterator[str]:
    """Yield the IDs that the `pytest.mark.statement(...)` calls of one test file name, `pytestmark` included."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("mark.statement"):
            for argument in node.args:
                yield from _texts(argument)


def _texts(argument: ast.expr) -> Iterator[str]:
    """Yield the strings of one argument: a plain string, or a starred tuple or list such as `*("AR-1", "AR-2")`."""
    if isinstance(argument, ast.Starred):
        argument = argument.value
    for element in argument.elts if isinstance(argument, ast.Tuple | ast.List) else [argument]:
        if isinstance(element, ast.Constant) and isinstance(element.value, str):
            yield element.value


def main() -> None:
    """Print, a section a line, how many statements are cited and which are not; exit 1 for an ID that is none."""
    sections = statements((ROOT / "docs" / "statements.md").read_text())
    known = {statement for ids in sections.values() for statement in ids}
    citations: dict[str, Path] = {}
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        citations.update((statement, path) for statement in cited(path.read_text()))
    for section, ids in sections.items():
        missing = [statement for statement in ids if statement not in citations]
        print(f"{len(ids) - len(missing):4} of {len(ids):3}  {section}")
        if missing:
            print(f"              not cited: {' '.join(missing)}")
    print(f"{len(known & citations.keys()):4} of {len(known):3}  in all")
    unknown = sorted(citations.keys() - known)
    for statement in unknown:
        print(f"no such statement: {statement} ({citations[statement].relative_to(ROOT)})", file=sys.stderr)
    sys.exit(bool(unknown))


if __name__ == "__main__":
    main()
