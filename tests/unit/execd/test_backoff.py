"""Pauses between retries: they grow, and differ between hosts."""

from __future__ import annotations

import random
from collections import Counter

from daemons.execd.backoff import backoff_s

FIRST_S, LONGEST_S = 0.25, 4.0


def tries(seed: int, count: int) -> list[float]:
    """Times of a host's retries after its master was lost, in seconds from then on."""
    jitter, moment, moments = random.Random(seed), 0.0, []
    for failures in range(1, count + 1):
        moment += backoff_s(failures, jitter.random(), FIRST_S, LONGEST_S)
        moments.append(moment)
    return moments


def test_a_pause_doubles_up_to_the_longest() -> None:
    assert [backoff_s(failures, 1.0, FIRST_S, LONGEST_S) for failures in (1, 2, 3, 4, 5, 6)] == [0.25, 0.5, 1.0, 2.0, 4.0, 4.0]
    assert backoff_s(10**9, 1.0, FIRST_S, LONGEST_S) == LONGEST_S


def test_chance_takes_no_more_than_half_of_a_pause() -> None:
    for failures in range(1, 9):
        assert backoff_s(failures, 0.0, FIRST_S, LONGEST_S) * 2 == backoff_s(failures, 1.0, FIRST_S, LONGEST_S)


def test_a_hundred_hosts_come_back_one_after_the_other() -> None:
    """Of a hundred hosts that lost the master at one moment, few try in the same tenth of a second, all of them in 4 s."""
    for away_s in (5.0, 60.0):
        first_after = [next(moment for moment in tries(seed, 100) if moment >= away_s) for seed in range(100)]
        assert max(first_after) - away_s <= LONGEST_S
        crowd = Counter(int((moment - away_s) * 10) for moment in first_after)
        assert max(crowd.values()) <= 12, crowd
