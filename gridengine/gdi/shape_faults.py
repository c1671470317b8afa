"""What is wrong with the shape of a request, in words for whoever wrote it.

Owns the translation of what msgspec says, whose words are for programmers. Called by `gridengine.gdi.answers` and where parts
of a request are converted late.
"""

from __future__ import annotations

import re

_PLACE = re.compile(r" - at `(?:key in )?\$\.?([^`]*)`$")
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
        (r"Invalid enum value (.*)", "{0} is none of the words that may stand here"),
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
    """`priority: a whole number is expected, not a text`; a text that is nobody else's stays as it is."""
    text = str(error)
    place = _PLACE.search(text)
    said = text[: place.start()] if place else text
    for pattern, words in _RULES:
        match = pattern.fullmatch(said)
        if match:
            said = _said(words, match.groups())
            break
    where = place[1] if place else ""
    return f"{where}: {said}" if where else said


def _said(words: str, parts: tuple[str, ...]) -> str:
    shown = [_KINDS.get(word, word) for word in parts]
    if words.startswith("{0} of {1} {2} {3}"):
        shown.append(_PARTS.get(parts[0], "long"))
    return words.format(*shown)
