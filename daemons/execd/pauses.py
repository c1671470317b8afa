"""How long an exec host waits before it tries again what has failed: longer each time, and every host another time.

Pure: chance comes in. A hundred hosts lose the same master at the same moment; without chance they would all come back in one.
Called by the supervisor and by whoever watches the head.
"""

from __future__ import annotations

_DOUBLINGS = 30  # beyond which no pause grows: a power of a float has an end


def pause_s(failures: int, chance: float, first_s: float, longest_s: float) -> float:
    """Seconds to wait after so many failures in a row (1 or more): between half and all of a time that doubles from `first_s`.

    `chance`: from 0 to 1, another one for each host and each try. No pause is longer than `longest_s`.
    """
    whole = min(longest_s, first_s * 2.0 ** min(failures - 1, _DOUBLINGS))
    return whole * (1.0 + chance) / 2.0
