"""Pauses between retries: they grow, and differ between hosts."""

from __future__ import annotations

import random
from collections import Counter

from daemons.runtime.backoff import Backoff

FIRST_S, LONGEST_S = 0.25, 4.0


def retries(seed: int, count: int) -> list[float]:
    """Times of a host's retries after its master was lost, in seconds from then on."""
    backoff, moment, moments = Backoff(FIRST_S, LONGEST_S, random.Random(seed).random), 0.0, []
    for _ in range(count):
        moment += backoff.next_s()
        moments.append(moment)
    return moments


def test_a_pause_doubles_up_to_the_longest() -> None:
    backoff = Backoff(FIRST_S, LONGEST_S)
    assert [backoff.next_s() for _ in range(6)] == [0.25, 0.5, 1.0, 2.0, 4.0, 4.0]
    assert [backoff.next_s() for _ in range(5000)][-1] == LONGEST_S


def test_the_first_pause_follows_a_success() -> None:
    backoff = Backoff(FIRST_S, LONGEST_S)
    assert [backoff.next_s(), backoff.next_s()] == [0.25, 0.5]
    backoff.reset()
    assert backoff.next_s() == FIRST_S


def test_a_pause_may_have_a_limit_of_its_own() -> None:
    backoff = Backoff(1.0, 4.0)
    assert [backoff.next_s(longest_s) for longest_s in (None, None, 1.0, None, None, 60.0, 60.0, None)] == [
        1.0, 2.0, 1.0, 2.0, 4.0, 8.0, 16.0, 4.0
    ]


def test_chance_takes_no_more_than_half_of_a_pause() -> None:
    short, whole = Backoff(FIRST_S, LONGEST_S, lambda: 0.0), Backoff(FIRST_S, LONGEST_S, lambda: 1.0)
    assert all(short.next_s() * 2 == whole.next_s() for _ in range(8))


def test_a_hundred_hosts_come_back_one_after_the_other() -> None:
    """Of a hundred hosts that lost the master at one moment, few try in the same tenth of a second, all of them in 4 s."""
    for away_s in (5.0, 60.0):
        first_after = [next(moment for moment in retries(seed, 100) if moment >= away_s) for seed in range(100)]
        assert max(first_after) - away_s <= LONGEST_S
        crowd = Counter(int((moment - away_s) * 10) for moment in first_after)
        assert max(crowd.values()) <= 12, crowd
