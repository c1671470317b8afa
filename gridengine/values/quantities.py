"""Sizes, durations and dates as the commands print them, without the import time of `gridengine.values.units`.

Called by the renderers of the commands and the pages of `daemons/web`.
"""

import time


def plain_number(value: float) -> "int | float":
    """A number for programs: a whole number without a fraction, any other number to the millionth."""
    rounded = round(value, 6)
    return int(rounded) if rounded.is_integer() else rounded


def size_text(size: float, decimals: int, none: str = "") -> str:
    """`23.541G`: the largest fitting suffix of K M G T; `none` is the suffix below 1024."""
    for suffix, unit in (("T", 2**40), ("G", 2**30), ("M", 2**20), ("K", 2**10)):
        if abs(size) >= unit:
            return f"{size / unit:.{decimals}f}{suffix}"
    return f"{size:.{decimals}f}{none}"


def whole_tickets(tickets: list[float]) -> list[int]:
    """The sum of all tickets, and the tickets of each policy, without their fractions. Source: O."""
    return [int(each + 1e-6) for each in (sum(tickets), *tickets)]


def clock_text(seconds: float) -> str:
    """`hh:mm:ss`, hours beyond two digits rather than days (X-16)."""
    whole = int(seconds)
    return f"{whole // 3600:02}:{whole // 60 % 60:02}:{whole % 60:02}"


def long_date(moment: float) -> str:
    """`Fri Nov 20 18:16:20 2026`."""
    return time.ctime(moment)


def iso_date(moment: float) -> str:
    """`2026-11-20T18:16:20`, local time as in all listings."""
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(moment))
