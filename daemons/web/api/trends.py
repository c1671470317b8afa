"""`GET /trends`: the trend of the cell, of a host or of a cluster queue in JSON. Source: adr/0290; docs/api.md.

Owns its query and its answer. Called by `handlers`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from daemons.web.pages.trends import SPANS, series_of
from daemons.web.shared import Web
from daemons.web.trends.trend_store import series_name
from gridengine.errors import InvalidValueError

QUERY = {
    "span": f"{', '.join(SPANS)}; default: 24h", "host": "of this execution host", "queue": "of this cluster queue",
}
SCHEMA = {
    "type": "object",
    "required": ["span", "step", "times", "values"],
    "properties": {
        "span": {"type": "string", "enum": list(SPANS)},
        "step": {"type": "integer"},
        "times": {"type": "array", "items": {"type": "integer"}},
        "values": {"type": "object", "additionalProperties": {"type": "array", "items": {"type": ["number", "null"]}}},
    },
}


async def trend_of(shared: Web, query: Mapping[str, str]) -> dict[str, Any]:
    """`step`: seconds between two values; `times`: epoch s; `values`: by measure, null without a sample. Raises
    InvalidValueError, NotFoundError."""
    span = query.get("span", "24h")
    if span not in SPANS:
        raise InvalidValueError(f'span must be one of {", ".join(SPANS)}, not "{span}"')
    if query.get("host") and query.get("queue"):
        raise InvalidValueError("a trend is of a host or of a queue, not of both")
    kind, name = series_of(shared.mirror.state, query.get("host", ""), query.get("queue", ""))
    trend = await shared.trends.read(series_name(kind, name), SPANS[span], shared.mirror.now)
    return {"span": span, "step": trend.step_s, "times": trend.times, "values": trend.values}
