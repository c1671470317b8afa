"""The manual as `man` has it: two formatters read every page without a warning, and find pages by all of their names."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.integration.cells import run
from tests.integration.debian import need
from tools.manual_pages import write_manual


@pytest.fixture(scope="module")
def manual(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("man")
    write_manual(directory, "0")
    return directory


def test_groff_prints_no_warnings(manual: Path) -> None:
    need("groff")
    pages = [str(path) for path in sorted(manual.glob("man*/*")) if not path.is_symlink()]
    done = run(["groff", "-man", "-ww", "-z", "-Tutf8", *pages])
    assert len(pages) > 50 and (done.returncode, done.stderr) == (0, "")


def test_mandoc_prints_no_warnings(manual: Path) -> None:
    need("mandoc")
    pages = [str(path) for path in sorted(manual.glob("man*/*")) if not path.is_symlink()]
    done = run(["mandoc", "-Tlint", "-Wwarning", *pages])
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("section", "name", "title"),
    [
        ("1", "qsub", "submit a batch job"),
        ("1", "sge_submit", "submit a batch job"),
        ("5", "queue_conf", "the configuration of a cluster queue"),
        ("5", "sge_queue_conf", "the configuration of a cluster queue"),
        ("8", "sge_qmaster", "the master of a cell"),
        ("8", "gridengine", "make, start, check and tend a cell"),
    ],
)
def test_man_finds_a_page(manual: Path, section: str, name: str, title: str) -> None:
    need("mandoc")
    done = run(["mandoc", "-Tutf8", str(manual / f"man{section}" / f"{name}.{section}")])
    text = re.sub(".\b", "", done.stdout)  # bold letters are printed twice, as on a typewriter
    assert title in text and "SEE ALSO" in text
