"""Sets of task ids and of slot counts: `1-4,7,9-20:2` and `2-8,16-`.

Owns their syntax, arithmetic and print form. Must not import anything slow: clients load it. Called by submission,
state (pending tasks of array jobs), placement and rendering. Readers raise InvalidValueError.

Grammar (sge_types(5) range, parallel_env):
    ranges      = part {("," | blank) part}        part = n [("-" | ":") m [":" s]]        1 <= n <= m, s >= 1
    slot_ranges = slots {"," slots}                slots = n | n "-" m | "-" m | n "-"
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from itertools import islice

from gridengine.errors import InvalidValueError
from gridengine.values.bitmap import Bitmap, Run

#: upper end of an open slot range such as `4-`
MAX_SLOTS = 9999999
_MAX_ID = 4294967295
#: more runs become a bitmap, unless they are so far apart that the bitmap would be larger
_MAX_RUNS = 1024
_IDS_PER_RUN = 512
#: ids over which a text may combine progressions of different steps: a bit each, and a request may do it often
_MAX_COMBINED_SPAN = 1 << 20


def _id(text: str, whole: str) -> int:
    if not (text.isascii() and text.isdigit()) or len(text) > 10:
        raise InvalidValueError(f'"{whole}" is not a range: "{text}" is not a positive number')
    if not 1 <= int(text) <= _MAX_ID:
        raise InvalidValueError(f'"{whole}" is not a range: {int(text)} is not within 1 and {_MAX_ID}')
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
        raise InvalidValueError(f'"{text}" is not a range: its end is below its start')
    return range(low, high + 1, step)


def _trim(run: range) -> range:
    """The same members with `stop` right behind the last member, and step 1 for a single member."""
    last = run[-1]
    return range(run.start, last + 1, run.step if last > run.start else 1)


def _join(first: Run, second: range) -> range | None:
    """One run for two neighbours, or None. Runs of one member take any step."""
    if not isinstance(first, range):
        return None
    gap = second.start - first[-1]
    if (len(first) == 1 or first.step == gap) and (len(second) == 1 or second.step == gap):
        return range(first.start, second[-1] + 1, gap)
    return None


def _compact(runs: Iterable[Run]) -> tuple[Run, ...]:
    """Join neighbours of an ascending sequence of runs that do not interleave."""
    compact: list[Run] = []
    for run in runs:
        if not isinstance(run, range):
            compact.append(run)
            continue
        if not run:
            continue
        trimmed = _trim(run)
        joined = _join(compact[-1], trimmed) if compact else None
        if joined is None:
            compact.append(trimmed)
        else:
            compact[-1] = joined
    if len(compact) > _MAX_RUNS and compact[-1][-1] - compact[0].start < _IDS_PER_RUN * len(compact):
        return (Bitmap.of(compact),)
    return tuple(compact)


def _runs_of(ids: Iterable[int]) -> tuple[Run, ...]:
    return _compact(range(i, i + 1) for i in sorted(set(ids)))


def _runs_of_bitmap(bitmap: Bitmap | None) -> tuple[Run, ...]:
    """The runs with the same members as a bitmap; the bitmap itself if the runs would be too many."""
    if bitmap is None:
        return ()
    return _compact(bitmap.progressions(_MAX_RUNS) or (bitmap,))


class Ranges:
    """An immutable set of positive ids, kept as ascending runs that do not interleave.

    A run is an arithmetic progression, or a bitmap where progressions of different steps interleave. A million ids of an
    array job are one progression, and become one bitmap without every third of them; single ids are examined in neither.
    """

    __slots__ = ("runs",)

    def __init__(self, runs: Iterable[range] = ()) -> None:
        given: tuple[Run, ...] = tuple(run if run.step > 0 else run[::-1] for run in runs if run)
        self.runs = _union(given[:1], given[1:]) if len(given) > 1 else _compact(given)

    @classmethod
    def _of(cls, runs: tuple[Run, ...]) -> "Ranges":
        made = cls.__new__(cls)
        made.runs = runs
        return made

    @classmethod
    def parse(cls, text: str) -> "Ranges":
        """Read a list of ranges, separated by commas or blanks. Source: sge_types(5) range."""
        lists = [part.split() for part in text.split(",")]
        if not all(lists):
            raise InvalidValueError(f'"{text}" is not a list of ranges')
        runs = [_progression(part) for parts in lists for part in parts]
        first, last = min(run.start for run in runs), max(run[-1] for run in runs)
        if len(runs) > 1 and last - first >= _MAX_COMBINED_SPAN and any(run.step > 1 for run in runs):
            raise InvalidValueError(f'"{text}": ranges with a step can be combined over {_MAX_COMBINED_SPAN} ids at most')
        return cls(runs)

    @classmethod
    def load(cls, text: str) -> "Ranges":
        """Read the text of `dump`. Raises InvalidValueError or ValueError."""
        if not text:
            return cls()
        return cls._of(tuple(Bitmap.load(part) if "=" in part else _trim(_progression(part)) for part in text.split(",")))

    def dump(self) -> str:
        """The form of the journal, which is short for every set."""
        return ",".join(_text(run) if isinstance(run, range) else run.dump() for run in self.runs)

    @classmethod
    def of(cls, ids: Iterable[int]) -> "Ranges":
        """The set of the given ids."""
        return cls._of(_runs_of(ids))

    @classmethod
    def union_of(cls, sets: "Iterable[Ranges]") -> "Ranges":
        """All ids of these sets. The cost grows with the number of progressions, not of ids."""
        return cls._of(_union((), tuple(run for each in sets for run in each.runs)))

    def __len__(self) -> int:
        return sum(map(len, self.runs))

    def __bool__(self) -> bool:
        return bool(self.runs)

    def __contains__(self, task_id: object) -> bool:
        if not isinstance(task_id, int):
            return False
        position = bisect_right(self.runs, task_id, key=lambda run: run.start)
        return position > 0 and task_id in self.runs[position - 1]

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
        return ",".join(_text(run) if isinstance(run, range) else ",".join(_texts(run)) for run in self.runs)

    def summary(self) -> str:
        """For messages: as `__str__`; for a long text instead the number of ids, and the smallest and the largest."""
        whole = len(self.runs) <= 64 and all(isinstance(run, range) for run in self.runs)
        return str(self) if whole else f"{len(self)} of {self.first}-{self.last}"

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
        run = self.runs[0] if len(self.runs) == 1 else None
        return run.step if isinstance(run, range) else 1

    def take(self, count: int) -> "Ranges":
        """The `count` smallest ids."""
        taken: list[Run] = []
        for run in self.runs:
            if count <= 0:
                break
            if len(run) <= count:
                taken.append(run)
            else:
                taken += (run[:count],) if isinstance(run, range) else _runs_of(islice(run, count))
            count -= len(run)
        return Ranges._of(_compact(taken))

    def __or__(self, other: "Ranges") -> "Ranges":
        """Union."""
        if not other.runs or self.runs == other.runs:
            return self
        if not self.runs:
            return other
        return Ranges._of(_union(self.runs, other.runs))

    def __sub__(self, other: "Ranges") -> "Ranges":
        """Difference."""
        if not other.runs:
            return self
        return Ranges._of(_difference(self.runs, other.runs))

    def __and__(self, other: "Ranges") -> "Ranges":
        """Intersection."""
        return self if self.runs == other.runs else self - (self - other)

    def union(self, task_id: int) -> "Ranges":
        """The set with this id."""
        return self | Ranges._of((range(task_id, task_id + 1),))

    def minus(self, task_id: int) -> "Ranges":
        """The set without this id."""
        return self - Ranges._of((range(task_id, task_id + 1),))

    def widened(self, below: int, above: int) -> "Ranges":
        """Every id that is at most `below` before or `above` behind an id of the set; such ids may be less than 1."""
        wide = (
            (range(run.start - below, run[-1] + above + 1),)
            if isinstance(run, range) and (len(run) == 1 or run.step <= below + above + 1)
            else _runs_of_bitmap(Bitmap.of((run,)).widened(below, above))
            for run in self.runs
        )
        return Ranges.union_of(map(Ranges._of, wide))


def _text(run: range) -> str:
    return f"{run.start}-{run[-1]}:{run.step}" if len(run) > 2 else ",".join(map(str, run))


def _texts(ids: Iterable[int]) -> Iterator[str]:
    """Texts of the progressions of ascending ids, each as long as possible."""
    first = last = step = 0
    for number in ids:
        if not first:
            first = number
        elif not step:
            step = number - first
        elif number - last != step:
            yield _text(range(first, last + 1, step))
            first, step = number, 0
        last = number
    yield _text(range(first, last + 1, step or 1))


def _union(left: tuple[Run, ...], right: tuple[Run, ...]) -> tuple[Run, ...]:
    clusters: list[list[Run]] = []
    end = 0
    for run in sorted((*left, *right), key=lambda run: (run.start, -run[-1])):
        if clusters and run.start <= end:
            clusters[-1].append(run)
        else:
            clusters.append([run])
        end = max(end, run[-1])
    return _compact(run for cluster in clusters for run in (cluster if len(cluster) == 1 else _unite(cluster)))


def _unite(cluster: list[Run]) -> tuple[Run, ...]:
    """The union of runs with overlapping spans: one progression if that is possible."""
    widest = max(cluster, key=lambda run: (run[-1] - run.start, isinstance(run, range)))
    if isinstance(widest, range) and all(_continues(run, widest) for run in cluster):
        return (range(min(run.start for run in cluster), max(run[-1] for run in cluster) + 1, widest.step),)
    return _runs_of_bitmap(Bitmap.of(cluster))


def _difference(left: tuple[Run, ...], right: tuple[Run, ...]) -> tuple[Run, ...]:
    """The members of the left runs that no right run has, by one walk along the two sequences."""
    if left == right:
        return ()
    found: list[Run] = []
    first = 0
    for run in left:
        while first < len(right) and right[first][-1] < run.start:
            first += 1
        position = first
        while position < len(right) and right[position].start <= run[-1]:
            position += 1
        found += _minus(run, right[first:position])
    return _compact(found)


def _minus(run: Run, cuts: tuple[Run, ...]) -> Iterable[Run]:
    """A run without the members of `cuts`, which reach into its span, in ascending order."""
    if not cuts:
        return (run,)
    if isinstance(run, range) and all(_aligned(run, cut) for cut in cuts):
        found: list[Run] = []
        done = 0
        for cut in cuts:
            below = max(done, -(-(cut.start - run.start) // run.step))
            found.append(run[done:below])
            done = max(below, (cut[-1] - run.start) // run.step + 1)
        return [*found, run[done:]]
    windows = [window for cut in cuts if (window := _within(cut, run.start, run[-1]))]
    return _runs_of_bitmap(Bitmap.of((run,)).without(Bitmap.of(windows))) if windows else (run,)


def _aligned(run: range, other: Run) -> bool:
    """Whether the other progression has every member of this run that lies within its span."""
    if not isinstance(other, range):
        return False
    step = other.step if len(other) > 1 else 1
    return (len(run) == 1 or run.step % step == 0) and (run.start - other.start) % step == 0


def _continues(run: Run, widest: range) -> bool:
    """Whether a run adds nothing to a progression, or goes on with its step."""
    if not isinstance(run, range) or not _aligned(run, widest):
        return False
    return len(run) == 1 or run.step == widest.step or (run.start >= widest.start and run[-1] <= widest[-1])


def _within(run: Run, first: int, last: int) -> Run | None:
    """The members from `first` to `last`; None if there are none."""
    if not isinstance(run, range):
        return run.within(first, last)
    below = max(0, -(-(first - run.start) // run.step))
    return run[below : max(below, (last - run.start) // run.step + 1)] or None


def parse_slot_ranges(text: str) -> tuple[tuple[int, int], ...]:
    """Slot counts of a `-pe` request as ascending, disjoint (low, high) pairs, both ends included.

    `-8` is 1-8, `4-` is 4-MAX_SLOTS, `8-4` is 4-8; touching ranges are joined. Source: sge_types(5) parallel_env.
    """
    pairs: list[tuple[int, int]] = []
    for part in text.split(","):
        low_text, dash, high_text = part.strip().partition("-")
        if not low_text and not high_text:
            raise InvalidValueError(f'"{text}" is not a list of slot ranges n, n-m, -m or n-')
        low = _id(low_text, text) if low_text else 1
        high = _id(high_text, text) if high_text else (MAX_SLOTS if dash else low)
        if max(low, high) > MAX_SLOTS:
            raise InvalidValueError(f'"{text}": more than {MAX_SLOTS} slots cannot be requested')
        pairs.append((min(low, high), max(low, high)))
    merged: list[tuple[int, int]] = []
    for low, high in sorted(pairs):
        if merged and low <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
        else:
            merged.append((low, high))
    return tuple(merged)


def format_slot_ranges(pairs: Iterable[tuple[int, int]]) -> str:
    """`2,4,5,7-9`: as `qstat -j` prints the range of a parallel job; two counts are listed."""
    return ",".join(f"{low}-{high}" if high - low > 1 else ",".join(map(str, range(low, high + 1))) for low, high in pairs)
