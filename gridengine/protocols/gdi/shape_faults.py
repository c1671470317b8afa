"""The faults in the shape of a request, as texts for the author of the request.

Owns the translation of msgspec's messages, which address programmers. Called by `gdi.answers`, and for parts of a
request that are converted late.
"""

from __future__ import annotations

import re

_LOCATION = re.compile(r" - at `(?:key in )?\$\.?([^`]*)`$")
_RULES = tuple(
    (re.compile(pattern), text)
    for pattern, text in (
        (r"Object missing required field `([^`]*)`", 'the field "{0}" is missing'),
        (r"Object contains unknown field `([^`]*)`", 'there is no field "{0}"'),
        (r"Expected `(\w+) \| null`, got `(\w+)`", "{0} is expected, not {1}"),
        (r"Expected `(\w+)`, got `(\w+)`", "{0} is expected, not {1}"),
        (r"Expected `(\w+)` of length (<=|>=) (\d+)", "{0} of {1} {2} {3} is expected"),
        (r"Expected `(\w+)` matching regex .*", "{0} of another form is expected"),
        (r"Expected `(\w+)` (<=|>=) (\S+)", "{0} of {1} {2} is expected"),
        (r"Invalid enum value (.*)", "{0} is none of the permitted values"),
        (r"Input data was truncated", "the request is cut off"),
        (r"JSON is malformed: (.*)", "the request is no JSON: {0}"),
    )
)
_KINDS = {
    "int": "a whole number",
    "float": "a number",
    "str": "a text",
    "bool": "true or false",
    "array": "a list",
    "object": "an object",
    "null": "nothing",
    "<=": "at most",
    ">=": "at least",
}
_PARTS = {"str": "characters", "array": "items", "object": "fields"}


def shape_fault(error: Exception | str) -> str:
    """`priority: a whole number is expected, not a text`; a text that no rule matches stays unchanged."""
    text = str(error)
    location = _LOCATION.search(text)
    message = text[: location.start()] if location else text
    for pattern, template in _RULES:
        match = pattern.fullmatch(message)
        if match:
            message = _fill_template(template, match.groups())
            break
    where = location[1] if location else ""
    return f"{where}: {message}" if where else message


def _fill_template(template: str, parts: tuple[str, ...]) -> str:
    shown = [_KINDS.get(part, part) for part in parts]
    if template.startswith("{0} of {1} {2} {3}"):
        shown.append(_PARTS.get(parts[0], "long"))
    return template.format(*shown)
