"""The templates of pages, without a browser."""

from __future__ import annotations

from typing import Any

import pytest
from jinja2 import UndefinedError

from daemons.web.pages.navigation import NAVIGATION, entry_of
from daemons.web.pages.page import ListSettings
from daemons.web.pages.templating import templates

PERSON = {"cell": "<default>", "csrf": "t", "user": "alice", "role": "user"}
FRAME: dict[str, Any] = {**PERSON, "here": "/jobs?state=r", "live": True, "age_s": None, "alone": False, "badge": (0, "off")}
FRAME["settings"] = ListSettings("/jobs?state=r", "t", [], False)


def render(source: str, **data: Any) -> str:
    return templates().from_string(source).render(data)


def page(**data: Any) -> str:
    return templates().from_string('{% extends "base.html" %}{% block title %}Jobs{% endblock %}').render({**FRAME, **data})


def test_the_frame() -> None:
    text = page()
    assert "<title>Jobs · &lt;default&gt; · Grid Engine</title>" in text
    assert '<a href="/jobs" aria-current="page">' in text
    assert text.count("aria-current") == 1
    assert 'data-page="/jobs?state=r"' in text
    assert 'id="age" role="status" hidden>' in text


def test_the_age_of_what_is_shown() -> None:
    text = page(age_s=130)
    assert 'id="age" role="status">' in text
    assert '<span data-age="130">2 min</span>' in text


def test_a_page_that_is_not_sent_again_has_no_stream() -> None:
    assert "data-page" not in page(live=False)


def test_undefined_names_are_an_error() -> None:
    with pytest.raises(UndefinedError):
        render("{{ nobody }}")


def test_texts_of_users_are_escaped() -> None:
    text = render("{{ ui.name_cell('Name', name, '/') }}{{ ui.cell('Name', name) }}{{ ui.code(name, name) }}", name='"><script>')
    assert "<script" not in text


@pytest.mark.parametrize(
    ("path", "place"), [("/", "/"), ("/jobs/12.3", "/jobs"), ("/hosts/h1", "/hosts"), ("/me", ""), ("/jobsX", "")]
)
def test_where_a_page_is(path: str, place: str) -> None:
    assert entry_of(path) == place


def test_the_navigation_has_no_address_twice() -> None:
    addresses = [address for entries in NAVIGATION.values() for _, address in entries]
    assert len(addresses) == len(set(addresses))


def test_a_disabled_button_shows_the_reason() -> None:
    text = render("{{ ui.button('Delete', 'action', 'delete', 'danger', 'denied: not yours') }}")
    assert 'aria-disabled="true" aria-describedby="why-action-delete-delete"' in text
    assert 'id="why-action-delete-delete">denied: not yours<' in text
    assert 'type="button"' in text
    assert "name=" not in text


def test_the_error_of_a_field_stands_at_the_field() -> None:
    text = render("{{ ui.field('slots', 'Slots', '4-', 'help', 'no range') }}")
    assert 'aria-describedby="error-slots help-slots" aria-invalid="true"' in text
    assert '<span class="error" id="error-slots">no range</span>' in text


@pytest.mark.parametrize(
    ("used", "total", "reserved", "widths"),
    [
        (0, 8, 0, ["96", "0.0"]),
        (2, 8, 2, ["96", "24.0", "24.0"]),
        (7, 8, 4, ["96", "84.0", "12.0"]),
        (9, 8, 1, ["96", "96.0"]),
        (0, 0, 0, []),
    ],
)
def test_a_bar_of_use_never_leaves_its_frame(used: int, total: int, reserved: int, widths: list[str]) -> None:
    text = render("{{ ui.bar(used, total, reserved) }}", used=used, total=total, reserved=reserved)
    assert [part.split('width="')[1].split('"')[0] for part in text.split("<rect")[1:]] == widths


def test_a_column_sorts_the_other_way_round_the_second_time() -> None:
    source = "{% call ui.table([('Name', 'name', '')], 'Jobs', '/jobs?page=2', sort) %}{% endcall %}"
    assert 'href="/jobs?sort=name"' in render(source, sort="")
    assert 'aria-sort="ascending"><a href="/jobs?sort=-name"' in render(source, sort="name")
    assert 'aria-sort="descending"><a href="/jobs?sort=name"' in render(source, sort="-name")


@pytest.mark.parametrize(
    ("number", "total", "shown", "links"),
    [
        (1, 0, "No jobs", []),
        (1, 100, "1 to 100 of 100 jobs", []),
        (1, 101, "1 to 100 of 101 jobs", ["Next", "Last"]),
        (2, 250, "101 to 200 of 250 jobs", ["First", "Previous", "Next", "Last"]),
        (3, 12250, "201 to 300 of 12,250 jobs", ["First", "Previous", "Next", "Last"]),
        (2, 150, "101 to 150 of 150 jobs", ["First", "Previous"]),
    ],
)
def test_parts_of_a_list(number: int, total: int, shown: str, links: list[str]) -> None:
    text = render("{{ ui.pager(number, 100, total, '/jobs?state=r', 'jobs') }}", number=number, total=total)
    assert shown in text
    assert [each for each in ("First", "Previous", "Next", "Last") if f">{each}</a>" in text] == links


def test_an_error_has_a_page() -> None:
    given = {"status": 404, "problem": "There is no job 12", "advice": "", "here": "/jobs/12", "cell": "x"}
    text = templates().get_template("error.html").render(given)
    assert "There is no job 12" in text
