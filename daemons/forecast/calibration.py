"""Calibration: forecasts of the past beside the starts that followed, and the ranges that this comparison gives.

Owns the factor by which a wait differed from the expected wait, and its quantiles by the length of the expected wait. A job that
still waits counts as one that waits longer (Kaplan and Meier), else long waits would be missing. Pure. Called by `start`; the
file is `forecast_file`'s. Source: adr/0330.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Container, Mapping, Sequence
from statistics import median
from typing import Any

from msgspec import Struct

PART = 0.8
"""The part of all starts that a range holds."""
AIMS = (0.8, 0.97)
"""Least and greatest part of the compared starts that a range is made to hold: more than PART where the next starts differ."""
MARGIN = 0.05
"""Added to PART, since the next starts differ a little from those compared."""
CHECKED = 100
"""Ranges of the past, of one class, whose outcomes move the aim between its bounds."""
LEAST = 40
"""Comparisons from which factors are learned."""
NEWEST = 400
"""Forecasts of one class from which factors are learned."""
MOST = 3000
"""Forecasts that are remembered."""
LEAST_APART_S = 600.0
"""Seconds between two moments of remembered forecasts."""
SOFT_S = 60.0
"""Added to both waits of a factor: a minute more or less is no matter of a factor."""
LONGEST_S = 60 * 86_400.0
"""Age at which a forecast without a start is forgotten."""
CLASSES_S = (600.0, 3600.0, 4 * 3600.0, 12 * 3600.0, 86_400.0, float("inf"))
"""Upper ends of the classes of expected waits."""


class Remembered(Struct, array_like=True):
    """A forecast for a `job`, made at `asked` (epoch s). `expected`: wait in s by usual run times; `overtaken`: newer jobs tended
    to come before it; `low`, `high`: the learned range in s, -1 for none; `started`: epoch s, 0 while the job waits."""

    job: int
    asked: float
    expected: float
    overtaken: bool = False
    low: float = -1.0
    high: float = -1.0
    started: float = 0.0

    @property
    def wait(self) -> float:
        return self.started - self.asked

    @property
    def is_within(self) -> bool:
        """Whether the job started in the range, to a second."""
        return self.low - 1.0 <= self.wait <= self.high + 1.0


def class_of(expected: float) -> int:
    """The index in CLASSES_S of an expected wait in seconds."""
    return bisect_right(CLASSES_S, expected)


class Calibration:
    """The `remembered` forecasts, the oldest first."""

    def __init__(self, remembered: list[Remembered]) -> None:
        self.remembered = remembered
        self._factors: dict[tuple[int, bool, float], tuple[float, float, int] | None] = {}

    def waiting(self) -> set[int]:
        """The jobs whose starts are not known yet."""
        return {each.job for each in self.remembered if not each.started}

    def note_starts(self, starts: Mapping[int, Sequence[float]], present: Container[int], now: float) -> None:
        """Note the first start after each forecast. `starts`: job -> starts of its tasks; `present`: jobs that exist. A job
        gone without a start is forgotten."""
        kept = []
        for each in self.remembered:
            if not each.started:
                later = [start for start in starts.get(each.job, ()) if start >= each.asked - 1.0]
                each.started = min(later, default=0.0)
            if each.started or (each.job in present and now - each.asked < LONGEST_S):
                kept.append(each)
        self.remembered = kept[-MOST:]
        self._factors.clear()

    def is_due(self, now: float) -> bool:
        """Whether new forecasts may be noted: many of the same moment would outweigh the rest."""
        return not self.remembered or now - self.remembered[-1].asked >= LEAST_APART_S

    def note(self, forecasts: Sequence[Remembered]) -> None:
        """Remember new forecasts."""
        self.remembered = [*self.remembered, *forecasts][-MOST:]

    def range(self, expected: float, overtaken: bool, now: float) -> tuple[float, float, int] | None:
        """The narrowest range of waits in s that held enough of the compared starts, and the number of forecasts. expected: s;
        `overtaken`: as of `Remembered`. None: too few are compared."""
        key = class_of(expected), overtaken, now
        if key not in self._factors:
            self._factors[key] = self._learned(class_of(expected), overtaken, now)
        factors = self._factors[key]
        if factors is None:
            return None
        low, high, count = factors
        return max(0.0, (expected + SOFT_S) * low - SOFT_S), max(0.0, (expected + SOFT_S) * high - SOFT_S), count

    def _learned(self, number: int, overtaken: bool, now: float) -> tuple[float, float, int] | None:
        """The factors of forecasts alike: as far ahead and as often overtaken, else as often overtaken, else all."""
        alike = [each for each in self.remembered if each.overtaken == overtaken]
        own = [each for each in alike if class_of(each.expected) == number]
        for chosen in (own[-NEWEST:], alike[-NEWEST:], self.remembered[-NEWEST:]):
            if sum(1 for each in chosen if each.started) >= LEAST:
                low, high = _narrowest(_distribution(chosen, now), self._aim(number, now))
                return low, high, len(chosen)
        return None

    def _aim(self, number: int, now: float) -> float:
        """The part of the compared starts that a range of this class is made to hold: more where the last ranges of the class,
        else the last of all, held less than they should."""
        ranged = [each for each in self.remembered if each.high >= 0]
        over = [each for each in ranged if each.started or now - each.asked > each.high]
        own = [each for each in over if class_of(each.expected) == number]
        for checked in (own[-CHECKED:], over[-CHECKED:]):
            if len(checked) >= LEAST:
                held = sum(1 for each in checked if each.started and each.is_within) / len(checked)
                return min(AIMS[1], max(AIMS[0], PART + MARGIN + (PART - held)))
        return AIMS[0] + (AIMS[1] - AIMS[0]) / 2

    def figures(self) -> list[dict[str, Any]]:
        """Forecasts with a range, by the expected wait. `up_to`: s, None for the last class; `count`: started jobs;
        `within`, `early`, `late`: parts of them; `width`: median of the ranges in s; `wait`: median in s; `waiting`: not
        started."""
        return [self._figures(number) for number in range(len(CLASSES_S))]

    def _figures(self, number: int) -> dict[str, Any]:
        ranged = [each for each in self.remembered if each.high >= 0 and class_of(each.expected) == number]
        done = [each for each in ranged if each.started]
        count, last = len(done), number == len(CLASSES_S) - 1
        early = sum(1 for each in done if each.wait < each.low - 1.0)
        late = sum(1 for each in done if each.wait > each.high + 1.0)
        row: dict[str, Any] = {"up_to": None if last else CLASSES_S[number], "count": count, "waiting": len(ranged) - count}
        row |= {"within": (count - early - late) / count, "early": early / count, "late": late / count} if count else {}
        if not count:
            return row
        return row | {"width": median(each.high - each.low for each in done), "wait": median(each.wait for each in done)}


def _distribution(forecasts: Sequence[Remembered], now: float) -> list[tuple[float, float]]:
    """(factor, part of all jobs with at most this factor), by the product limit of Kaplan and Meier."""
    points = []
    for each in forecasts:
        wait = (each.started or now) - each.asked
        points.append(((max(0.0, wait) + SOFT_S) / (each.expected + SOFT_S), not each.started))
    points.sort()
    found, left = [], 1.0
    for index, (factor, still_waits) in enumerate(points):
        if not still_waits:
            left *= 1.0 - 1.0 / (len(points) - index)
            found.append((factor, 1.0 - left))
    return found


def _narrowest(distribution: Sequence[tuple[float, float]], aim: float) -> tuple[float, float]:
    """The narrowest factors between which `aim` of a distribution lies; its ends where it is not known that far."""
    best, end = (distribution[0][0], distribution[-1][0]), 0
    before = 0.0
    for low, part in distribution:
        while end < len(distribution) and distribution[end][1] - before < aim - 1e-9:
            end += 1
        if end == len(distribution):
            break
        if distribution[end][0] - low < best[1] - best[0]:
            best = low, distribution[end][0]
        before = part
    return best
