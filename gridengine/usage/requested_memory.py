"""The memory that a job requests: in bytes, and as the text of its request. Pure. Called by the pages of jobs and by reports."""

from __future__ import annotations

import re
from collections.abc import Mapping

from gridengine.errors import InvalidValueError
from gridengine.values.units import parse_memory

_RESOURCES = ("h_vmem", "s_vmem", "h_rss", "mem_free", "virtual_free", "mem_used")
"""Resources for memory requests, the strictest limit first."""
PER_SLOT = ("h_vmem", "s_vmem", "h_rss")
_HARD = re.compile(r"(?<!-soft )(?<!\S)-l (\S+)")
"""The hard requests in the category of an accounting record. Source: AC-3."""


def requested_memory(requests: Mapping[str, str], slots: int) -> tuple[str, float]:
    """The memory request as text, and in bytes for all slots; ("-", 0) without a request."""
    for name in _RESOURCES:
        text = requests.get(name, "")
        try:
            size = parse_memory(text) if text else 0.0
        except InvalidValueError:
            continue
        if 0 < size < float("inf"):
            count = slots if name in PER_SLOT else 1
            return f"{name}={text}" + (f" × {count}" if count > 1 else ""), size * count
    return "-", 0.0


def requests_of_category(category: str) -> dict[str, str]:
    """The hard resource requests in the category of an accounting record: name -> value."""
    match = _HARD.search(category)
    parts = (part.partition("=") for part in match[1].split(",")) if match else ()
    return {name: value for name, equals, value in parts if equals}
