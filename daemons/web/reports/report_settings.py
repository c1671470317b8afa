"""The settings of the monthly report in `common/web`: receivers, groups and sender.

Owns their names and defaults. Called by `daemons.web.settings`. Source: docs/web.md, Reports.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from daemons.web.setting_values import SettingTable, mail_addresses, parse_settings
from gridengine.errors import InvalidValueError
from gridengine.usage.report import BY


class ReportSettings(NamedTuple):
    """`mail`: addresses that get the report of each month; `by`: its groups, a name of `BY`. `sender`: the host whose web server
    sends it, "" for the master host."""

    mail: tuple[str, ...] = ()
    by: str = "project"
    sender: str = ""


def _by(text: str) -> str:
    if text not in BY:
        raise InvalidValueError(f'"{text}" is none of {", ".join(BY)}')
    return text


_SETTINGS: SettingTable = {
    "report_mail": ("mail", mail_addresses),
    "report_by": ("by", _by),
    "report_sender": ("sender", str.lower),
}
SETTINGS = tuple(_SETTINGS)
"""Names of all settings of reports."""


def parse_report_settings(texts: Mapping[str, str]) -> ReportSettings:
    """The settings among the lines of `common/web`. Raises InvalidValueError, with the name of the setting."""
    return ReportSettings(**parse_settings(texts, _SETTINGS))
