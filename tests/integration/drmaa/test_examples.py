"""The examples of the pages that use the library run as they stand there."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from tests.integration.cells import ROOT, run
from tests.integration.drmaa.programs import SOURCE, Programs


def example(page: str, kind: str) -> str:
    """The only program of a kind in a page."""
    (text,) = re.findall(rf"^```{kind}\n(.*?)^```$", (ROOT / "docs" / page).read_text(), re.MULTILINE | re.DOTALL)
    return str(text)


@pytest.mark.statement("DM-1")
def test_the_example_in_python(programs: Programs, tmp_path: Path) -> None:
    program = tmp_path / "example.py"
    program.write_text(example("api.md", "python drmaa"))
    done = run([sys.executable, str(program)], env=programs.environment, cwd=tmp_path, timeout=120)
    assert (done.stdout, done.stderr) == ("[1, 2, 3]\n", "")


@pytest.mark.statement("DM-1")
def test_the_example_in_c(programs: Programs, tmp_path: Path) -> None:
    (tmp_path / "program.c").write_text(example("drmaa.md", "c"))
    library = str(programs.directory)
    linked = [f"-L{library}", f"-Wl,-rpath,{library}", "-ldrmaa"]
    done = run(["cc", "-Werror", "-Wall", f"-I{SOURCE}", "program.c", *linked], cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    done = run([str(tmp_path / "a.out")], env=programs.environment, cwd=tmp_path, timeout=120)
    assert re.fullmatch(r"job \d+ ended with 0\n", done.stdout), done
