"""The fields of a form for the attributes of an object: groups, help, defaults, and a control by the form of the values.

Pure. Derives all fields from the models and the help of attributes, so a new attribute has a field at once; the qmaster checks
values. Called by the pages that change the configuration. Source: adr/0295.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

from markupsafe import Markup, escape

from gridengine.config import KINDS
from gridengine.config.attribute_help import help_of
from gridengine.config.attribute_types import ValueForm
from gridengine.errors import InvalidValueError
from gridengine.state.state import State

_LONG = 60
_MOST_OPTIONS = 500
_UNNAMED = ("global", "template")
"""Execution hosts that no value names."""
_EMPTY = frozenset(("", "none", "infinity", "undefined"))
UNITS = {"time": "s or h:m:s", "memory": "K, M, G, T"}
"""The units of values, by the name of their form."""
_LISTS = ("names", "pairs")
_NAMING = ("name", *_LISTS)
_CODE = re.compile(r"`([^`]+)`")
_LINK = re.compile(r"\[([^\]]+)\]\([^)]+\)")


class AttributeField(NamedTuple):
    """A field of a form. `name`, `value`: of the attribute; `inherited`: the value of an empty field.

    `control`: switch, select, area or line. `form`: of the values, as `ValueForm.name`; `constants`: fixed values; `options`:
    suggestions, which are names of objects and constants. `help`: HTML; `default`: of new objects.
    """

    name: str
    value: str
    control: str
    form: str
    constants: tuple[str, ...]
    options: tuple[str, ...]
    help: Markup
    default: str
    inherited: str = ""

    @property
    def unit(self) -> str:
        """The unit of the value, "" for none."""
        return UNITS.get(self.form, "")

    @property
    def is_list(self) -> bool:
        """Whether the value is a list of names or of `name=value`."""
        return self.form in _LISTS

    @property
    def is_empty(self) -> bool:
        """Whether the value is none, or no limit."""
        return self.value.lower() in _EMPTY

    @property
    def has_no_limit(self) -> bool:
        """Whether the value may be INFINITY."""
        return "INFINITY" in self.constants


def fields_of(
    state: State, kind: str, values: Mapping[str, str], inherited: Mapping[str, str], as_text: bool
) -> dict[str, list[AttributeField]]:
    """The fields of an object, by group. `values`: by attribute; `as_text`: without switches and selections."""
    groups: dict[str, list[AttributeField]] = {}
    described = help_of(kind)
    for name in [*(each for each in described if each in values), *(each for each in values if each not in described)]:
        group = described[name].group if name in described else "General"
        field = field_of(state, kind, name, values[name], as_text)
        groups.setdefault(group, []).append(field._replace(inherited=inherited.get(name, "")))
    return groups


def field_of(state: State, kind: str, name: str, value: str, as_text: bool = False) -> AttributeField:
    """The field of an attribute with this value."""
    attribute, described = KINDS[kind].attribute_types().get(name), KINDS[kind].model_fields.get(name)
    form = attribute.form if attribute else ValueForm()
    names = [each for other in named_kinds(kind, name) for each in sorted(state.kind(other)) if each not in _UNNAMED]
    options = (*names[:_MOST_OPTIONS], *form.constants)
    control = "line"
    if form.name in ("boolean", "choice") and value in form.constants and not as_text:
        control = "switch" if form.name == "boolean" else "select"
    elif len(value) > _LONG or "\n" in value:
        control = "area"
    text = help_of(kind)[name].text if name in help_of(kind) else ""
    default = described.default if described and isinstance(described.default, str) else ""
    return AttributeField(name, value, control, form.name, form.constants, options, as_html(text), default)


@cache
def named_kinds(kind: str, name: str) -> tuple[str, ...]:
    """The kinds of objects that a value of the attribute may name, by the references of the attribute."""
    attribute = KINDS[kind].attribute_types().get(name)
    if attribute is None or attribute.form.name not in _NAMING:
        return ()
    kinds: dict[str, None] = {}
    for text in ("x", "@x", "x=1"):
        try:
            kinds.update(dict.fromkeys(other for other, _ in (*attribute.refers(text), *attribute.mentions(text))))
        except InvalidValueError:
            continue
    return tuple(kinds)


def as_html(text: str) -> Markup:
    """Help as HTML: literal texts as code, links as their words."""
    return Markup(_CODE.sub(r"<code>\1</code>", str(escape(_LINK.sub(r"\1", text)))))
