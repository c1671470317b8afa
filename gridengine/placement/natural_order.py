"""The natural order of names: n2 before n10. Owns that sort key, which decides between otherwise equal instances."""

from __future__ import annotations

import re
from functools import lru_cache

_NUMBERS = re.compile(r"(\d+)")


@lru_cache(maxsize=65536)
def natural_order(name: str) -> tuple[str | int, ...]:
    """Sort key of a name."""
    return tuple(int(part) if index % 2 else part for index, part in enumerate(_NUMBERS.split(name)))
