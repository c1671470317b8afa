"""The examples of the pages run as they stand there, each as a program of its own, against a real cell."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from tests.integration.cells import ROOT, DemoCell, run

PAGES = ("docs/python.md", "docs/api.md")
_EXAMPLE = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def examples() -> dict[str, str]:
    """The programs of the pages by page and number."""
    texts = {page: (ROOT / page).read_text() for page in PAGES}
    return {f"{page} {n}": code for page in PAGES for n, code in enumerate(_EXAMPLE.findall(texts[page]), start=1)}


#: what an example prints, where that is known: its last line
LAST = {
    "docs/python.md 1": 'Job was rejected because job requests unknown queue "no.q"',
    "docs/python.md 2": "ADD True",
    "docs/python.md 3": "LIST ['all.q@node1']",
    "docs/python.md 4": "['float', 'ZeroDivisionError', 'float']",
    "docs/api.md 1": "job sh ended with 3",
    "docs/api.md 2": "[1, 2, 3]",
    "docs/api.md 3": "True",
    "docs/api.md 4": "ended with 0",
    "docs/api.md 5": "3.14",
}


@pytest.mark.statement("DM-5")
@pytest.mark.parametrize("name", examples())
def test_an_example_runs(name: str, demo_cell: DemoCell, server: tuple[str, str], tmp_path: Path) -> None:
    program = tmp_path / "example.py"
    program.write_text(examples()[name])
    address = {"GRIDENGINE_URL": server[0], "GRIDENGINE_TOKEN": server[1]}
    environment = {**demo_cell.environment, **address, "HOME": str(tmp_path), "PYTHONPATH": str(ROOT)}
    done = run([sys.executable, "-W", "error", str(program)], env=environment, cwd=tmp_path, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[-1] == LAST[name]
