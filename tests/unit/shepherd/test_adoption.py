"""Adoption of tasks whose shepherd the launcher did not start, and its report for a shepherd that died."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from shepherd import adoption, process_tree, task_files
from tests.unit.shepherd.configuration import BASE

BOOTED = 1000.0


@pytest.fixture
def task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A task's directory on a host that was booted long ago; there is nothing to kill."""
    directory = tmp_path / "active_jobs" / "7.1"
    directory.mkdir(parents=True)
    monkeypatch.setattr(process_tree, "boot_time", lambda: BOOTED)
    return directory


def write(path: Path, at: float = BOOTED + 1) -> None:
    path.write_text("12345 678\n")
    os.utime(path, (at, at))


def finalised(directory: Path) -> dict[str, object]:
    adoption.finalise(directory)
    found: dict[str, object] = json.loads((directory / task_files.EXIT).read_text())
    return found


def test_only_tasks_that_were_started_and_have_not_ended_are_taken_over(tmp_path: Path) -> None:
    assert adoption.task_directories(tmp_path) == []
    for name, files in {"9.1": ["pid"], "8.1": ["pid", "exit"], "7.2": ["pid", "job_pid"], "7.1": ["config"]}.items():
        directory = tmp_path / "active_jobs" / name
        directory.mkdir(parents=True)
        for file in files:
            (directory / file).touch()
    assert [each.name for each in adoption.task_directories(tmp_path)] == ["7.2", "9.1"]


def test_tasks_are_taken_over_in_the_order_of_their_names(tmp_path: Path) -> None:
    names = [f"{number}.1" for number in (14, 11, 19, 12, 17, 15, 13, 18, 16, 10)]
    for name in names:
        directory = tmp_path / "active_jobs" / name
        directory.mkdir(parents=True)
        (directory / "pid").touch()
    assert [each.name for each in adoption.task_directories(tmp_path)] == sorted(names)


@pytest.mark.statement("EX-4")
def test_a_job_whose_shepherd_died_has_died_after_its_start(task: Path) -> None:
    write(task / "pid")
    write(task / "job_pid", BOOTED + 50)
    record = finalised(task)
    assert (record["failed"], record["exit_status"], record["signal"]) == (100, 137, 9)
    assert record["start_time"] == BOOTED + 50
    assert "the shepherd died before it could report the end of the job" in str(record["reason"])


@pytest.mark.statement("EX-4")
def test_a_job_that_had_not_started_is_a_failure_of_the_shepherd_alone(task: Path) -> None:
    write(task / "pid")
    record = finalised(task)
    assert (record["failed"], record["exit_status"], record["signal"], record["start_time"]) == (18, 0, 0, 0.0)
    assert (record["checkpoint"], record["usage"]["ru_wallclock"]) == (0, 0)  # type: ignore[index]


@pytest.mark.statement("EX-4")
@pytest.mark.parametrize(("at", "failed"), [(BOOTED - 1, 19), (BOOTED, 100)])
def test_a_shepherd_from_before_the_boot_was_lost_with_its_host(task: Path, at: float, failed: int) -> None:
    write(task / "pid", at)
    write(task / "job_pid", at)
    assert finalised(task)["failed"] == failed


@pytest.mark.statement("EX-10")
@pytest.mark.parametrize(
    ("began_in", "at", "failed", "reason"),
    [
        ("boot-1", BOOTED + 1, 19, "the host was rebooted while the job ran"),
        ("boot-2", BOOTED - 1, 100, "the shepherd died before it could report"),
    ],
)
def test_a_boot_is_known_by_its_name_also_where_the_clock_was_set(
    task: Path, monkeypatch: pytest.MonkeyPatch, began_in: str, at: float, failed: int, reason: str
) -> None:
    monkeypatch.setattr(adoption, "incarnation", lambda: "boot-2")
    write(task / "pid", at)
    write(task / "job_pid", at)
    (task / "execd").write_text(json.dumps({"incarnation": began_in}))
    record = finalised(task)
    assert record["failed"] == failed and reason in str(record["reason"])


ENDED = {"exit_status": 3, "signal": 0, "start_time": 1.0, "end_time": 2.0, "usage": {"cpu": 7.5}, "checkpoint": 0}


@pytest.mark.statement("EX-4", "EX-10")
@pytest.mark.parametrize("at", [BOOTED - 1, BOOTED + 1])
@pytest.mark.parametrize(
    ("failed", "reason", "expected", "text"),
    [(0, "", 100, "the shepherd died after the job"), (25, "it asked", 25, "it asked")],
)
def test_the_end_of_a_job_outlives_its_shepherd_and_its_host(
    task: Path, at: float, failed: int, reason: str, expected: int, text: str
) -> None:
    write(task / "pid", at)
    write(task / "job_pid", at)
    task_files.write_job_end(task, {**ENDED, "failed": failed, "reason": reason}, final=False)
    record = finalised(task)
    assert text in str(record["reason"])
    assert ENDED.items() <= record.items()
    assert record["failed"] == expected


@pytest.mark.statement("EX-4", "EX-10")
@pytest.mark.parametrize("at", [BOOTED - 1, BOOTED + 1])
def test_the_end_of_a_job_that_no_method_follows_is_what_was_noted(task: Path, at: float) -> None:
    write(task / "pid", at)
    (task / "execd").write_text('{"key": [7, 1, 2]}')
    task_files.write_job_end(task, {**ENDED, "failed": 0, "reason": ""}, final=True)
    record = finalised(task)
    assert (ENDED | {"failed": 0, "reason": "", "execd": {"key": [7, 1, 2]}}).items() <= record.items()


@pytest.mark.parametrize("left", ["", "{", '{"failed": 0, "exit_status": 0, "final": true, "task": "6.1"}'])
def test_garbage_in_the_end_file_after_a_power_loss_is_no_end(task: Path, left: str) -> None:
    """A host that loses its power while it writes may show nothing there, or what an earlier task left in that file."""
    write(task / "pid", BOOTED - 1)
    (task / "job_end").write_text(left)
    assert finalised(task)["failed"] == 19


@pytest.mark.statement("EX-9")
@pytest.mark.parametrize(("name", "at", "found"), [
    ("7.1", BOOTED - 1, ["7.1"]), ("7.1", BOOTED + 1, []), (".7.1", BOOTED - 1, []),
])
@pytest.mark.parametrize("config", ["config", "config.json"])
def test_a_task_of_before_a_boot_may_have_begun_also_where_its_process_was_not_on_disk_yet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, at: float, found: list[str], config: str
) -> None:
    monkeypatch.setattr(process_tree, "boot_time", lambda: BOOTED)
    directory = tmp_path / "active_jobs" / name
    directory.mkdir(parents=True)
    write(directory / config, at)
    assert [each.name for each in adoption.task_directories(tmp_path)] == found
    assert finalised(directory)["failed"] == (19 if at < BOOTED else 4)


@pytest.mark.statement("EX-4", "AC-2")
def test_the_last_measurement_counts_without_a_note_of_the_jobs_process(
    task: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(adoption.time, "time", lambda: BOOTED + 90)
    write(task / "pid", BOOTED + 50)
    task_files.write_usage(task, {"cpu": 30.5, "mem": 1.5, "maxvmem": 7000, "vmem": 5000})
    record = finalised(task)
    assert (record["failed"], record["exit_status"], record["start_time"]) == (100, 137, BOOTED + 50)
    usage = record["usage"]
    assert isinstance(usage, dict)
    assert (usage["ru_wallclock"], usage["cpu"], usage["mem"], usage["maxvmem"]) == (40, 30.5, 1.5, 7000)
    assert "vmem" not in usage


@pytest.mark.statement("EX-4")
def test_the_time_in_which_a_host_was_down_is_not_used(task: Path) -> None:
    write(task / "pid", BOOTED - 500)
    write(task / "job_pid", BOOTED - 400)
    task_files.write_usage(task, {"cpu": 1})
    os.utime(task / "usage", (BOOTED - 100, BOOTED - 100))
    record = finalised(task)
    assert (record["failed"], record["start_time"], record["end_time"]) == (19, BOOTED - 400, BOOTED - 100)


@pytest.mark.statement("EX-4")
def test_a_shepherd_that_left_no_process_id_died_before_it_wrote_one(task: Path) -> None:
    assert finalised(task)["failed"] == 4


@pytest.mark.statement("CK-7")
def test_the_checkpoint_of_a_job_outlives_its_shepherd(task: Path) -> None:
    write(task / "pid")
    task_files.write_checkpoint(task, 4711)
    assert finalised(task)["checkpoint"] == 4711


def test_the_time_used_is_that_since_the_jobs_start_and_never_negative(task: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adoption.time, "time", lambda: BOOTED + 90)
    write(task / "pid")
    write(task / "job_pid", BOOTED + 50)
    record = finalised(task)
    assert record["end_time"] == BOOTED + 90
    assert record["usage"]["ru_wallclock"] == 40  # type: ignore[index]
    write(task / "job_pid", BOOTED + 200)
    assert finalised(task)["usage"]["ru_wallclock"] == 0  # type: ignore[index]


# --- its scratch directory -------------------------------------------------------------------------------------------


@pytest.fixture
def noted(task: Path, tmp_path: Path) -> Path:
    """The scratch directory of the task, with a file in it."""
    place = tmp_path / "7.1.all.q"
    place.mkdir()
    (place / "data").touch()
    config = {**BASE, "uid": os.geteuid(), "gid": os.getegid(), "tmpdir": str(place)}
    (task / task_files.CONFIG).write_text(json.dumps(config))
    note = task_files.ScratchNote(task)
    note(str(tmp_path / "taken"))
    note(str(place))
    note(str(place), place.stat().st_ino)
    note.close()
    return place


@pytest.mark.statement("QC-19", "EX-10")
def test_files_of_a_dead_shepherd_are_removed_once(task: Path, noted: Path) -> None:
    assert adoption.has_scratch(task)
    adoption.clear(task)
    assert not noted.exists() and not adoption.has_scratch(task)
    adoption.clear(task)


@pytest.mark.statement("QC-19", "EX-10")
def test_another_directory_at_its_path_is_left_alone(task: Path, noted: Path, tmp_path: Path) -> None:
    noted.rename(tmp_path / "moved")
    noted.mkdir()
    (noted / "of another try").touch()
    adoption.clear(task)
    assert (noted / "of another try").exists() and not adoption.has_scratch(task)
    assert "another directory" in (task / task_files.TRACE).read_text()


@pytest.mark.statement("QC-19", "EX-10")
@pytest.mark.parametrize("config", ["", "{"])
@pytest.mark.parametrize("note", ["", "12", "x /tmp\n", "0 /gone\n"])
def test_a_note_or_configuration_that_cannot_be_read_holds_nothing_up(task: Path, config: str, note: str) -> None:
    (task / task_files.CONFIG).write_text(config)
    (task / task_files.SCRATCH).write_text(note)
    adoption.clear(task)
    assert not adoption.has_scratch(task)
