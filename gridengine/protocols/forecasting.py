"""The question to the process of forecasts, on the standard input of `python -m daemons.forecast`.

Owns that form: one msgpack object.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct


class ForecastQuestion(Struct):
    """`body`: of the request `forecast`. `parts`: the state (`gridengine.state.parts`) at `now`, epoch s. `events`: of the
    change or the submission in question, which is not recorded (JSON, `gridengine.state.events`)."""

    body: dict[str, Any]
    parts: list[bytes]
    now: float
    events: bytes = b"[]"
