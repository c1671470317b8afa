"""The files that name the jobs of each GPU, as dcgm-exporter reads them (adr/0355)."""

from pathlib import Path

import pytest

from daemons.execd.gpu_job_files import GpuJobFiles


def files(directory: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in directory.iterdir()}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """The directory, not made yet."""
    return tmp_path / "jobs"


def test_a_gpu_in_use_has_a_file_with_its_jobs(place: Path) -> None:
    written = GpuJobFiles()
    written.configure(str(place))
    written.write({0: [7], 3: [7, 9]})
    assert files(place) == {"0": "7\n", "3": "7\n9\n"}
    assert (place / "0").stat().st_mode & 0o777 == 0o644
    written.write({3: [9]})
    assert files(place) == {"3": "9\n"}
    written.write({})
    assert files(place) == {}


def test_files_of_a_daemon_that_crashed_are_removed_and_files_of_others_are_not(place: Path) -> None:
    place.mkdir()
    for name in ("0", "12", "README"):
        (place / name).write_text("17\n")
    written = GpuJobFiles()
    written.configure(str(place))
    written.write({12: [5]})
    assert files(place) == {"12": "5\n", "README": "17\n"}


def test_another_directory_takes_over_and_none_removes_the_files(place: Path, tmp_path: Path) -> None:
    written = GpuJobFiles()
    written.configure(str(place))
    written.write({0: [7]})
    written.configure(str(tmp_path / "other"))
    written.write({0: [7]})
    assert (files(place), files(tmp_path / "other")) == ({}, {"0": "7\n"})
    written.configure(None)
    written.write({0: [8]})
    assert files(tmp_path / "other") == {}


def test_a_directory_that_cannot_be_written_is_logged_once_and_tried_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    written = GpuJobFiles()
    written.configure(str(tmp_path / "missing" / "jobs"))
    for _ in range(2):
        written.write({0: [7]})
    assert caplog.text.count("GPU_JOB_FILES=") == 1
    (tmp_path / "missing").mkdir()
    written.write({0: [7]})
    assert files(tmp_path / "missing" / "jobs") == {"0": "7\n"}
