"""Sets of task ids and of slot counts: `1-4,7,9-20:2` and `2-8,16-`.

Owns their syntax, arithmetic and print form. Must not import anything slow: clients load it. Called by submission,
state (pending tasks of array jobs), placement and rendering. Readers raise SyntaxFault.

Grammar (sge_types(5) range, parallel_env):
    ranges      = part {("," | blank) part}        part = n [("-" | ":") m [":" s]]        1 <= n <= m, s >= 1
    slot_ranges = slots {"," slots}                slots = n | n "-" m | "-" m | n "-"
"""

from collections.abc import Iterable, Iterator

from gridengine.errors import SyntaxFault

#: upper end of an open slot range such as `4-`
MAX_SLOTS = 9999999
_LARGEST_ID = 4294967295


def _id(text: str, whole: str) -> int:
    if not (text.isascii() and text.isdigit()) or len(text) > 10:
        raise SyntaxFault(f'"{whole}" is not a range: "{text}" is not a positive number')
    if not 1 <= int(text) <= _LARGEST_ID:
        raise SyntaxFault(f'"{whole}" is not a range: {int(text)} is not within 1 and {_LARGEST_ID}')
    return int(text)


def _progression(text: str) -> range:
    """One part of a list of ranges; some programs write `1:5` for `1-5`, as the original accepts."""
    low_text, dash, rest = text.partition("-")
    if not dash:
        low_text, dash, rest = text.partition(":")
    high_text, colon, step_text = rest.partition(":")
    low = _id(low_text, text)
    high = _id(high_text, text) if dash else low
    step = _id(step_text, text) if colon else 1
    if high < low:
        raise SyntaxFault(f'"{text}" is not a range: its end is below its start')
    return range(low, high + 1, step)


def _trim(run: range) -> range:
    """The same members with `stop` right behind the last one, and step 1 if there is one member."""
    last = run[-1]
    return range(run.start, last + 1, run.step if last > run.start else 1)


def _join(first: range, second: range) -> range | None:
    """One run for two neighbours, or None. Runs of one member take any step."""
    gap = second.start - first[-1]
    if (len(first) == 1 or first.step == gap) and (len(second) == 1 or second.step == gap):
        return range(first.start, second[-1] + 1, gap)
    return None


def _compact(runs: Iterable[range]) -> tuple[range, ...]:
    """Join neighbours of an ascending sequence of runs that do not interleave."""
    compact: list[range] = []
    for run in runs:
        if not run:
            continue
        trimmed = _trim(run)
        joined = _join(compact[-1], trimmed) if compact else None
        if joined is None:
            compact.append(trimmed)
        else:
            compact[-1] = joined
    return tuple(compact)


def _runs_of(ids: Iterable[int]) -> tuple[range, ...]:
    return _compact(range(i, i + 1) for i in sorted(set(ids)))


class Ranges:
    """An immutable set of positive ids, kept as ascending arithmetic progressions that do not interleave.

    A million ids of an array job are one progression. Union and difference cost the number of progressions;
    only where progressions of different steps interleave are single ids looked at.
    """

    __slots__ = ("runs",)

    def __init__(self, runs: Iterable[range] = ()) -> None:
        given = tuple(run if run.step > 0 else run[::-1] for run in runs if run)
        self.runs = _union(given[:1], given[1:]) if len(given) > 1 else _compact(given)

    @classmethod
    def _of(cls, runs: tuple[range, ...]) -> "Ranges":
        made = cls.__new__(cls)
        made.runs = runs
        return made

    @classmethod
    def parse(cls, text: str) -> "Ranges":
        """Read a list of ranges, separated by commas or blanks. Source: sge_types(5) range."""
        lists = [part.split() for part in text.split(",")]
        if not all(lists):
            raise SyntaxFault(f'"{text}" is not a list of ranges')
        return cls(_progression(part) for parts in lists for part in parts)

    @classmethod
    def of(cls, ids: Iterable[int]) -> "Ranges":
        """The set of the given ids."""
        return cls._of(_runs_of(ids))

    def __len__(self) -> int:
        return sum(map(len, self.runs))

    def __bool__(self) -> bool:
        return bool(self.runs)

    def __contains__(self, task_id: object) -> bool:
        return any(task_id in run for run in self.runs)

    def __iter__(self) -> Iterator[int]:
        for run in self.runs:
            yield from run

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Ranges):
            return NotImplemented
        if self.runs == other.runs:
            return True
        return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))

    def __hash__(self) -> int:
        return hash((len(self), self.runs[0].start, self.runs[-1][-1]) if self.runs else 0)

    def __repr__(self) -> str:
        return f"Ranges.parse({str(self)!r})" if self.runs else "Ranges()"

    def __str__(self) -> str:
        """As qstat prints task ids: progressions of three and more as `a-b:s`, others singly. Source: O (qstat)."""
        return ",".join(
            f"{run.start}-{run[-1]}:{run.step}" if len(run) > 2 else ",".join(map(str, run)) for run in self.runs
        )

    @property
    def first(self) -> int:
        """The smallest id; IndexError if empty."""
        return self.runs[0].start

    @property
    def last(self) -> int:
        """The largest id; IndexError if empty."""
        return self.runs[-1][-1]

    @property
    def step(self) -> int:
        """The step if the set is one progression, else 1."""
        return self.runs[0].step if len(self.runs) == 1 else 1

    def take(self, count: int) -> "Ranges":
        """The `count` smallest ids."""
        taken: list[range] = []
        for run in self.runs:
            if count <= 0:
                break
            taken.append(run[:count])
            count -= len(run)
        return Ranges._of(_compact(taken))

    def __or__(self, other: "Ranges") -> "Ranges":
        """Union."""
        return Ranges._of(_union(self.runs, other.runs))

    def __sub__(self, other: "Ranges") -> "Ranges":
        """Difference."""
        return Ranges._of(_difference(self.runs, other.runs))

    def __and__(self, other: "Ranges") -> "Ranges":
        """Intersection."""
        return self - (self - other)

    def union(self, task_id: int) -> "Ranges":
        """With one id more."""
        return self | Ranges._of((range(task_id, task_id + 1),))

    def minus(self, task_id: int) -> "Ranges":
        """Without one id."""
        return Ranges._of(_minus(self.runs, range(task_id, task_id + 1)))


def _interleave(first: range, second: range) -> bool:
    return first.start <= second[-1] and second.start <= first[-1]


def _union(left: tuple[range, ...], right: tuple[range, ...]) -> tuple[range, ...]:
    if not left or not right:
        return left or right
    clusters: list[list[range]] = []
    end = 0
    for run in sorted((*left, *right), key=lambda run: (run.start, -run[-1])):
        if clusters and run.start <= end:
            clusters[-1].append(run)
        else:
            clusters.append([run])
        end = max(end, run[-1])
    return _compact(run for cluster in clusters for run in _unite(cluster))


_FEW = 64
"""Runs that are compared one with another; in larger clusters looking at single ids is quicker."""


def _unite(cluster: list[range]) -> Iterable[range]:
    """The union of runs of which each reaches into the span of the others."""
    if len(cluster) > _FEW:
        return _runs_of(i for run in cluster for i in run)
    solid = [run for run in cluster if run.step == 1 and len(run) > 1]
    kept: list[range] = []
    for run in cluster:
        covered = any(run is not cover and run.start >= cover.start and run[-1] <= cover[-1] for cover in solid)
        if run not in kept and (not covered or run in solid):
            kept.append(run)
    first = kept[0]
    if all((run.start - first.start) % first.step == 0 and (len(run) == 1 or run.step == first.step) for run in kept):
        return (range(first.start, max(run[-1] for run in kept) + 1, first.step),)
    return _runs_of(i for run in kept for i in run)


def _difference(left: tuple[range, ...], right: tuple[range, ...]) -> tuple[range, ...]:
    """One walk along both: what lies before the next cut is done."""
    if not left or not right:
        return left
    found: list[range] = []
    first = 0
    for run in left:
        while first < len(right) and right[first][-1] < run.start:
            first += 1
        pieces: tuple[range, ...] = (run,)
        position = first
        while position < len(right) and right[position].start <= run[-1]:
            cut = right[position]
            done = next((i for i, piece in enumerate(pieces) if piece[-1] >= cut.start), len(pieces))
            found.extend(pieces[:done])
            pieces = _minus(pieces[done:], cut)
            position += 1
        found.extend(pieces)
    return _compact(found)


def _minus(runs: tuple[range, ...], cut: range) -> tuple[range, ...]:
    remaining: list[range] = []
    for run in runs:
        if not _interleave(run, cut):
            remaining.append(run)
            continue
        below = max(0, -(-(cut.start - run.start) // run.step))
        above = min(len(run), (cut[-1] - run.start) // run.step + 1)
        remaining.append(run[:below])
        window = run[below:above]
        aligned = cut.step == 1 or (cut.step == run.step and (run.start - cut.start) % cut.step == 0)
        if window and not aligned:
            remaining.extend(_runs_of(i for i in window if i not in cut))
        remaining.append(run[above:])
    return _compact(remaining)


def parse_slot_ranges(text: str) -> tuple[tuple[int, int], ...]:
    """Slot counts of a `-pe` request as ascending, disjoint (low, high) pairs, both ends included.

    `-8` is 1-8, `4-` is 4-MAX_SLOTS, `8-4` is 4-8, touching ranges are one. Source: sge_types(5) parallel_env.
    """
    pairs: list[tuple[int, int]] = []
    for part in text.split(","):
        low_text, dash, high_text = part.strip().partition("-")
        if not low_text and not high_text:
            raise SyntaxFault(f'"{text}" is not a list of slot ranges n, n-m, -m or n-')
        low = _id(low_text, text) if low_text else 1
        high = _id(high_text, text) if high_text else (MAX_SLOTS if dash else low)
        if max(low, high) > MAX_SLOTS:
            raise SyntaxFault(f'"{text}": more than {MAX_SLOTS} slots cannot be asked for')
        pairs.append((min(low, high), max(low, high)))
    merged: list[tuple[int, int]] = []
    for low, high in sorted(pairs):
        if merged and low <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
        else:
            merged.append((low, high))
    return tuple(merged)


def format_slot_ranges(pairs: Iterable[tuple[int, int]]) -> str:
    """`2,4-8`: as `qstat -j` prints the range of a parallel job."""
    return ",".join(str(low) if low == high else f"{low}-{high}" for low, high in pairs)
