"""The parts of all pages, in a browser: legible, reachable by keyboard, selectable and live."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.integration.cells import eventually
from tests.integration.web.browser import PHONE, WIDE, Visits, overhang, serious_findings, wire_bytes
from tests.integration.web.gallery import Gallery, sample

ROW = "#main .list tbody tr"


def focused(page: Page) -> str:
    found: str = page.evaluate("document.activeElement.id || document.activeElement.tagName")
    return found


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [WIDE, PHONE], ids=["wide", "phone"])
def test_a_page_is_accessible_and_fits_in_every_size_and_scheme(
    visits: Visits, gallery: Gallery, size: tuple[int, int], scheme: str
) -> None:
    page = visits.open(gallery.url, size, scheme)
    assert overhang(page) == []
    assert serious_findings(page) == []
    if size == PHONE:
        cells = page.locator(ROW).first.locator("td:not(.pick)")
        places = cells.evaluate_all("all => all.map(one => Math.round(one.getBoundingClientRect().left))")
        assert len(places) == 6 and len(set(places)) == 1
        page.locator("summary").click()
        expect(page.get_by_role("link", name="Hosts", exact=True)).to_be_visible()
        assert serious_findings(page) == []


def test_a_page_with_everything_is_light(visits: Visits, gallery: Gallery) -> None:
    page = visits.open("about:blank")
    assert 40_000 < wire_bytes(page, gallery.url) < 100_000


def test_the_head_of_a_list_stays_in_sight(visits: Visits, gallery: Gallery) -> None:
    page = visits.open(gallery.url, (1440, 400))
    page.locator(ROW).nth(8).scroll_into_view_if_needed()
    expect(page.get_by_role("columnheader", name="Architecture")).to_be_in_viewport()


def test_keys_go_over_the_rows(visits: Visits, gallery: Gallery) -> None:
    page = visits.open(gallery.url)
    names = page.locator(ROW).evaluate_all("rows => rows.map(row => row.id)")
    for key, row in (("j", 0), ("j", 1), ("j", 2), ("k", 1), ("k", 0), ("k", 0)):
        page.keyboard.press(key)
        assert focused(page) == names[row]
    page.keyboard.press("x")
    expect(page.get_by_role("checkbox", name="Select all.q@node00")).to_be_checked()
    for key in ("j", "j", "Shift+X"):
        page.keyboard.press(key)
    expect(page.locator("[data-count]")).to_have_text("3")
    page.keyboard.press("Escape")
    expect(page.locator("#bulk")).to_be_hidden()
    page.locator("#search").focus()
    page.keyboard.type("jxk/")
    expect(page.locator("#search")).to_have_value("jxk/")
    page.keyboard.press("Escape")
    assert focused(page) == "BODY"
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    page.route("**/instances/**", lambda route: route.fulfill(body="there", content_type="text/plain"))
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/instances/{names[0].removeprefix('row-')}")


def test_selected_rows_are_sent_with_the_token(visits: Visits, gallery: Gallery) -> None:
    page = visits.open(gallery.url)
    whole = page.get_by_role("checkbox", name="Select all on this page")
    whole.check()
    expect(page.locator("[data-count]")).to_have_text("12")
    page.get_by_role("checkbox", name="all 98,213 queue instances that match").check()
    page.get_by_role("checkbox", name="Select all.q@node01").uncheck()
    expect(page.get_by_role("checkbox", name="all 98,213 queue instances that match")).to_be_hidden()
    page.get_by_role("button", name="Disable").click()
    expect(page.locator("#answers")).to_have_text("alice has disabled 2 queue instances")
    headers, fields = gallery.posted[0]
    assert headers["X-CSRF-Token"] == "a-token"
    assert fields["action"] == ["disable"]
    assert len(fields["target"]) == 11
    assert "all" not in fields


def test_a_disabled_button_shows_the_reason(visits: Visits, gallery: Gallery) -> None:
    page = visits.open(gallery.url)
    button = page.get_by_role("button", name="Add host")
    expect(button).to_have_accessible_description("Only managers may change host groups; you are a user.")
    tip = page.get_by_role("tooltip", name="Only managers")
    expect(tip).to_be_hidden()
    button.focus()
    expect(tip).to_be_visible()
    page.get_by_role("checkbox", name="Select all.q@node01").check()
    page.get_by_role("button", name="Clear error").click(force=True)
    assert gallery.posted == []


def test_a_page_follows_what_happens(visits: Visits, gallery: Gallery) -> None:
    page = visits.open(gallery.url)
    page.evaluate("window.before = 1")
    expect(page.locator("#live[data-live=on]")).to_have_text("live")
    page.get_by_role("checkbox", name="Select all.q@node02").check()
    page.locator("#row-all\\.q\\@node03\\.cluster\\.example\\.org").focus()
    instances = sample()["instances"][1:]  # a row less, so that all others move
    instances[0]["states"] = "E"
    gallery.send_main(instances=instances)
    expect(page.locator(ROW)).to_have_count(11)
    expect(page.locator(ROW).first).to_contain_text("error")
    assert focused(page).startswith("row-all.q@node03")
    expect(page.get_by_role("checkbox", name="Select all.q@node02")).to_be_checked()
    expect(page.locator("tr[aria-selected=true]")).to_have_count(1)
    expect(page.locator("[data-count]")).to_have_text("1")
    assert page.evaluate("window.before") == 1


def test_a_live_update_spares_a_field_while_the_user_types(visits: Visits, gallery: Gallery) -> None:
    page = visits.open(gallery.url)
    expect(page.locator("#live[data-live=on]")).to_be_visible()
    page.get_by_label("Queue", exact=True).press_sequentially("long")
    gallery.send_main(instances=[])
    gallery.send("age", "3")
    expect(page.locator("#age")).to_be_visible()  # has come after it
    expect(page.locator(ROW)).to_have_count(12)
    expect(page.get_by_label("Queue", exact=True)).to_have_value("long")
    page.get_by_label("Queue", exact=True).blur()
    expect(page.locator(ROW)).to_have_count(0)


def test_a_page_shows_its_age_and_goes_on(visits: Visits, gallery: Gallery) -> None:
    page = visits.open(gallery.url)
    expect(page.locator("#live[data-live=on]")).to_be_visible()
    gallery.send("age", "130")
    expect(page.locator("#age")).to_contain_text("2 min old")
    gallery.send("age", "")
    expect(page.locator("#age")).to_be_hidden()
    gallery.closed = True
    gallery.drop()
    expect(page.locator("#lost")).to_be_visible()
    gallery.closed = False
    expect(page.locator("#lost")).to_be_hidden()
    gallery.send_main(instances=[])
    expect(page.locator(ROW)).to_have_count(0)
    visits.forgive("/live")


def test_a_plot_is_drawn_and_follows(visits: Visits, gallery: Gallery) -> None:
    page = visits.open(gallery.url)
    plot = page.get_by_role("img", name="Memory over time")
    expect(plot.locator("canvas")).to_have_count(1)
    first = plot.locator("canvas").evaluate("canvas => canvas.toDataURL()")
    assert len(first) > 5000
    expect(page.locator("#live[data-live=on]")).to_be_visible()
    gallery.send_main(instances=[])
    expect(page.locator(ROW)).to_have_count(0)
    expect(plot.locator("canvas")).to_have_count(1)
    gallery.send_main(memory=[1e9] * 60)
    page.wait_for_function("first => document.querySelector('.plot canvas').toDataURL() !== first", arg=first)
    expect(plot.locator("canvas")).to_have_count(1)


def test_answers_stay_until_they_are_closed(visits: Visits, gallery: Gallery) -> None:
    page = visits.open(gallery.url)
    gallery.answers = [("error", "denied: job 12 is not yours")]
    page.get_by_role("button", name="Check").click()
    shown = page.locator("#answers")
    expect(shown.get_by_text("denied: job 12 is not yours")).to_be_visible()
    assert serious_findings(page) == []
    page.get_by_role("button", name="Close").click()
    expect(shown).to_be_empty()


def test_a_fault_is_shown_in_the_place_of_answers(visits: Visits, gallery: Gallery) -> None:
    page = visits.open(gallery.url)
    shown, check = page.locator("#answers"), page.get_by_role("button", name="Check")
    gallery.refusal = "This form is too old"
    check.click()
    expect(shown).to_have_text("This form is too old")
    page.route("**/act", lambda route: route.abort())
    check.click()
    expect(shown).to_contain_text("The web server does not answer")
    expect(page.get_by_role("heading", name="Queue instances", exact=True)).to_be_visible()
    visits.forgive("/act")
    visits.forgive("htmx:error")


def test_a_stream_that_just_ends_is_opened_again_silently(visits: Visits, gallery: Gallery) -> None:
    page = visits.open(gallery.url)
    expect(page.locator("#live[data-live=on]")).to_be_visible()
    page.evaluate("""() => { window.seen = []; const lost = document.getElementById("lost");
        new MutationObserver(() => window.seen.push(lost.hidden)).observe(lost, { attributes: true }); }""")
    (first,) = gallery.streams
    gallery.drop()
    eventually("the page has another stream", lambda: [each is first for each in gallery.streams] == [False])
    gallery.send_main(instances=[])
    expect(page.locator(ROW)).to_have_count(0)
    assert not page.evaluate("window.seen.includes(false)")
