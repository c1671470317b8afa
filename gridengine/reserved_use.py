"""What was used of an advance reservation: slots times seconds that it held, that its jobs ran, and that nobody had.

Owns these definitions. Pure. Called by qacct. Source: AR-124; adr/0127.
"""

TYPE_CHECKING = False  # as typing has it: clients pay for every import
if TYPE_CHECKING:
    from collections.abc import Iterable

    Span = tuple[float, float, int]


class ReservedUse:
    """Of a reservation that held slots in these spans (begin, end, slots), and whose jobs had slots in those.

    `reserved`, `used`, `idle` in slot seconds; jobs count as far as they ran while it held its slots. `slots`: the most that it
    held. `most_used`: the most that its jobs had at a time; what is beyond it, its jobs never needed.
    """

    def __init__(self, held: "Iterable[Span]", jobs: "Iterable[Span]") -> None:
        stood = [span for span in held if span[1] > span[0]]
        self.begin = min((begin for begin, _, _ in stood), default=0.0)
        self.end = max((end for _, end, _ in stood), default=0.0)
        self.slots = max((slots for _, _, slots in stood), default=0)
        self.reserved = sum((end - begin) * slots for begin, end, slots in stood)
        inside = [(max(begin, self.begin), min(end, self.end), slots) for begin, end, slots in jobs]
        inside = [span for span in inside if span[1] >= span[0]]
        self.used = sum((end - begin) * slots for begin, end, slots in inside)
        self.idle = max(0.0, self.reserved - self.used)
        self.most_used = min(_most_at_a_time(inside), self.slots)

    @property
    def used_share(self) -> float:
        """Of what was reserved; 0 if nothing was."""
        return min(1.0, self.used / self.reserved) if self.reserved else 0.0

    @property
    def never_used_share(self) -> float:
        """Of its slots; 0 if it never held any."""
        return 1.0 - self.most_used / self.slots if self.slots else 0.0


def _most_at_a_time(spans: "Iterable[Span]") -> int:
    """The most slots that were taken at once; what ends makes room for what begins, and what took no time took a slot."""
    steps: list[tuple[float, int]] = []
    for begin, end, slots in spans:
        steps += [(begin, slots), (max(end, begin + _MOMENT_S), -slots)]
    most = taken = 0
    for _, change in sorted(steps):
        taken += change
        most = max(most, taken)
    return most


_MOMENT_S = 0.5
