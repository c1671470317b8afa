"""Times, durations, amounts and addresses on pages."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from daemons.web.pages import formats


@pytest.fixture
def berlin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def test_moments_have_their_zone(berlin: None) -> None:
    assert formats.moment(1795000000) == "2026-11-18 12:06:40 CET"
    assert formats.moment(1782000000) == "2026-06-21 02:00:00 CEST"


@pytest.mark.statement("X-16")
@pytest.mark.parametrize(
    ("shown", "text"),
    [
        (formats.moment(0), "-"),
        (formats.moment(None), "-"),
        (formats.machine_time(1795000000.9), "2026-11-18T11:06:40Z"),
        (formats.duration(59.9), "00:00:59"),
        (formats.duration(446655), "124:04:15"),
        (formats.duration(float("inf")), "infinity"),
        (formats.duration(-3), "00:00:00"),
        (formats.duration(None), "-"),
        (formats.reading("11.854004"), "11.854"),
        (formats.reading("1.000000"), "1"),
        (formats.reading("17563.906250M"), "17.152G"),
        (formats.reading("2.5"), "2.5"),
        (formats.reading("lx-amd64"), "lx-amd64"),
        (formats.timed("2400"), "2400 s (00:40:00)"),
        (formats.timed("INFINITY"), "INFINITY"),
        (formats.logged("11/20/2026 18:16:20")[:19], "2026-11-20 18:16:20"),
        (formats.logged("a crash"), "a crash"),
        (formats.age(-1), "0 s"),
        (formats.age(59), "59 s"),
        (formats.age(3599), "59 min"),
        (formats.age(86400 * 3), "3 d"),
        (formats.memory(2**32), "4.000G"),
        (formats.memory(float("inf")), "infinity"),
        (formats.memory(None), "-"),
        (formats.plain("a\nb\u202e"), "a\\nb\\u202e"),
        (formats.plain(""), "-"),
        (formats.plain(0), 0),
        (formats.breakable("all.q@node7"), "all.<wbr>q@<wbr>node7"),
        (formats.breakable("10.1.2.3 0.25"), "10.1.2.3 0.25"),
        (formats.breakable("<b>-"), "&lt;b&gt;-"),
        (formats.instance_links('in "a" & "q@h"!'), 'in &#34;a&#34; &amp; <a href="/instances/q@h">q@<wbr>h</a>!'),
        (formats.instance_links('"<b>@x"'), '<a href="/instances/%3Cb%3E@x">&lt;b&gt;@<wbr>x</a>'),
        (formats.part("@all/hosts?"), "@all%2Fhosts%3F"),
    ],
)
def test_filters_format_values(shown: object, text: object) -> None:
    assert shown == text


@pytest.mark.parametrize(
    ("here", "changes", "address"),
    [
        ("/jobs?state=r&page=3", {"sort": "-name"}, "/jobs?state=r&sort=-name"),
        ("/jobs?state=r&page=3", {"page": 4}, "/jobs?state=r&page=4"),
        ("/jobs?state=r&page=3", {"page": None}, "/jobs?state=r"),
        ("/jobs?state=r", {"state": None}, "/jobs"),
        ("/jobs?queue=*%40%40big&name=", {"owner": "a b"}, "/jobs?queue=%2A%40%40big&name=&owner=a+b"),
    ],
)
def test_addresses_of_other_parts_of_a_list(here: str, changes: dict[str, object], address: str) -> None:
    assert formats.link(here, **changes) == address
