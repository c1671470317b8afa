"""Sets of ids without a regular pattern: one bit for each id between the first and the last.

Owns the bits. A million ids of any pattern take 125 KB, and set operations a few microseconds. Used by `gridengine.values.ranges`
alone, where progressions interleave. Must not import anything slow: clients load it.
"""

from collections.abc import Iterable, Iterator

_BITS_OF_BYTE = tuple(tuple(bit for bit in range(8) if byte >> bit & 1) for byte in range(256))
"""Numbers of the bits of a byte that are set."""


class Bitmap:
    """An immutable, not empty set of ids: bit i of `bits` stands for `start + i`; the lowest bit is set."""

    __slots__ = ("bits", "start")

    def __init__(self, start: int, bits: int) -> None:
        below = (bits & -bits).bit_length() - 1
        self.start = start + below
        self.bits = bits >> below

    @classmethod
    def of(cls, runs: "Iterable[Run]") -> "Bitmap":
        """The union of at least one run."""
        runs = list(runs)
        start = min(run.start for run in runs)
        single = bytearray((max(run[-1] for run in runs) - start) // 8 + 1)
        bits = 0
        for run in runs:
            if len(run) == 1:
                single[(run.start - start) // 8] |= 1 << (run.start - start) % 8
            else:
                bits |= bits_of(run) << run.start - start
        return cls(start, bits | int.from_bytes(single, "little"))

    @classmethod
    def load(cls, text: str) -> "Bitmap":
        """Read the text of `dump`. Raises ValueError."""
        import base64
        import zlib

        start, _, packed = text.partition("=")
        bits = int.from_bytes(zlib.decompress(base64.b64decode(packed)), "little")
        if bits <= 0:
            raise ValueError("a bitmap without ids")
        return cls(int(start), bits)

    def dump(self) -> str:
        """`FIRST=BITS`, the bits packed, for the journal."""
        import base64
        import zlib

        data = self.bits.to_bytes(self.bits.bit_length() // 8 + 1, "little")
        return f"{self.start}={base64.b64encode(zlib.compress(data, 1)).decode()}"

    def __len__(self) -> int:
        return self.bits.bit_count()

    def __iter__(self) -> Iterator[int]:
        for position, byte in enumerate(self.bits.to_bytes(self.bits.bit_length() // 8 + 1, "little")):
            if byte:
                first = self.start + 8 * position
                for bit in _BITS_OF_BYTE[byte]:
                    yield first + bit

    def __contains__(self, number: object) -> bool:
        return isinstance(number, int) and number >= self.start and self.bits >> number - self.start & 1 == 1

    def __getitem__(self, index: int) -> int:
        """The last id; as with a range, -1 stands for it."""
        if index != -1:
            raise IndexError(index)
        return self.start + self.bits.bit_length() - 1

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Bitmap) and self.start == other.start and self.bits == other.bits

    def __hash__(self) -> int:
        return hash((self.start, self.bits))

    def within(self, first: int, last: int) -> "Bitmap | None":
        """The ids from `first` to `last`; None if there are none."""
        bits = self.bits & (1 << max(0, last - self.start + 1)) - 1
        low = max(first, self.start)
        bits >>= low - self.start
        return Bitmap(low, bits) if bits else None

    def without(self, other: "Bitmap") -> "Bitmap | None":
        """The ids that the other set does not have; None if there are none."""
        shift = other.start - self.start
        bits = self.bits & ~(other.bits << shift if shift >= 0 else other.bits >> -shift)
        return Bitmap(self.start, bits) if bits else None

    def progressions(self, max_count: int) -> "list[range] | None":
        """The same set as one progression or as at most `max_count` uninterrupted stretches; None if there are more."""
        edges = self.bits ^ self.bits << 1
        if edges.bit_count() <= 2 * max_count:
            ends = list(Bitmap(self.start, edges))
            return [range(first, stop) for first, stop in zip(ends[::2], ends[1::2], strict=True)]
        rest = self.bits >> 1
        run = range(self.start, self[-1] + 1, (rest & -rest).bit_length())
        return [run] if len(run) == len(self) and bits_of(run) == self.bits else None

    def widened(self, below: int, above: int) -> "Bitmap":
        """Every id that is at most `below` before or `above` behind an id of the set."""
        bits, done = self.bits, 0
        while done < below + above:
            step = min(done + 1, below + above - done)
            bits |= bits << step
            done += step
        return Bitmap(self.start - below, bits)


Run = range | Bitmap


def bits_of(run: Run) -> int:
    """The bits of a run, from its first id on."""
    if isinstance(run, Bitmap):
        return run.bits
    width = run[-1] - run.start + 1
    if run.step == 1:
        return (1 << width) - 1
    bits, covered = 1, run.step
    while covered < width:
        bits |= bits << covered
        covered *= 2
    return bits & (1 << width) - 1
