"""The settings of the monthly report in `common/web`: receivers, groups and sender.

Owns their names and defaults. Called by `daemons.web.settings`. Source: docs/web.md, Reports.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from gridengine.errors import InvalidValueError
from gridengine.syntax.mail_address import check_mail_address
from gridengine.usage.report import BY


class ReportSettings(NamedTuple):
    """`mail`: addresses that get the report of each month; `by`: its groups, a name of `BY`. `sender`: the host whose web server
    sends it, "" for the master host."""

    mail: tuple[str, ...] = ()
    by: str = "project"
    sender: str = ""


def _addresses(text: str) -> tuple[str, ...]:
    return tuple(check_mail_address(each) for each in text.replace(",", " ").split())


def _by(text: str) -> str:
    if text not in BY:
        raise InvalidValueError(f'"{text}" is none of {", ".join(BY)}')
    return text


_SETTINGS: dict[str, tuple[str, Callable[[str], Any]]] = {
    "report_mail": ("mail", _addresses),
    "report_by": ("by", _by),
    "report_sender": ("sender", str.lower),
}
SETTINGS = tuple(_SETTINGS)
"""Names of all settings of reports."""


def parse_report_settings(texts: Mapping[str, str]) -> ReportSettings:
    """The settings among the lines of `common/web`. Raises InvalidValueError, with the name of the setting."""
    found: dict[str, Any] = {}
    for name, (field, parse) in _SETTINGS.items():
        if name in texts:
            try:
                found[field] = parse(texts[name])
            except InvalidValueError as fault:
                raise InvalidValueError(f"{name}: {fault}") from None
    return ReportSettings(**found)
