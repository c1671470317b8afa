"""Throttles log lines about refusals: a client that is refused often must not fill the disk.

Called by all code that unauthenticated clients can reach, and for refused changes of users. Never raises.
"""

from __future__ import annotations

import logging
import time
from collections import OrderedDict
from collections.abc import Callable

_log = logging.getLogger(__name__)

#: seconds in which one kind of refusal gets one line
INTERVAL_S = 60.0
#: kinds that are remembered; a client must not be able to fill the memory either
_MOST_KINDS = 256


class LogThrottle:
    """Logs refusals. The first refusal of each kind is logged at once; further refusals of the interval are a number in the
    next line."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._kinds: OrderedDict[str, tuple[float, int]] = OrderedDict()  # -> when written, how many since

    def note(self, kind: str, text: str) -> None:
        """Log one more refusal of a kind, for example of one user."""
        now = self._clock()
        since, suppressed = self._kinds.get(kind, (-INTERVAL_S, 0))
        if now - since < INTERVAL_S:
            self._kinds[kind] = since, suppressed + 1
            return
        _log.warning("%s%s", text, f" (and {suppressed} times more before)" if suppressed else "")
        self._kinds[kind] = now, 0
        self._kinds.move_to_end(kind)
        if len(self._kinds) > _MOST_KINDS:
            self._kinds.popitem(last=False)
