"""Adoption of tasks whose shepherd the launcher did not start, and its report for a shepherd that died."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest

from shepherd import adoption, containment, process_tree, task_files
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


ENDED = {"exit_status": 3, "signal": 0, "start_time": 1.0, "end_time": 2.0, "usage": {"cpu": 7.5}, "checkpoint": 0}


@pytest.mark.statement("EX-4", "EX-10")
@pytest.mark.parametrize("at", [BOOTED - 1, BOOTED + 1])
@pytest.mark.parametrize(
    ("failed", "reason", "expected", "said"),
    [(0, "", 100, "the shepherd died after the job"), (25, "it asked", 25, "it asked")],
)
def test_the_end_of_a_job_outlives_its_shepherd_and_its_host(
    task: Path, at: float, failed: int, reason: str, expected: int, said: str
) -> None:
    write(task / "pid", at)
    write(task / "job_pid", at)
    task_files.write_job_end(task, {**ENDED, "failed": failed, "reason": reason}, final=False)
    record = finalised(task)
    assert said in str(record["reason"])
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


def test_living_shepherds_are_not_killed_with_orphans(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    killed: list[tuple[int, set[int]]] = []
    monkeypatch.setattr(process_tree, "kill_tree", lambda pid, spared: killed.append((pid, spared)))
    adoption.kill_job(tmp_path, {41, 42})
    assert killed == [(os.getpid(), {41, 42})]


class Held:
    """What holds the processes of a task; it can be given back at the `rounds`-th try. `done` is what has happened so far."""

    def __init__(self, done: list[object], rounds: int = 1, gid: int | None = 20000) -> None:
        self.gid = gid
        self._done, self._rounds = done, rounds

    def kill(self) -> None:
        self._done.append("cgroup")

    def release(self, directory: Path) -> bool:
        self._rounds -= 1
        self._done.append("release")
        return self._rounds <= 0


class Proc:
    """The processes of a host: a directory in place of /proc. 1 is init and 2 a subreaper. A killed process is gone."""

    def __init__(self, directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._directory = directory
        self.killed: list[int] = []
        self.parents: dict[int, int] = {}
        directory.mkdir()
        monkeypatch.setattr(adoption, "Path", lambda _: directory)
        monkeypatch.setattr(process_tree, "reapers", lambda: {1, 2})
        monkeypatch.setattr(process_tree, "parent", self.parents.get)
        monkeypatch.setattr(process_tree, "send", self.send)

    def add(
        self, pid: int, parent: int = 1, uid: int = 1001, state: str = "S (sleeping)", groups: str = "20000", environ: str = "A=1"
    ) -> None:
        self.parents[pid] = parent
        place = self._directory / str(pid)
        place.mkdir()
        status = f"Name:\ta: b\nno colon\nState:\t{state}\nUid:\t{uid}\t0\t0\t0\nGroups:\t{groups} \n"
        (place / "status").write_text(status)
        (place / "environ").write_bytes(environ.encode() + b"\0")

    def send(self, pid: int, parents: set[int], number: int) -> bool:
        if pid not in self.parents:
            return False
        assert (parents, number) == ({self.parents[pid]}, signal.SIGKILL)
        self.killed.append(pid)
        del self.parents[pid]
        (self._directory / str(pid) / "status").unlink()
        return True


@pytest.fixture
def proc(tmp_path: Path, task: Path, monkeypatch: pytest.MonkeyPatch) -> Proc:
    """Processes of the task's owner, whose additional group is 20000; there are no children of this process."""
    (task / "config").write_text(json.dumps(BASE))
    monkeypatch.setattr(process_tree, "kill_tree", lambda *_: None)
    monkeypatch.setattr(containment, "read_recorded", lambda _: Held([]))
    return Proc(tmp_path / "proc", monkeypatch)


@pytest.fixture
def done(proc: Proc, monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """What is done about the processes of a dead shepherd, in its order; 50 is the job's, a child of 40; 60 is marked."""
    made: list[object] = []
    proc.add(60)
    monkeypatch.setattr(process_tree, "kill_tree", lambda *_: made.append("orphans"))
    monkeypatch.setattr(containment, "read_recorded", lambda _: Held(made))
    monkeypatch.setattr(task_files, "running", lambda path: 50 if path.name == "job_pid" else None)
    monkeypatch.setattr(process_tree, "parent", {50: 40, 60: 1}.get)
    monkeypatch.setattr(process_tree, "signal_tree", lambda *given: made.append(given))
    monkeypatch.setattr(process_tree, "send", lambda *given: made.append(given))
    monkeypatch.setattr(adoption.time, "sleep", lambda seconds: made.append(seconds))
    return made


MARKED = 60, {1}, signal.SIGKILL


@pytest.mark.statement("EX-6", "EX-7")
def test_all_that_leads_to_processes_of_a_dead_shepherd_is_used(task: Path, done: list[object]) -> None:
    adoption.kill_job(task, set())
    job = [(50, signal.SIGSTOP), (50, signal.SIGKILL), (50, {40}, signal.SIGKILL)]
    assert done == ["orphans", "cgroup", *job, MARKED, "release"]


@pytest.mark.statement("EX-6")
@pytest.mark.parametrize("config", ["no configuration", None])
def test_an_ended_job_is_not_killed_and_processes_of_an_unknown_owner_are_not_looked_for(
    task: Path, done: list[object], monkeypatch: pytest.MonkeyPatch, config: str | None
) -> None:
    monkeypatch.setattr(task_files, "running", lambda _: None)
    (task / "config").unlink() if config is None else (task / "config").write_text(config)
    adoption.kill_job(task, set())
    assert done == ["orphans", "cgroup", "release"]


def test_a_job_whose_parent_has_gone_meanwhile_is_looked_for_below_no_process(
    task: Path, done: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process_tree, "parent", lambda _: None)
    adoption.kill_job(task, set())
    assert (50, {0}, signal.SIGKILL) in done


@pytest.mark.statement("EX-6")
@pytest.mark.parametrize(("rounds", "waits"), [(3, 2), (1000, 50)])
def test_a_cgroup_is_given_back_when_killed_processes_have_left_it_but_not_waited_for_longer_than_half_a_second(
    task: Path, done: list[object], monkeypatch: pytest.MonkeyPatch, rounds: int, waits: int
) -> None:
    monkeypatch.setattr(containment, "read_recorded", lambda _: Held(done, rounds))
    adoption.kill_job(task, set())
    assert done.count(0.01) == waits
    assert done[-1] == ("release" if rounds == 3 else 0.01)


@pytest.mark.statement("EX-6", "EX-14")
@pytest.mark.parametrize(("gid", "killed"), [(20000, [11, 12]), (None, [12])])
def test_a_process_of_the_user_with_the_jobs_group_or_directory_is_marked(
    tmp_path: Path, task: Path, proc: Proc, monkeypatch: pytest.MonkeyPatch, gid: int | None, killed: list[int]
) -> None:
    own = f"A=1\0SGE_JOB_SPOOL_DIR={task}\0B=2"
    proc.add(10, groups="1001")
    proc.add(11, groups="1001 20000")
    proc.add(12, groups="1001", environ=own)
    proc.add(13, uid=1002, environ=own)
    proc.add(14, state="Z (zombie)")
    proc.add(15, groups="1001", environ=f"{own[:-4]}0")  # task 7.10
    proc.add(16, groups="120000")
    (tmp_path / "proc" / "17").mkdir()  # it has ended meanwhile
    (tmp_path / "proc" / "self").mkdir()
    monkeypatch.setattr(containment, "read_recorded", lambda _: Held([], gid=gid))
    adoption.kill_job(task, set())
    assert sorted(proc.killed) == killed


@pytest.mark.parametrize(
    ("parents", "killed"),
    [
        ({50: 1}, [50]),
        ({50: 77}, []),
        ({50: 1, 51: 50, 52: 51}, [50, 51, 52]),
        ({50: 77, 51: 50}, []),
        ({50: 1, 60: 77, 61: 60}, [50]),
        ({50: 2}, [50]),
    ],
)
def test_marked_processes_are_killed_that_no_living_shepherd_stands_above(
    task: Path, proc: Proc, parents: dict[int, int], killed: list[int]
) -> None:
    """77 is another cell's shepherd."""
    for pid, parent in parents.items():
        proc.add(pid, parent)
    adoption.kill_job(task, set())
    assert sorted(proc.killed) == killed


def test_a_marked_process_that_has_ended_meanwhile_is_no_reason_to_stop(task: Path, proc: Proc) -> None:
    proc.add(50)
    proc.add(52, 51)
    proc.add(51)
    del proc.parents[51]  # 51 ends before its parent is read
    adoption.kill_job(task, set())
    assert proc.killed == [50]


def test_killing_is_not_retried_forever(task: Path, proc: Proc, monkeypatch: pytest.MonkeyPatch) -> None:
    tries: list[int] = []
    proc.add(50)
    monkeypatch.setattr(process_tree, "send", lambda *given: tries.append(given[0]))
    adoption.kill_job(task, set())
    assert tries == [50]


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
