"""The settings of alarms in `common/web`: defaults, refused values, and their description."""

from __future__ import annotations

import pytest

from daemons.web.alarms.alarm_settings import SETTINGS, AlarmSettings, check_webhook, parse_alarm_settings
from daemons.web.alarms.rules import RULES, SEVERITIES
from daemons.web.alarms.view import Thresholds
from gridengine.errors import InvalidValueError
from tests.tidy.sources import table_of


def test_all_settings_have_defaults() -> None:
    assert parse_alarm_settings({}) == AlarmSettings()
    assert AlarmSettings().mail == () and AlarmSettings().webhook == ""


def test_settings_are_read() -> None:
    texts = {
        "alarm_host_away": "0:5:0", "alarm_quota_full": "90", "alarm_spool_free": "5G", "alarm_off": "mail, quota_full",
        "alarm_hold": "10", "alarm_mail": "root, ops@example.org", "alarm_webhook": "https://chat.example.org/x?y=z",
        "alarm_severity": "critical", "alarm_sender": "Web1",
    }
    read = parse_alarm_settings(texts)
    assert read.thresholds == Thresholds()._replace(
        host_away_s=300, quota_part=0.9, spool_free=5 * 2**30, off=frozenset(["mail", "quota_full"])
    )
    assert read[1:] == (10, ("root", "ops@example.org"), "https://chat.example.org/x?y=z", "critical", "web1")


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("alarm_host_away", "soon", '"soon" is not a time'),
        ("alarm_host_away", "INFINITY", "alarm_off switches a rule off"),
        ("alarm_spool_free", "much", '"much" is not a memory size'),
        ("alarm_spool_free", "INFINITY", "alarm_off switches a rule off"),
        ("alarm_quota_full", "101", "101 is not within 1 and 100"),
        ("alarm_off", "hosts", 'there is no rule "hosts", only mirror_behind, '),
        ("alarm_severity", "bad", '"bad" is none of critical, warning, info'),
        ("alarm_mail", "a@b, |sh", "is no mail address"),
        ("alarm_webhook", "ftp://10.0.0.1/", "is no URL of the form https://HOST/PATH"),
    ],
)
def test_an_invalid_setting_is_refused_with_its_name(name: str, text: str, reason: str) -> None:
    with pytest.raises(InvalidValueError) as fault:
        parse_alarm_settings({name: text})
    assert str(fault.value).startswith(f"{name}: ") and reason in str(fault.value)


@pytest.mark.parametrize(
    "url", ["https://example.org/x", "http://127.0.0.1:9/x", "http://10.1.2.3/", "http://[fd00::1]/x", "http://localhost/x"]
)
def test_https_and_private_addresses_are_accepted(url: str) -> None:
    assert check_webhook(url) == url


@pytest.mark.parametrize(
    "url",
    ["http://example.org/x", "http://192.0.3.1/x", "http://8.8.8.8/", "https://", "https:///x", "example.org",
     "https://a b/", "https://a:99999/", "file:///etc/passwd", "https://ä.org/", "http://[::1"],
)
def test_other_addresses_are_refused(url: str) -> None:
    with pytest.raises(InvalidValueError):
        check_webhook(url)


def test_every_setting_is_described_with_its_default() -> None:
    documented = {row[0].strip("`") for row in table_of("docs/web.md", "setting", "default", "meaning")}
    assert documented == set(SETTINGS)
    listed = {name.strip("`") for row in table_of("docs/daemons/sge_web.md", "setting", "default", "meaning") for name in row[:1]}
    assert set(SETTINGS) <= listed


def test_every_rule_is_described_with_its_severities() -> None:
    described = {row[0].strip("`"): row[2] for row in table_of("docs/web.md", "rule", "condition", "severity", "setting")}
    assert list(described) == list(RULES)
    assert all(any(each in severities for each in SEVERITIES) for severities in described.values())
