"""The log of attempts: messages that it refuses, attempts that it keeps over restarts, and when it forgets them."""

from __future__ import annotations

from pathlib import Path

import pytest

from daemons.execd import attempt_log as module
from daemons.execd.attempt_log import AttemptLog
from gridengine.protocols.delivery import Batch

KEY, JOB = (12, 1, 1), 1.5


def attempt_log(place: Path, now_ms: int = 1) -> AttemptLog:
    """The attempt log of a host that has just (re)started."""
    return AttemptLog(place / "tries", now_ms)


@pytest.mark.statement("EX-9")
def test_an_attempt_is_known_until_the_master_knows_its_end(tmp_path: Path) -> None:
    host = attempt_log(tmp_path)
    assert host.obey((7, 40)) and not host.has_ended(KEY, JOB)
    assert host.accept_answer(Batch(master=(7, 45)), with_inventory=False)
    host.add({KEY: JOB})
    assert host.obey((7, 44)) and host.has_ended(KEY, JOB), "computed before the end was on disk"
    assert attempt_log(tmp_path).has_ended(KEY, JOB), "a restart of the host forgets nothing"
    assert host.obey((7, 45)) and not host.has_ended(KEY, JOB)


def test_another_job_of_the_same_number_is_another_job(tmp_path: Path) -> None:
    host = attempt_log(tmp_path)
    host.add({KEY: JOB})
    assert not host.has_ended(KEY, JOB + 1)


@pytest.mark.statement("EX-9", "SP-3")
def test_messages_that_come_late_are_refused(tmp_path: Path) -> None:
    host = attempt_log(tmp_path)
    assert host.obey((7, 40)) and host.obey((7, 40)) and not host.obey((7, 39))
    assert host.obey((8, 3)), "a master that was started again may have lost what it had not written"
    assert not host.obey((7, 99))
    assert not attempt_log(tmp_path).obey((7, 99)), "nor after a restart of the host"


def test_the_answer_to_an_inventory_outdates_earlier_messages(tmp_path: Path) -> None:
    host = attempt_log(tmp_path)
    assert host.obey((7, 40)) and host.accept_answer(Batch(master=(7, 42)), with_inventory=True)
    assert not host.is_current((7, 41))
    assert host.accept_answer(Batch(master=(7, 41)), with_inventory=True)
    assert not host.is_current((7, 41)), "it came after a later one"


def test_an_answer_of_an_earlier_master_counts_for_nothing(tmp_path: Path) -> None:
    host = attempt_log(tmp_path)
    assert host.obey((8, 1)) and not host.accept_answer(Batch(master=(7, 99)), with_inventory=False)


def test_a_refused_host_turns_to_the_master_that_is_there(tmp_path: Path) -> None:
    host = attempt_log(tmp_path)
    assert host.make_batch([]).master == (0, 0)
    assert not host.accept_answer(Batch(master=(9, 5), refused=True), with_inventory=False)
    assert host.make_batch([]).master == (9, 5)


def test_batches_are_in_order_over_restarts_and_clocks_that_are_set_back(tmp_path: Path) -> None:
    first = attempt_log(tmp_path, now_ms=1000)
    identities = [first.make_batch([]).host, first.make_batch([]).host]
    identities.append(attempt_log(tmp_path, now_ms=500).make_batch([]).host)
    (tmp_path / "tries").unlink()
    new = attempt_log(tmp_path, now_ms=10)
    assert not new.accept_answer(Batch(master=(1, 1), refused=True, host=identities[-1]), with_inventory=False)
    identities.append(new.make_batch([]).host)
    assert identities == sorted(set(identities))


def test_a_torn_line_loses_nothing_else(tmp_path: Path) -> None:
    host = attempt_log(tmp_path)
    host.add({KEY: JOB})
    with (tmp_path / "tries").open("a") as file:
        file.write('["try", [13, 1')
    assert attempt_log(tmp_path).has_ended(KEY, JOB)


def test_a_full_disk_loses_nothing_either(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    host = attempt_log(tmp_path)
    with monkeypatch.context() as full:
        full.setattr(module.os, "write", lambda descriptor, data: len(data) // 2)
        host.add({KEY: JOB})
    assert host.has_ended(KEY, JOB)
    host.add({(13, 1, 1): JOB})
    again = attempt_log(tmp_path)
    assert again.has_ended(KEY, JOB) and again.has_ended((13, 1, 1), JOB)


def test_the_file_does_not_grow_forever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module.os, "fdatasync", lambda descriptor: None)
    host = attempt_log(tmp_path)
    for revision in range(3 * module.MAX_OBSOLETE_LINES):
        host.add({(revision, 1, 1): JOB})
        assert host.obey((7, revision))
    assert len((tmp_path / "tries").read_text().splitlines()) < module.MAX_OBSOLETE_LINES + 10
