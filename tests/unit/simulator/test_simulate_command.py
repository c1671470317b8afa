"""`gridengine simulate` as an administrator calls it: on the kept trace, on two configurations, on files that are wrong."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path

import pytest

from clients.admin.__main__ import main
from clients.admin.cell_directory import write_directory
from tests.unit.simulator.small_cell import configuration

TRACE = Path(__file__).parents[2] / "data" / "traces" / "campus.swf.gz"
Simulate = Callable[..., tuple[int, str, str]]


@pytest.fixture
def simulate(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Simulate:
    """Calls `gridengine simulate …`: exit code, output, errors."""

    def call(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.argv", ["gridengine", "simulate", *map(str, arguments)])
        capsys.readouterr()
        status = main()
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return call


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    write_directory(tmp_path / "config", configuration(4, 16))
    return tmp_path / "config"


def test_the_kept_trace_gives_measures_shares_and_a_line_a_task(simulate: Simulate, directory: Path, tmp_path: Path) -> None:
    status, output, errors = simulate(directory, TRACE, "--jobs", 200, "--csv", tmp_path / "tasks.csv")
    assert (status, errors) == (0, "")
    assert "tasks that ended" in output and "utilisation of slots" in output and "\nproject" in output
    rows = list(csv.DictReader((tmp_path / "tasks.csv").open()))
    assert len(rows) == 200 and {row["place"].partition("@")[0] for row in rows} == {"all.q"}
    assert all(int(row["end"]) - int(row["start"]) == int(row["run"]) for row in rows)


def test_two_configurations_are_compared(simulate: Simulate, directory: Path, tmp_path: Path) -> None:
    write_directory(tmp_path / "wide", configuration(8, 16))
    status, output, _ = simulate(directory, TRACE, "--jobs", 200, "--against", tmp_path / "wide")
    assert status == 0 and "difference" in output and "mean wait (2)" in output


@pytest.mark.parametrize("suffix", ["png", "svg"])
def test_a_plot_is_drawn(simulate: Simulate, directory: Path, tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"plot.{suffix}"
    assert simulate(directory, TRACE, "--jobs", 50, "--plot", path)[0] == 0
    assert path.read_bytes()[:5] in (b"\x89PNG\r", b"<?xml")


def test_wrong_lines_are_counted_and_the_rest_is_replayed(simulate: Simulate, directory: Path, tmp_path: Path) -> None:
    trace = tmp_path / "some.swf"
    narrow, wide = (f"{width} 0 -1 60 {width} -1 -1 {width} 100 -1 1 1 1 -1 -1 -1 -1 -1" for width in (1, 99))
    trace.write_text(f"rubbish\n{narrow}\n{wide}\n")
    status, output, errors = simulate(directory, trace)
    assert status == 0 and "tasks that ended                    1" in output
    assert f"{trace}: lines that are no jobs" in errors and "refused jobs (" in errors


@pytest.mark.parametrize(
    ("content", "sentence"),
    [(b"", "has no job that ran"), (b"rubbish\n", "has no job that ran"), (b"\x1f\x8bno gzip", "cannot be read")],
    ids=["empty", "rubbish", "damaged"],
)
def test_a_trace_without_jobs_is_refused(
    simulate: Simulate, directory: Path, tmp_path: Path, content: bytes, sentence: str
) -> None:
    for name in ("accounting", "some.swf"):
        (tmp_path / name).write_bytes(content)
        status, output, errors = simulate(directory, tmp_path / name)
        assert (status, output) == (1, "") and (sentence in errors or "cannot read" in errors) and str(tmp_path / name) in errors


def test_a_trace_that_does_not_exist_is_refused(simulate: Simulate, directory: Path, tmp_path: Path) -> None:
    for name in ("accounting", "some.swf"):
        status, _, errors = simulate(directory, tmp_path / name)
        assert status == 1 and "No such file or directory" in errors and "Traceback" not in errors


def test_a_configuration_that_does_not_load_is_refused(simulate: Simulate, directory: Path, tmp_path: Path) -> None:
    path = directory / "queues" / "all.q"
    path.write_text(path.read_text().replace("make mpi smp", "unknown"))
    status, _, errors = simulate(directory, TRACE)
    assert status == 1 and str(directory) in errors and "unknown" in errors
    path.write_text("slots many\n")
    status, _, errors = simulate(directory, TRACE)
    assert status == 1 and str(path) in errors
    assert simulate(tmp_path / "nothing", TRACE)[0] == 1


def test_a_plot_in_another_format_is_refused_before_the_replay(simulate: Simulate, directory: Path) -> None:
    status, output, errors = simulate(directory, TRACE, "--plot", "x.pdf")
    assert (status, output) == (1, "") and "x.pdf: a plot is written as .png or .svg" in errors


def test_a_simulation_needs_a_source_of_jobs_and_a_database_the_cell_of_the_database(
    simulate: Simulate, directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for arguments in ((directory,), (directory, TRACE, "--database")):
        status, output, errors = simulate(*arguments)
        assert (status, output) == (1, "") and "name one source of jobs" in errors
    monkeypatch.delenv("SGE_ROOT", raising=False)
    status, _, errors = simulate(directory, "--database")
    assert status == 1 and "SGE_ROOT is not set" in errors
    status, _, errors = simulate(directory, "--database", "--root", tmp_path / "nowhere")
    assert status == 1 and str(tmp_path / "nowhere") in errors and "Traceback" not in errors
