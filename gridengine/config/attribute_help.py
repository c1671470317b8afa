"""The help for each attribute of a kind of objects: its group, and a few sentences.

Owns the reading of `attribute_help.toml`, the one source of these sentences for the tables of docs/formats/ and for forms.
Called by tools and extensions only; the models have the defaults and the values. Source: adr/0295.
"""

import tomllib
from functools import cache
from importlib.resources import files
from typing import NamedTuple


class AttributeHelp(NamedTuple):
    """`group`: a heading, such as "Limits"; `text`: Markdown, with links to pages of docs/formats/."""

    group: str
    text: str


@cache
def help_of(kind: str) -> dict[str, AttributeHelp]:
    """Help by attribute, in the order of groups; empty for kinds whose objects are nothing but a name."""
    groups: dict[str, dict[str, str]] = _read().get(kind, {})
    return {name: AttributeHelp(group, text) for group, texts in groups.items() for name, text in texts.items()}


@cache
def _read() -> dict[str, dict[str, dict[str, str]]]:
    return tomllib.loads((files("gridengine.config") / "attribute_help.toml").read_text("utf-8"))
