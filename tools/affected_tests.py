"""The tests that uncommitted changes affect: changed tests, and tests that import a changed module by name.

Prints their paths, a line each. Tests that use a module through another one are left to `make test`. Called by `make check`.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FAST = ("tests/unit", "tests/property")
"""Directories of tests that start no process."""
_IMPORT = re.compile(r"^\s*(?:from ([\w.]+) import (\([^)]*|[^\n]*)|import ([\w.]+))", re.MULTILINE)


def changed_files(root: Path = ROOT) -> list[str]:
    """Paths that differ from the last commit, new files included, relative to `root`; removed files are left out."""
    listed: list[str] = []
    for command in ("git diff --name-only HEAD", "git ls-files --others --exclude-standard"):
        listed += subprocess.run(command.split(), cwd=root, capture_output=True, text=True, check=True).stdout.splitlines()
    return sorted({path for path in listed if (root / path).exists()})


def imported(source: str) -> Iterator[str]:
    """Yield the modules that a source may import: `from a import b` names `a` and `a.b`."""
    for package, names, module in _IMPORT.findall(source):
        if module:
            yield module
            continue
        yield package
        yield from (f"{package}.{name.split()[0]}" for name in names.strip("(").split(",") if name.strip())


def affected_tests(changed: Iterable[str], root: Path = ROOT) -> list[str]:
    """The fast tests among the changed files, and those that import a changed module."""
    changed = set(changed)
    modules = {path.removesuffix(".py").removesuffix("/__init__").replace("/", ".") for path in changed if path.endswith(".py")}
    found: list[str] = []
    for directory in FAST:
        for path in sorted((root / directory).rglob("test_*.py")):
            name = str(path.relative_to(root))
            if name in changed or modules & set(imported(path.read_text())):
                found.append(name)
    return found


def main() -> None:
    print(*affected_tests(changed_files()), sep="\n")


if __name__ == "__main__":
    main()
