"""Filters of the templates: times, durations, amounts, and addresses of pages.

Pure, but for the time zone of this process. Called by the templates, through `templating`.
"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode

from markupsafe import Markup, escape

from gridengine.values.printable import printable
from gridengine.values.quantities import clock_text, size_text
from gridengine.values.units import parse_memory

#: the text for an unknown value, as in the listings of the commands
NOTHING = "-"
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\^_=>])")
"""Escape sequences for colours, cursor positions and titles of a terminal. Source: ECMA-48 5.4."""
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""Invisible characters, and characters that change the direction of text; tabs and line ends are not included."""
_READING = re.compile(r"(-?[0-9]+\.[0-9]{2,})([KMGT]?)", re.ASCII | re.IGNORECASE)
_INSTANCE = re.compile(r'"([^"@\s]+@[^"@\s]+)"')
"""A quoted queue instance. Source: texts of qstat -j, as O."""
_BREAKS = re.compile(r"([@._/:-])(?=[^\W\d])")


def moment(seconds: float | None) -> str:
    """`2026-11-20 18:16:20 CET`, in the zone of this host; `-` for none (0 in requests and records)."""
    if not seconds:
        return NOTHING
    local = time.localtime(seconds)
    return f"{time.strftime('%Y-%m-%d %H:%M:%S', local)} {local.tm_zone}"


def machine_time(seconds: float) -> str:
    """`2026-11-20T17:16:20Z`, for the `datetime` of a `<time>`."""
    return datetime.fromtimestamp(int(seconds), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def iso_time(seconds: float | None) -> str:
    """`2026-11-20T18:16:20+01:00`, in the zone of this host; "" for none. For files."""
    return datetime.fromtimestamp(int(seconds)).astimezone().isoformat() if seconds else ""


def duration(seconds: float | None) -> str:
    """`hh:mm:ss`, hours beyond two digits rather than days (X-16); `-` for none, `infinity` without an end."""
    if seconds is None:
        return NOTHING
    return "infinity" if seconds == float("inf") else clock_text(max(seconds, 0))


def age(seconds: float) -> str:
    """`40 s`, `12 min`, `3 h`, `5 d`: how old something is, in its largest unit."""
    for unit, length in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= length:
            return f"{int(seconds // length)} {unit}"
    return f"{max(int(seconds), 0)} s"


def memory(size: float | None) -> str:
    """`4.000G`: bytes as qstat prints them; `-` for none, `infinity` without a limit."""
    if size is None:
        return NOTHING
    return "infinity" if size == float("inf") else size_text(size, 3)


def percent(part: float, whole: float) -> str:
    """`87 %`: a part of a whole; `-` for an unknown whole."""
    return f"{100 * part / whole:.0f} %" if whole > 0 else NOTHING


def reading(text: Any) -> Any:
    """A value of a resource with three decimals at most, a size in its largest unit: `11.854`, `17.152G` for 17563.906250M."""
    match = _READING.fullmatch(str(text))
    if match is None:
        return text
    if match[2]:
        return size_text(parse_memory(str(text)), 3)
    return f"{float(match[1]):.3f}".rstrip("0").rstrip(".")


def timed(text: Any) -> Any:
    """Seconds of a resource of type TIME, also as hours, minutes and seconds: 2400 is `2400 s (00:40:00)`."""
    return f"{text} s ({clock_text(int(text))})" if str(text).isascii() and str(text).isdigit() else text


def logged(text: str) -> str:
    """The time of a line of a messages file in the format of the pages, `2026-11-20 18:16:20 CET`; other texts unchanged."""
    try:
        return moment(time.mktime(time.strptime(text, "%m/%d/%Y %H:%M:%S")))
    except (ValueError, OverflowError):
        return text


def plain(value: Any) -> Any:
    """A user's text on a single line, with unprintable characters as `\\n`, `\\x1b` …; `-` for an empty text."""
    return NOTHING if value is None or value == "" else printable(value)


def printable_output(text: str) -> str:
    """The output of a program for a page: without colours, with visible symbols for other control characters."""
    return _CONTROL.sub(_picture, _ESCAPES.sub("", text.replace("\r\n", "\n")))


def _picture(match: re.Match[str]) -> str:
    code = ord(match[0])
    return chr(0x2400 + code) if code < 0x20 else "\u2421" if code == 0x7F else "\ufffd"


def breakable(value: Any) -> Markup:
    """A name that may wrap after its dots and signs: `all.q@node7.example.org`."""
    text = plain(value)
    return _broken(text) if isinstance(text, str) else escape(text)


@lru_cache(4096)
def _broken(text: str) -> Markup:
    return Markup(_BREAKS.sub(r"\1<wbr>", str(escape(text))))


def instance_links(text: str) -> Markup:
    """A sentence whose quoted queue instances, `"all.q@node7"`, are links to their pages."""
    before, *rest = _INSTANCE.split(text)
    pairs = zip(rest[::2], rest[1::2], strict=True)
    links = (Markup('<a href="/instances/{}">{}</a>{}').format(part(name), breakable(name), after) for name, after in pairs)
    return Markup("").join((escape(before), *links))


def link(here: str, **changes: object) -> str:
    """The address `here` (path and query) with changed query parameters; the value None removes a parameter.

    Other parameters stay, also repeated ones, except for the page number: a new filter or order starts at the first page.
    """
    path, _, query = here.partition("?")
    given = [(name, value) for name, value in parse_qsl(query, keep_blank_values=True) if name != "page"]
    added = [(name, "") for name in changes if name not in dict(given)]
    kept = [(name, changes.get(name, value)) for name, value in [*given, *added] if changes.get(name, value) is not None]
    return f"{path}?{urlencode(kept)}" if kept else path


def parameters(here: str, *left_out: str) -> list[tuple[str, str]]:
    """The query parameters of an address without the page number and `left_out`, for hidden fields of a form."""
    given = parse_qsl(here.partition("?")[2], keep_blank_values=True)
    return [(name, value) for name, value in given if name not in ("page", *left_out)]


def hidden_columns(here: str, labels: Sequence[str]) -> list[int]:
    """The columns that an address leaves out, from 0 on: `columns` names the shown ones. The first column names the rows."""
    chosen = {value for name, value in parse_qsl(here.partition("?")[2]) if name == "columns"}
    if chosen.isdisjoint(labels):
        return []
    return [at for at, label in enumerate(labels) if at and label and label not in chosen]


def part(text: object) -> str:
    """A name as a part of an address: `@allhosts` or `a/b` stay a single part."""
    return quote(str(text), safe="@")


def on_hosts(paths: list[tuple[str, str]]) -> str:
    """Paths with their hosts: `h1:/tmp/a, /tmp/b`."""
    return ", ".join(f"{host}:{path}" if host else path for host, path in paths)


_LEVELS = {"g": "global", "h": "host", "q": "queue"}
_SOURCES = {"l": "{} report", "L": "{} report, scaled", "c": "remaining, {}", "f": "{} configuration"}


def origin(code: str) -> str:
    """The origin of a resource value as text, from the code of qstat -F for the deciding level and the source."""
    level = _LEVELS.get(code[:1], "")
    return _SOURCES.get(code[1:], "{}").format(level)


_EVENTS = {
    "JobSubmitted": "Submitted", "TaskDispatched": "Dispatched to host", "TaskStarted": "Started",
    "TaskEnded": "Finished", "TaskRequeued": "Requeued",
}


def event_text(name: str) -> str:
    """An event of a job's log as text: `PendingTasksDeleted` is "Pending tasks deleted"."""
    return _EVENTS.get(name) or re.sub(r"(?<!^)[A-Z]", lambda capital: f" {capital[0].lower()}", name)


_ALL = (
    moment, machine_time, duration, age, memory, percent, reading, timed, logged, on_hosts, origin, event_text, plain, breakable,
    instance_links, part,
)
FILTERS = {each.__name__: each for each in _ALL}
