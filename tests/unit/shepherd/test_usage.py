"""The sum of a job's memory, and the times of its measurement (EX-8)."""

from __future__ import annotations

import os
from resource import struct_rusage

import pytest

from shepherd import usage
from shepherd.usage import GIGABYTE, JobUsage


@pytest.fixture
def memory(monkeypatch: pytest.MonkeyPatch) -> dict[int, int]:
    """Virtual memory of processes, in bytes, as /proc would show it."""
    held: dict[int, int] = {}

    def stat_fields(pid: int) -> list[bytes] | None:
        return [str(held[pid] if index == 20 else 0).encode() for index in range(40)] if pid in held else None

    monkeypatch.setattr(usage, "stat_fields", stat_fields)
    monkeypatch.setattr(usage, "io_bytes", lambda pid: 0)
    return held


@pytest.mark.statement("EX-8")
def test_every_job_is_looked_at_early_and_then_left_alone() -> None:
    used = JobUsage()
    assert used.deadline() is None
    used.began(100.0)
    looks = []
    while (at := used.deadline()) is not None:
        looks.append(at - 100.0)
        assert not used.due(at - 0.1)
        assert used.due(at)
    assert looks == [1, 3, 7, 15, 31]


@pytest.mark.statement("EX-8")
def test_memory_counts_from_the_start_of_the_job_to_its_end(memory: dict[int, int]) -> None:
    used = JobUsage()
    used.began(100.0)
    memory[7] = 2 * GIGABYTE
    used.sample([7], 101.0)
    memory[7] = 4 * GIGABYTE
    used.sample([7], 103.0)
    used.ended(104.0)
    final = used.final(4.0)
    assert final["mem"] == pytest.approx(2 * 1 + 3 * 2 + 4 * 1)
    assert final["maxvmem"] == 4 * GIGABYTE
    assert used.deadline() is None


@pytest.mark.statement("EX-8")
def test_job_that_was_never_looked_at_has_no_memory() -> None:
    used = JobUsage()
    used.began(100.0)
    used.ended(100.5)
    assert used.final(0.5)["mem"] == 0


def ended(**rusage: float) -> struct_rusage:
    """The rusage of a process that has ended."""
    names = "ru_utime ru_stime ru_maxrss ru_ixrss ru_idrss ru_isrss ru_minflt ru_majflt ru_nswap ru_inblock ru_oublock ru_msgsnd"
    order = [*names.split(), "ru_msgrcv", "ru_nsignals", "ru_nvcsw", "ru_nivcsw"]
    return struct_rusage([rusage.get(name, 0) for name in order])


def stat(utime: int = 0, cutime: int = 0, vsize: int = 0, pages: int = 0) -> list[bytes]:
    """/proc/PID/stat from the state on: stime is 3 ticks, cstime 4."""
    fields = {11: utime, 12: 3, 13: cutime, 14: 4, 20: vsize, 21: pages}
    return [str(fields.get(index, 10**6)).encode() for index in range(40)]


@pytest.mark.statement("EX-8", "AC-2")
def test_usage_of_ended_processes_is_added_up() -> None:
    used = JobUsage()
    used.add_reaped(ended(ru_utime=1.5, ru_stime=0.5, ru_maxrss=300, ru_minflt=7, ru_nivcsw=1), GIGABYTE)
    used.add_reaped(ended(ru_utime=2.0, ru_maxrss=200, ru_minflt=1), 2 * GIGABYTE)
    final = used.final(9.0)
    assert (final["ru_wallclock"], final["cpu"], final["io"], final["iow"]) == (9.0, 4.0, 3.0, 0.0)
    assert (final["ru_utime"], final["ru_stime"], final["ru_maxrss"]) == (3.5, 0.5, 300)
    assert (final["ru_minflt"], final["ru_nivcsw"], final["maxvmem"]) == (8, 1, 0)


@pytest.mark.statement("AC-2")
def test_memory_that_no_sample_has_seen() -> None:
    used = JobUsage()
    used.add_reaped(ended(ru_maxrss=10 * GIGABYTE // 1024), 0)
    assert used.final(0.1)["maxvmem"] == 10 * GIGABYTE
    used.note_memory(5 * GIGABYTE)
    assert used.final(0.1)["maxvmem"] == 10 * GIGABYTE
    used = JobUsage()
    used.add_reaped(ended(ru_maxrss=300), 0)
    assert used.final(0.1)["maxvmem"] == 0, "as much as the shepherd that the process was at first"


def test_every_byte_of_ended_processes_counts() -> None:
    used = JobUsage()
    used.add_reaped(ended(), 1000)
    used.add_reaped(ended(), 24)
    assert used.final(1.0)["io"] * GIGABYTE == 1024


@pytest.mark.statement("EX-8")
def test_a_running_job_shows_what_its_processes_have_used_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    running = {7: stat(1, 2, GIGABYTE, 5), 8: stat(10, 20, 2 * GIGABYTE, 1)}
    monkeypatch.setattr(usage, "stat_fields", running.get)
    monkeypatch.setattr(usage, "io_bytes", lambda pid: pid * GIGABYTE)
    used = JobUsage()
    used.began(100.0)
    used.add_reaped(ended(ru_utime=1.0, ru_stime=0.5), GIGABYTE)
    used.sample([7, 99, 8], 101.0)
    ticks, page = os.sysconf("SC_CLK_TCK"), os.sysconf("SC_PAGE_SIZE")
    current_values = used.current_values()
    assert current_values["cpu"] == pytest.approx(1.5 + (1 + 3 + 2 + 4 + 10 + 3 + 20 + 4) / ticks)
    assert [current_values[name] for name in ("vmem", "maxvmem", "rss", "io")] == [3 * GIGABYTE, 3 * GIGABYTE, 6 * page, 16.0]
    used.sample([7], 102.0)
    later = used.current_values()
    assert [later[name] for name in ("vmem", "maxvmem", "rss")] == [GIGABYTE, 3 * GIGABYTE, 5 * page]
    assert (later["io"], later["cpu"]) == (16.0, current_values["cpu"]), "usage never decreases"


@pytest.mark.statement("EX-8", "EX-6")
def test_the_processor_time_of_a_cgroup_is_exact(memory: dict[int, int]) -> None:
    memory[7] = 0
    used = JobUsage()
    used.sample([7], 101.0, 5.0)
    assert used.cpu_s == 5.0
    used.sample([7], 102.0, 4.0)
    assert used.cpu_s == 5.0


@pytest.mark.statement("EX-8", "EX-6")
def test_the_memory_of_a_cgroup_replaces_address_spaces(memory: dict[int, int]) -> None:
    memory[7] = 64 * GIGABYTE
    used = JobUsage()
    used.began(100.0)
    used.sample([7], 101.0, None, 2 * GIGABYTE)
    assert used.current_values()["vmem"] == used.current_values()["maxvmem"] == 2 * GIGABYTE
    assert used.final(1.0)["mem"] == 2.0


@pytest.mark.statement("EX-8")
def test_looks_that_were_missed_count_once_and_none_comes_after_the_end() -> None:
    used = JobUsage()
    used.began(100.0)
    assert used.due(107.0)
    assert not used.due(107.0)
    assert used.deadline() == 115.0
    used.ended(108.0)
    assert used.deadline() is None and not used.due(200.0)


@pytest.mark.statement("EX-8")
def test_memory_does_not_count_beyond_the_end_nor_before_the_start(memory: dict[int, int]) -> None:
    memory[7] = GIGABYTE
    early = JobUsage()
    early.sample([7], 50.0)
    assert early.mem_gb_s == 0.0
    used = JobUsage()
    used.began(100.0)
    used.sample([7], 102.0)
    used.ended(103.0)
    used.ended(200.0)
    assert used.final(3.0)["mem"] == pytest.approx(3.0)


@pytest.mark.statement("EX-8")
def test_input_and_output_are_characters_read_and_written(monkeypatch: pytest.MonkeyPatch) -> None:
    def read_proc(path: str) -> bytes:
        if path == "/proc/7/io":
            return b"rchar: 1000\nwchar: 20\nsyscr: 3\nsyscw: 4\n"
        if path == "/proc/8/io":
            return b""  # a zombie's
        raise PermissionError

    monkeypatch.setattr(usage, "read_proc", read_proc)
    assert [usage.io_bytes(pid) for pid in (7, 8, 9)] == [1020, 0, 0]
