"""Values of settings in `common/web`: a table names the field and the parser of each setting.

Owns the application of such a table, and parsers that several tables share. Called by the settings of alarms and of reports.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from gridengine.errors import InvalidValueError
from gridengine.syntax.mail_address import check_mail_address

SettingTable = Mapping[str, tuple[str, Callable[[str], Any]]]
"""Setting -> (field, parser of its text); a parser raises InvalidValueError."""


def parse_settings(texts: Mapping[str, str], table: SettingTable) -> dict[str, Any]:
    """The fields of the settings that have a text. Raises InvalidValueError, with the name of the setting."""
    fields: dict[str, Any] = {}
    for name, (field, parse) in table.items():
        if name in texts:
            try:
                fields[field] = parse(texts[name])
            except InvalidValueError as fault:
                raise InvalidValueError(f"{name}: {fault}") from None
    return fields


def split_items(text: str) -> tuple[str, ...]:
    """The items of a list divided by commas or blanks."""
    return tuple(text.replace(",", " ").split())


def mail_addresses(text: str) -> tuple[str, ...]:
    """The mail addresses of a list. Raises InvalidValueError."""
    return tuple(check_mail_address(each) for each in split_items(text))
