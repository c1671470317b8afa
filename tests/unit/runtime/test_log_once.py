"""A problem is logged once while it stays the same."""

from __future__ import annotations

from daemons.runtime.log_once import LogOnce


def test_a_text_is_new_until_it_changes() -> None:
    logged = LogOnce()
    assert [logged.is_new(text) for text in ("full", "full", "gone", "full")] == [True, False, True, True]


def test_a_problem_that_is_over_is_new_again() -> None:
    logged = LogOnce()
    assert not logged.clear() and not logged.clear("sub1")
    assert logged.is_new("full") and logged.clear() and not logged.clear()
    assert logged.is_new("full")


def test_each_subject_has_its_own_text() -> None:
    logged = LogOnce()
    assert logged.is_new("away", "sub1") and logged.is_new("away", "sub2")
    assert logged.clear("sub1") and logged.is_new("away", "sub1")
    assert not logged.is_new("away", "sub2")


def test_a_text_that_is_its_own_subject_is_new_once() -> None:
    logged = LogOnce()
    assert [logged.is_new(text, text) for text in ("a", "b", "a", "b")] == [True, True, False, False]
