"""Utilisation of an advance reservation in slot seconds: reserved, used and idle.

Owns these definitions. Pure. Called by qacct. Source: AR-124; adr/0127.
"""

TYPE_CHECKING = False  # as typing has it: clients pay for every import
if TYPE_CHECKING:
    from collections.abc import Iterable

    Span = tuple[float, float, int]


class ReservationUtilisation:
    """Utilisation of a reservation. `held`: its spans (begin, end, slots); `jobs`: the spans of its jobs.

    `reserved`, `used`, `idle` in slot seconds; jobs count only while the reservation held slots. `slots`: the maximum that it
    held. `most_used`: the maximum that its jobs used at a time; its jobs never needed the remaining slots.
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
        self.most_used = min(_max_concurrent_slots(inside), self.slots)

    @property
    def used_share(self) -> float:
        """The used part of the reserved slot seconds; 0 if nothing was reserved."""
        return min(1.0, self.used / self.reserved) if self.reserved else 0.0

    @property
    def never_used_share(self) -> float:
        """The part of its slots that jobs never used; 0 if it never held any."""
        return 1.0 - self.most_used / self.slots if self.slots else 0.0


def _max_concurrent_slots(spans: "Iterable[Span]") -> int:
    """The maximum number of slots in use at a time; a span may start in the slot of a span that ends at that moment, and a span
    without duration still counts."""
    steps: list[tuple[float, int]] = []
    for begin, end, slots in spans:
        steps += [(begin, slots), (max(end, begin + _MIN_SPAN_S), -slots)]
    most = taken = 0
    for _, change in sorted(steps):
        taken += change
        most = max(most, taken)
    return most


_MIN_SPAN_S = 0.5
