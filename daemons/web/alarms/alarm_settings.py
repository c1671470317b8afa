"""The settings of alarms in `common/web`: thresholds, delays and receivers of notices.

Owns their names, defaults and limits. Called by `daemons.web.settings`. Source: docs/web.md, Alarms.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import urlsplit

from daemons.web.alarms.book import HOLD_S
from daemons.web.alarms.rules import RULES, SEVERITIES, Severity
from daemons.web.alarms.view import Thresholds
from daemons.web.setting_values import SettingTable, mail_addresses, parse_settings, split_items
from gridengine.errors import InvalidValueError
from gridengine.values.units import INFINITY, parse_memory, parse_number, parse_time


class AlarmSettings(NamedTuple):
    """`thresholds`: of the rules; `hold_s`: seconds until an alarm begins and ends; `mail`: addresses of the notices;
    `webhook`: the URL that gets them, "" for none; `severity`: the least severe alarm with a notice. `sender`: the host whose web
    server sends notices, "" for the master host."""

    thresholds: Thresholds = Thresholds()
    hold_s: float = HOLD_S
    mail: tuple[str, ...] = ()
    webhook: str = ""
    severity: Severity = "warning"
    sender: str = ""


def _seconds(text: str) -> float:
    seconds = parse_time(text)
    if seconds == INFINITY:
        raise InvalidValueError("INFINITY is no threshold: alarm_off switches a rule off")
    return seconds


def _size(text: str) -> float:
    size = parse_memory(text)
    if size == INFINITY:
        raise InvalidValueError("INFINITY is no threshold: alarm_off switches a rule off")
    return size


def _percent(text: str) -> float:
    return parse_number(text, 1, 100) / 100


def _rules(text: str) -> frozenset[str]:
    for name in split_items(text):
        if name not in RULES:
            raise InvalidValueError(f'there is no rule "{name}", only {", ".join(RULES)}')
    return frozenset(split_items(text))


def _severity(text: str) -> str:
    if text not in SEVERITIES:
        raise InvalidValueError(f'"{text}" is none of {", ".join(SEVERITIES)}')
    return text


def check_webhook(text: str) -> str:
    """The URL of a webhook itself: HTTPS, or HTTP at a private or loopback address. Raises InvalidValueError."""
    try:
        parts = urlsplit(text)
        host, _ = parts.hostname or "", parts.port
    except ValueError as error:
        raise InvalidValueError(f'"{text}" is no URL: {error}') from None
    if parts.scheme not in ("http", "https") or not host or not text.isascii() or not text.isprintable() or " " in text:
        raise InvalidValueError(f'"{text}" is no URL of the form https://HOST/PATH')
    if parts.scheme == "http" and not _is_private(host):
        raise InvalidValueError(f'"{text}" must begin with https: http is for private addresses, such as http://10.0.0.5/alarms')
    return text


def _is_private(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_private
    except ValueError:
        return host == "localhost"


_THRESHOLDS: SettingTable = {
    "alarm_host_away": ("host_away_s", _seconds),
    "alarm_job_pending": ("job_pending_s", _seconds),
    "alarm_quota_full": ("quota_part", _percent),
    "alarm_spool_free": ("spool_free", _size),
    "alarm_certificate_left": ("certificate_left_s", _seconds),
    "alarm_backup_age": ("backup_age_s", _seconds),
    "alarm_mirror_age": ("mirror_age_s", _seconds),
    "alarm_mail_failed": ("mail_failed_s", _seconds),
    "alarm_off": ("off", _rules),
}
_OTHERS: SettingTable = {
    "alarm_hold": ("hold_s", _seconds),
    "alarm_mail": ("mail", mail_addresses),
    "alarm_webhook": ("webhook", check_webhook),
    "alarm_severity": ("severity", _severity),
    "alarm_sender": ("sender", str.lower),
}
SETTINGS = (*_THRESHOLDS, *_OTHERS)
"""Names of all settings of alarms."""


def parse_alarm_settings(texts: Mapping[str, str]) -> AlarmSettings:
    """The settings among the lines of `common/web`. Raises InvalidValueError, with the name of the setting."""
    thresholds = Thresholds(**parse_settings(texts, _THRESHOLDS))
    return AlarmSettings(thresholds=thresholds, **parse_settings(texts, _OTHERS))
