"""Functions run in the cell: results, exceptions, prints and cancellation come back, and each fault has a name."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, as_completed
from pathlib import Path
from typing import Any

import pytest

from gridengine.api import (
    Cell,
    GridExecutor,
    GridFuture,
    GridMap,
    NotPicklable,
    OtherPython,
    ResultTooLarge,
    TaskFailed,
    task_arrays,
)
from tests.integration.cells import DemoCell, eventually, run

Maker = Callable[..., GridExecutor]


@pytest.fixture
def executor(demo_cell: DemoCell, tmp_path: Path) -> Iterator[Maker]:
    """`executor(**arguments)`: an executor in the demo cell, which is shut down at the end."""
    made: list[GridExecutor] = []

    def make(**arguments: Any) -> GridExecutor:
        cell = {"root": str(demo_cell.place), "cell": "test", "patience": 300}
        made.append(GridExecutor(directory=tmp_path / "calls", cell=cell, **arguments))
        return made[-1]

    yield make
    for each in made:
        each.shutdown()
    if made:
        assert list((tmp_path / "calls").iterdir()) == [], "nothing is left of an executor"


@pytest.mark.statement("DM-5")
def test_results_exceptions_and_prints_come_back(executor: Maker) -> None:
    class Odd(Exception):
        pass

    def square(number: int, *, fail: bool = False) -> int:
        print("number", number)
        print("aside", file=sys.stderr)
        if fail:
            raise Odd(number)
        return number * number

    ex = executor(queue="all.q")
    done, failed = ex.submit(square, 7), ex.submit(square, 8, fail=True)
    assert done.result(120) == 49 and (done.log, done.task_id) == ("number 7\naside\n", 1) and done.job_id > 0
    with pytest.raises(Odd) as raised:
        failed.result(120)
    assert raised.value.args == (8,) and "in square\n" in str(raised.value.__cause__)
    assert failed.log == "number 8\naside\n"
    futures = {ex.submit(pow, number, 2) for number in range(5)}
    assert {future.result() for future in as_completed(futures, 120)} == {0, 1, 4, 9, 16}
    assert list(ex.map(pow, range(4), [2] * 9)) == [0, 1, 4, 9]


@pytest.mark.statement("DM-5")
def test_a_map_goes_on_behind_what_fails(executor: Maker) -> None:
    def picky(number: int) -> int:
        if number == 3:
            raise ValueError("three")
        if number == 5:
            os._exit(6)
        return number

    ex = executor()
    results = ex.map(picky, range(8), chunksize=2)
    found: list[Any] = []
    while True:
        try:
            found.append(next(results))
        except StopIteration:
            break
        except (ValueError, TaskFailed) as error:
            found.append(type(error))
    assert found == [0, 1, 2, ValueError, TaskFailed, TaskFailed, 6, 7]  # 4 is in the same task as 5
    kept = list(ex.map(picky, [3, 1], return_exceptions=True))
    assert repr(kept[0]) == "ValueError('three')" and kept[1] == 1


@pytest.mark.statement("DM-5")
def test_a_hundred_thousand_items_are_some_tasks(executor: Maker) -> None:
    results = executor().map(lambda number: number + 1, range(100_000), chunksize=5_000)
    assert list(results) == list(range(1, 100_001))
    assert len({future.job_id for future in results.futures}) == 1 and len(results.futures) == 20


def chunks_by_task(results: GridMap[Any]) -> list[int]:
    """The number of chunks of each task of a map."""
    return list(Counter((future.job_id, future.task_id) for future in results.futures).values())


@pytest.fixture
def long_shifts(monkeypatch: pytest.MonkeyPatch) -> None:
    """However slow this machine is, a task makes all of its chunks."""
    monkeypatch.setattr(task_arrays, "SHIFT_S", 1000.0)
    monkeypatch.setattr(task_arrays, "CHECK_AFTER_S", 1000.0)


@pytest.mark.statement("DM-5")
def test_a_task_makes_several_short_calls_and_each_has_its_own_log(executor: Maker, long_shifts: None) -> None:
    def named(number: int) -> int:
        print("number", number, flush=True)
        subprocess.run(["/bin/echo", "child", str(number)], check=True)
        return number

    results = executor().map(named, range(66))
    assert list(results) == list(range(66))
    assert [future.log for future in results.futures] == [f"number {n}\nchild {n}\n" for n in range(66)]
    assert chunks_by_task(results) == [2] * 33


@pytest.mark.statement("DM-5")
def test_a_call_in_a_shared_task_fails_and_is_cancelled_alone(executor: Maker, tmp_path: Path) -> None:
    def odd(number: int) -> int:
        if number == 1:
            raise ValueError("one")
        if number == 2:
            os._exit(6)  # the call behind it in its task goes on elsewhere
        if number == 6:
            (tmp_path / "began").touch()
            time.sleep(1000)
        return number

    results = executor().map(odd, range(66), return_exceptions=True)
    eventually("one is made for ever", lambda: (tmp_path / "began").exists())
    assert results.futures[6].cancel()
    found = list(results)
    assert repr(found[1]) == "ValueError('one')" and isinstance(found[6], CancelledError)
    assert isinstance(found[2], TaskFailed) and "exit status 6" in str(found[2])
    assert [each for n, each in enumerate(found) if n not in (1, 2, 6)] == [n for n in range(66) if n not in (1, 2, 6)]


@pytest.mark.statement("DM-5")
def test_calls_do_not_wait_for_a_long_one_that_shares_their_task(executor: Maker, tmp_path: Path) -> None:
    def gate(number: int) -> int:
        while number == 0 and not (tmp_path / "go").exists():
            time.sleep(0.05)
        return number

    results = executor().map(gate, range(66))
    eventually("all others are done", lambda: all(future.done() for future in results.futures[1:]))
    first, second = results.futures[:2]
    assert not first.done() and first.running()
    assert (first.job_id, first.task_id) != (second.job_id, second.task_id), "it was taken back and made elsewhere"
    (tmp_path / "go").touch()
    assert list(results) == list(range(66))


@pytest.mark.statement("DM-5")
def test_calls_of_a_deleted_task_fail_although_they_had_not_begun(
    executor: Maker, demo_cell: DemoCell, tmp_path: Path, long_shifts: None
) -> None:
    def number_of(number: int) -> int:
        if number == 0:
            (tmp_path / "began").touch()
            time.sleep(1000)
        return number

    results = executor().map(number_of, range(66), return_exceptions=True)
    eventually("one is made for ever", lambda: (tmp_path / "began").exists())
    with Cell(str(demo_cell.place), "test") as cell:
        cell.delete(f"{results.futures[0].job_id}.{results.futures[0].task_id}")
    found = list(results)
    assert isinstance(found[0], TaskFailed) and "signal 9" in str(found[0])
    assert isinstance(found[1], TaskFailed) and "it was deleted before it began" in str(found[1])
    assert found[2:] == list(range(2, 66))


@pytest.mark.statement("DM-5")
def test_a_value_that_cannot_be_sent_is_named_and_the_other_calls_go_on(executor: Maker) -> None:
    ex = executor(most_bytes=100_000)
    lock = threading.Lock()
    with pytest.raises(NotPicklable, match="the function .*lambda.* cannot be sent to a job"):
        ex.submit(lambda: lock)
    with pytest.raises(NotPicklable, match="an argument of pow"):
        ex.submit(pow, lock, 2)
    results = list(ex.map(type, [lock, 1, 2], chunksize=1, return_exceptions=True))
    assert isinstance(results[0], NotPicklable) and results[1:] == [int, int]
    with pytest.raises(NotPicklable, match="a result of type generator cannot be pickled"):
        ex.submit(lambda: (number for number in range(3))).result(120)
    large, small = ex.submit(bytes, 200_000), ex.submit(bytes, 20_000)
    with pytest.raises(ResultTooLarge, match="on host node1: .*larger than 100000 bytes") as failure:
        large.result(120)
    assert (failure.value.job_id, failure.value.task_id) == (large.job_id, large.task_id)
    assert small.result(120) == bytes(20_000)


@pytest.mark.statement("DM-5")
def test_a_task_that_breaks_is_named(executor: Maker) -> None:
    def dying() -> None:
        print("last words", flush=True)
        os.kill(os.getpid(), 9)

    with pytest.raises(TaskFailed, match="on host node1: it ended with signal 9 and without a result") as failure:
        executor().submit(dying).result(120)
    assert (failure.value.host, failure.value.log) == ("node1", "last words")
    with pytest.raises(TaskFailed, match="cannot be started: .*/nosuch/python"):
        executor(python="/nosuch/python").submit(pow, 1, 2).result(120)


def test_another_python_is_named(executor: Maker, tmp_path: Path) -> None:
    other = tmp_path / "python"
    lie = "import runpy, sys; sys.version_info = (3, 99); sys.argv = sys.argv[2:]"
    lie += "; runpy.run_path(sys.argv[0], None, '__main__')"
    other.write_text(f'#!/bin/sh\nexec {sys.executable} -c "{lie}" "$@"\n')
    other.chmod(0o755)
    with pytest.raises(OtherPython, match=r"is Python 3\.99, and the calls were made by"):
        executor(python=str(other)).submit(pow, 1, 2).result(120)


@pytest.mark.statement("DM-5")
def test_chunks_are_retried_as_often_as_requested(executor: Maker, tmp_path: Path) -> None:
    tries = tmp_path / "tries"

    def third_time(how: str) -> int:
        with open(tries / how, "a") as file:
            file.write("x")
        size = os.path.getsize(tries / how)
        if size < 3 and how == "raise":
            raise ConnectionError(how)
        if size < 3:
            os._exit(1)
        return size

    tries.mkdir()
    assert list(executor(retries=2, retry_on=(ConnectionError,)).map(third_time, ["raise", "exit"])) == [3, 3]
    (tries / "exit").unlink()
    with pytest.raises(TaskFailed, match="exit status 1"):
        executor(retries=1).submit(third_time, "exit").result(120)


@pytest.mark.statement("DM-5")
def test_a_call_is_cancelled_wherever_it_is(executor: Maker, demo_cell: DemoCell, tmp_path: Path) -> None:
    ex, mark = executor(), tmp_path / "began"
    running = ex.submit(lambda: (mark.touch(), time.sleep(1000)))
    held = executor(holds="u").submit(pow, 1, 2)
    eventually("one runs and one waits", lambda: mark.exists() and running.running() and held.job_id)
    jobs = {str(running.job_id), str(held.job_id)}
    assert running.cancel() and held.cancel() and running.cancelled() and held.cancelled()
    eventually("they are gone", lambda: jobs.isdisjoint(demo_cell.must("qstat", "-u", "*").split()))
    done = ex.submit(pow, 2, 2)
    assert done.result(120) == 4 and not done.cancel()


def test_ctrl_c_within_the_block_deletes_what_runs(executor: Maker, tmp_path: Path) -> None:
    def forever(mark: Path) -> None:
        mark.touch()
        time.sleep(1000)

    marks = [tmp_path / f"began{number}" for number in range(3)]
    with pytest.raises(KeyboardInterrupt):
        with executor() as ex:
            futures: list[GridFuture[None]] = [ex.submit(forever, mark) for mark in marks]
            eventually("they run", lambda: all(mark.exists() for mark in marks))
            raise KeyboardInterrupt
    assert all(future.cancelled() for future in futures)
    with pytest.raises(RuntimeError, match="was shut down"):
        ex.submit(pow, 1, 2)


def test_a_child_must_make_its_own_executor(executor: Maker) -> None:
    ex = executor()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            ex.submit(pow, 1, 2)
        except RuntimeError as error:
            status = 0 if "child" in str(error) else 2
        finally:
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0
    assert ex.submit(pow, 3, 2).result(120) == 9


@pytest.mark.statement("DM-5")
def test_a_job_in_error_state_is_named(executor: Maker, tmp_path: Path) -> None:
    with pytest.raises(TaskFailed, match="it cannot be started: "):
        executor(cwd="/nosuch/directory").submit(pow, 1, 2).result(120)


def test_results_are_for_their_owner_alone(executor: Maker, tmp_path: Path) -> None:
    def modes() -> list[int]:
        import stat

        place = os.path.dirname(os.environ["SGE_STDOUT_PATH"])
        paths = [place, os.path.dirname(place), os.path.join(place, "calls")]
        return [stat.S_IMODE(os.stat(path).st_mode) for path in paths]

    assert executor().submit(modes).result(120) == [0o700, 0o700, 0o600]


def test_a_directory_that_was_opened_to_others_is_read_no_more(executor: Maker) -> None:
    def open_up() -> int:
        os.chmod(os.path.dirname(os.environ["SGE_STDOUT_PATH"]), 0o777)
        return 1

    with pytest.raises(TaskFailed, match="its result cannot be read: UnsafeFileError: .* with the mode 0700"):
        executor().submit(open_up).result(120)


def test_a_file_that_another_user_could_have_written_is_not_read(tmp_path: Path) -> None:
    from gridengine.api import worker

    place = tmp_path / "calls"
    place.mkdir(mode=0o770)
    place.chmod(0o770)
    with pytest.raises(worker.UnsafeFileError, match="with the mode 0700"):
        worker.check_private(place)
    (tmp_path / "link").symlink_to("/etc/hostname")
    with pytest.raises(OSError):
        worker.open_own(tmp_path / "link")
    if os.geteuid() == 0:
        (tmp_path / "theirs").write_text("x")
        os.chown(tmp_path / "theirs", 12345, 12345)
        with pytest.raises(worker.UnsafeFileError, match="is not yours"):
            worker.open_own(tmp_path / "theirs")
    done = subprocess.run(
        [sys.executable, "-P", worker.__file__, str(place)], env={"SGE_TASK_ID": "1"}, capture_output=True, text=True
    )
    assert done.returncode == 1 and done.stderr == f"worker: {place} must be a directory of yours with the mode 0700\n"


def test_a_program_that_ends_waits_for_its_calls(demo_cell: DemoCell, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "from gridengine.api import GridExecutor\n"
        f"ex = GridExecutor(directory={str(tmp_path / 'calls')!r})\n"
        "ex.submit(pow, 2, 5).add_done_callback(lambda future: print(future.result()))\n"
    )
    done = run([sys.executable, str(program)], env=demo_cell.environment, timeout=120)
    assert (done.stdout, done.stderr, done.returncode) == ("32\n", "", 0)


def test_a_deleted_task_is_named(executor: Maker, demo_cell: DemoCell) -> None:
    future = executor(holds="u").submit(pow, 1, 2)
    eventually("it waits", lambda: future.job_id)
    with Cell(str(demo_cell.place), "test") as cell:
        cell.delete(future.job_id)
    with pytest.raises(TaskFailed, match="it was deleted before it began"):
        future.result(120)
