"""Conversion between Slurm's values and seconds and bytes. Raises SlurmError. Source: sbatch(1), squeue(1) of 22.05."""

import re
import time

from clients.slurm.arguments import SlurmError

_TIME = re.compile(r"(?:(\d+)-)?(\d+)(?::(\d+))?(?::(\d+))?")
_SIZE = re.compile(r"(\d+)([KMGT]?)B?", re.IGNORECASE)
_UNITS = {"": 1 << 20, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_RELATIVE = re.compile(r"now(?:\+(\d+)(seconds?|minutes?|hours?|days?|weeks?)?)?")
_SECONDS = {"": 1, "second": 1, "minute": 60, "hour": 3600, "day": 86400, "week": 604800}
_MOMENTS = ("%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M", "%Y-%m-%d", "%m/%d/%y-%H:%M", "%m/%d/%y", "%H:%M:%S", "%H:%M")
_NAMED = {"midnight": "00:00", "noon": "12:00", "teatime": "16:00"}


def seconds(text: str) -> "int | None":
    """`M`, `M:S`, `H:M:S`, `D-H`, `D-H:M`, `D-H:M:S`; None for no limit."""
    if text.lower() in ("infinite", "unlimited", "0"):
        return None
    match = _TIME.fullmatch(text)
    if match is None:
        raise SlurmError(f"Invalid --time specification: {text}")
    days, *given = match.groups()
    parts = [int(part) for part in given if part is not None]
    if days is not None:
        hours, minutes, rest = (*parts, 0, 0)[:3]
    elif len(parts) == 3:
        hours, minutes, rest = parts
    else:
        hours, minutes, rest = 0, *(*parts, 0)[:2]
    return (int(days or 0) * 24 + hours) * 3600 + minutes * 60 + rest


def size(text: str) -> int:
    """Bytes of `4G`; a number alone is of megabytes."""
    match = _SIZE.fullmatch(text)
    if match is None:
        raise SlurmError(f"Invalid memory specification: {text}")
    return int(match[1]) * _UNITS[match[2].upper()]


def count(text: str, what: str) -> int:
    """A whole number above 0."""
    if not text.isdecimal() or not int(text):
        raise SlurmError(f'Invalid numeric value "{text}" for {what}.')
    return int(text)


def moment(text: str, now: float) -> str:
    """A time of --begin, as -a takes it: `[[CC]YY]MMDDhhmm.SS` (sge_types(5) date_time)."""
    relative = _RELATIVE.fullmatch(text)
    if relative is not None:
        unit = (relative[2] or "").rstrip("s")
        return _date(now + int(relative[1] or 0) * _SECONDS[unit])
    today = time.localtime(now)
    for form in _MOMENTS:
        try:
            read = time.strptime(_NAMED.get(text, text), form)
        except ValueError:
            continue
        if "%y" in form.lower():
            return _date(time.mktime(read))
        at = time.mktime((*today[:3], *read[3:6], 0, 0, -1))
        # a time that has passed today is tomorrow's
        return _date(at if at > now else time.mktime((today[0], today[1], today[2] + 1, *read[3:6], 0, 0, -1)))
    raise SlurmError(f"Invalid time specification (pos=0): {text}")


def _date(when: float) -> str:
    return time.strftime("%Y%m%d%H%M.%S", time.localtime(when))


def duration(given: "float | None") -> str:
    """`M:SS`, `H:MM:SS`, `D-HH:MM:SS`; UNLIMITED for None."""
    if given is None:
        return "UNLIMITED"
    minutes, rest = divmod(int(max(given, 0)), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    if days:
        return f"{days}-{hours:02}:{minutes:02}:{rest:02}"
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def date(when: float) -> str:
    """`2026-11-25T18:00:00`; N/A for 0."""
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(when)) if when else "N/A"
