"""State codes have a label and a tone each, so that no colour stands alone."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from daemons.web.pages import states

STYLE = Path(states.__file__).parents[1] / "static" / "style.css"


@pytest.mark.statement("ST-32")
@pytest.mark.parametrize(
    ("codes", "label", "tone"),
    [
        ("qw", "waiting", "wait"),
        ("hqw", "held, waiting", "off"),
        ("Eqw", "error, waiting", "bad"),
        ("hRq", "held, restarted, waiting", "off"),
        ("Rr", "running, restarted", "busy"),
        ("t", "starting", "busy"),
        ("Ss", "suspended by its queue, suspended", "warn"),
        ("dr", "being deleted, running", "off"),
        ("?", "unknown", "off"),
    ],
)
def test_a_task_has_one_badge(codes: str, label: str, tone: str) -> None:
    assert states.job_badge(codes) == (codes, label, tone)


def test_an_instance_has_a_badge_for_each_code() -> None:
    assert [badge.label for badge in states.instance_badges("du")] == ["disabled", "unreachable"]
    assert states.instance_badges("") == [("", "ready", "ok")]


@pytest.mark.statement("AR-53")
def test_reservations_and_hosts() -> None:
    assert [states.reservation_badge(code).tone for code in "wWrExd"] == ["wait", "warn", "mark", "bad", "off", "off"]
    assert [states.host_badge(up).label for up in (True, False)] == ["up", "unreachable"]


def test_every_tone_has_its_colours() -> None:
    tones = {tone for table in (states.INSTANCE, states.RESERVATION, states.JOB) for _, tone in table.values()}
    style = STYLE.read_text()
    assert [tone for tone in tones if not re.search(rf"\.{tone} {{ --tone:", style)] == []
