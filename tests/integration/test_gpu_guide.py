"""The page about GPUs: its commands work on a host whose `nvidia-smi` is a false program; a GPU that fails is closed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.cells import DemoCell, eventually
from tests.integration.execd.test_nvidia_smi import LIST, LOG, put_program
from tests.integration.guides import play
from tests.integration.test_guides import typed
from tests.needs import no_gpus


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of the false program, with a GPU in slices and a whole GPU."""
    made = tmp_path_factory.mktemp("programs")
    (made / "list").write_text(LIST)
    write_log(made, LOG.replace("<dram_uncorrectable>1", "<dram_uncorrectable>0"))
    put_program(made, f'case "$1" in -L) cat {made}/list ;; -q) cat {made}/log ;; esac')
    return made


def write_log(programs: Path, text: str) -> None:
    (programs / "new").write_text(text)
    (programs / "new").rename(programs / "log")


@pytest.fixture(scope="module")
def cell(launchers: object, programs: Path) -> Iterator[DemoCell]:
    made = DemoCell()
    made.environment["PATH"] = f"{programs}:{made.environment['PATH']}"
    try:
        made.start()
        yield made
    finally:
        made.remove()


def closed(cell: DemoCell) -> dict[str, dict[str, str]]:
    rows = json.loads(cell.must("gridengine", "devices", "--json"))
    return rows[0]["closed"] if rows else {}


@no_gpus
def test_the_page_about_gpus(cell: DemoCell) -> None:
    eventually("the host has found its GPUs", lambda: "GPU-b" in cell.must("gridengine", "devices"))
    assert play("../gpus.md", cell.work, lambda command: typed(cell, command)) >= 6


@no_gpus
def test_a_gpu_that_fails_is_closed_until_it_is_healthy(cell: DemoCell, programs: Path) -> None:
    cell.must("gridengine", "devices", "--apply")
    healthy = (programs / "log").read_text()
    write_log(programs, LOG)
    fault = "1 uncorrectable memory errors"
    eventually("the unit is closed", lambda: closed(cell) == {"gpu": {"1": fault}})
    assert f"gpu=1(0.0) closed: 1: {fault}" in cell.must("qhost", "-F", "gpu")
    job = cell.must("qsub", "-terse", "-l", "gpu=2", "-b", "y", "-o", "/dev/null", "-j", "y", "true").strip()
    eventually("the reason is shown", lambda: f"1 is closed: {fault}" in cell.must("qexplain", job))
    write_log(programs, healthy)
    eventually("the job has run", lambda: cell.command("qstat", "-j", job).returncode != 0)
    assert closed(cell) == {}
