"""The record of tries: what it refuses, what it keeps over restarts, and when it strikes off."""

from __future__ import annotations

from pathlib import Path

import pytest

from daemons.execd import tries as module
from daemons.execd.tries import Tries
from gridengine.delivery import Batch

KEY, JOB = (12, 1, 1), 1.5


def tries(place: Path, now_ms: int = 1) -> Tries:
    """The tries of a host that has just (re)started."""
    return Tries(place / "tries", now_ms)


@pytest.mark.statement("EX-9")
def test_a_try_is_known_until_the_master_has_spoken_of_its_end(tmp_path: Path) -> None:
    host = tries(tmp_path)
    assert host.obey((7, 40)) and not host.had(KEY, JOB)
    assert host.hear(Batch(master=(7, 45)), settling=False)
    host.add({KEY: JOB})
    assert host.obey((7, 44)) and host.had(KEY, JOB), "computed before the end was on disk"
    assert tries(tmp_path).had(KEY, JOB), "a restart of the host forgets nothing"
    assert host.obey((7, 45)) and not host.had(KEY, JOB)


def test_another_job_of_the_same_number_is_another_job(tmp_path: Path) -> None:
    host = tries(tmp_path)
    host.add({KEY: JOB})
    assert not host.had(KEY, JOB + 1)


@pytest.mark.statement("EX-9", "SP-3")
def test_words_that_come_late_are_refused(tmp_path: Path) -> None:
    host = tries(tmp_path)
    assert host.obey((7, 40)) and host.obey((7, 40)) and not host.obey((7, 39))
    assert host.obey((8, 3)), "a master that was started again may have lost what it had not written"
    assert not host.obey((7, 99))
    assert not tries(tmp_path).obey((7, 99)), "nor after a restart of the host"


def test_the_answer_to_an_inventory_outdates_what_was_said_before(tmp_path: Path) -> None:
    host = tries(tmp_path)
    assert host.obey((7, 40)) and host.hear(Batch(master=(7, 42)), settling=True)
    assert not host.is_current((7, 41))
    assert host.hear(Batch(master=(7, 41)), settling=True) and not host.is_current((7, 41)), "it came after a later one"


def test_an_answer_of_an_earlier_master_counts_for_nothing(tmp_path: Path) -> None:
    host = tries(tmp_path)
    assert host.obey((8, 1)) and not host.hear(Batch(master=(7, 99)), settling=False)


def test_a_refused_host_turns_to_the_master_that_is_there(tmp_path: Path) -> None:
    host = tries(tmp_path)
    assert host.letter([]).master == (0, 0)
    assert not host.hear(Batch(master=(9, 5), refused=True), settling=False)
    assert host.letter([]).master == (9, 5)


def test_letters_are_in_order_over_restarts_and_clocks_that_are_set_back(tmp_path: Path) -> None:
    first = tries(tmp_path, now_ms=1000)
    letters = [first.letter([]).host, first.letter([]).host]
    letters.append(tries(tmp_path, now_ms=500).letter([]).host)
    (tmp_path / "tries").unlink()
    new = tries(tmp_path, now_ms=10)
    assert not new.hear(Batch(master=(1, 1), refused=True, host=letters[-1]), settling=False)
    letters.append(new.letter([]).host)
    assert letters == sorted(set(letters))


def test_a_torn_line_loses_nothing_else(tmp_path: Path) -> None:
    host = tries(tmp_path)
    host.add({KEY: JOB})
    with (tmp_path / "tries").open("a") as file:
        file.write('["try", [13, 1')
    assert tries(tmp_path).had(KEY, JOB)


def test_a_full_disk_loses_nothing_either(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    host = tries(tmp_path)
    with monkeypatch.context() as full:
        full.setattr(module.os, "write", lambda descriptor, data: len(data) // 2)
        host.add({KEY: JOB})
    assert host.had(KEY, JOB)
    host.add({(13, 1, 1): JOB})
    again = tries(tmp_path)
    assert again.had(KEY, JOB) and again.had((13, 1, 1), JOB)


def test_the_file_does_not_grow_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module.os, "fdatasync", lambda descriptor: None)
    host = tries(tmp_path)
    for revision in range(3 * module._WASTE):
        host.add({(revision, 1, 1): JOB})
        assert host.obey((7, revision))
    assert len((tmp_path / "tries").read_text().splitlines()) < module._WASTE + 10
