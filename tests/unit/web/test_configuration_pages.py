"""Objects of the configuration in forms: the changes of qconf, previews, and conflicts of two administrators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from gridengine.config import KINDS
from gridengine.kinds import KIND
from tests.unit.web.browsing import Visitor, rows, text_of
from tests.unit.web.followed import ALICE, ROOT, Followed


@pytest.fixture
def browse(browse: Callable[..., Any]) -> Callable[..., Any]:
    """As root, unless a test names another user."""
    return lambda play, caller=ROOT: browse(play, caller)


def form_of(page: Any) -> dict[str, str]:
    """The fields of a form as they would be sent."""
    found: dict[str, str] = {}
    for field in page.xpath("//form[@class='form']//*[self::input or self::textarea or self::select][@name]"):
        if field.get("type") in ("radio", "checkbox") and field.get("checked") is None:
            continue
        if field.tag == "select":
            text = str(field.value)
        else:
            # a browser leaves out the line break behind <textarea>
            text = (field.text_content() or "").removeprefix("\n") if field.tag == "textarea" else field.get("value", "")
        found[field.get("name")] = text
    return found


async def change(visitor: Visitor, address: str, button: str = "save", **values: str) -> Any:
    """Open a form, change some attributes, press a button; the page that comes of it."""
    fields = form_of(await visitor.get(address))
    fields |= {f"attr {name}": value for name, value in values.items()}
    return await visitor.send(address.partition("?")[0], {**fields, "do": button})


def stored(followed: Followed, kind: str, name: str) -> dict[str, str] | None:
    found: dict[str, str] | None = followed.cell.state.kind(kind).get(name)
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_has_a_list_and_each_object_a_form(followed: Followed, browse: Any, kind: str) -> None:
    names = sorted(followed.cell.state.kind(kind))
    addresses = [f"/config/{kind}/{name or '-'}" for name in names[:3]]

    async def look(visitor: Visitor) -> list[int]:
        found = []
        for address in ("/config", f"/config/{kind}", *addresses, f"/config/{kind}/{'-' if KIND[kind].single else '+'}"):
            await visitor.get(address)
            found.append(visitor.status)
        return found

    assert set(browse(look)) == {200}


@pytest.mark.statement("GU-2", "GU-6", "GU-8")
@pytest.mark.parametrize(("kind", "name"), [("cluster_queue", "all.q"), ("exec_host", "global"), ("scheduler", "-")])
def test_a_form_has_every_attribute_and_saving_it_unchanged_changes_nothing(
    followed: Followed, browse: Any, kind: str, name: str
) -> None:
    before = stored(followed, kind, name.replace("-", ""))
    page = browse(lambda visitor: visitor.get(f"/config/{kind}/{name}"))
    fields = {field.removeprefix("attr "): value for field, value in form_of(page).items() if field.startswith("attr ")}
    assert fields == before
    assert "complex_list" not in fields
    assert kind == "cluster_queue" or "pe_list" not in fields
    browse(lambda visitor: change(visitor, f"/config/{kind}/{name}"))
    assert stored(followed, kind, name.replace("-", "")) == before


@pytest.mark.statement("GU-2", "GU-12")
def test_a_queue_is_changed_for_one_host_with_a_preview(followed: Followed, browse: Any) -> None:
    async def play(visitor: Visitor) -> tuple[str, str, str]:
        preview = await change(visitor, "/config/cluster_queue/all.q", "preview", slots="4,[h1=8]", hostlist="h1 h2")
        before = stored(followed, "cluster_queue", "all.q")
        done = await change(visitor, "/config/cluster_queue/all.q", slots="4,[h1=8]", hostlist="h1 h2")
        assert before is not None
        return text_of(preview), before["slots"], text_of(done)

    preview, unchanged, done = browse(play)
    assert "queue instances are removed" in preview
    assert "all.q@h3" in preview
    assert "queue instances get new values" in preview
    assert unchanged == "4"
    assert "modified" in done
    assert followed.cell.state.configs["all.q@h1"].slots == 8


@pytest.mark.statement("GU-1", "GU-2")
def test_objects_are_cloned_and_removed(followed: Followed, browse: Any) -> None:
    async def play(visitor: Visitor) -> None:
        await change(visitor, "/config/cluster_queue/+?from=all.q", qname="copy.q", slots="2")
        await change(visitor, "/config/host_group/+", group_name="@new", hostlist="h1 @allhosts")

    browse(play)
    copy = stored(followed, "cluster_queue", "copy.q")
    assert copy is not None
    assert copy == {**followed.cell.state.kind("cluster_queue")["all.q"], "qname": "copy.q", "slots": "2"}
    assert stored(followed, "host_group", "@new") == {"group_name": "@new", "hostlist": "h1 @allhosts"}
    browse(lambda visitor: change(visitor, "/config/cluster_queue/copy.q", "remove"))
    assert stored(followed, "cluster_queue", "copy.q") is None


@pytest.mark.statement("GU-1")
def test_a_cycle_of_host_groups_is_refused_with_its_path(followed: Followed, browse: Any) -> None:
    followed.cell.add("host_group", "@a", hostlist="@allhosts")
    page = browse(lambda visitor: change(visitor, "/config/host_group/@allhosts", hostlist="h1 @a"))
    assert "@a" in text_of(page.find(".//ul[@class='notes']"))
    assert "@a" not in followed.cell.state.kind("host_group")["@allhosts"]["hostlist"]


@pytest.mark.statement("GU-7")
@pytest.mark.parametrize(
    "values", [{"type": "STRING", "relop": "<="}, {"type": "STRING", "relop": "==", "consumable": "YES"}, {"type": "NOTHING"}]
)
def test_a_combination_that_cannot_be_is_refused_at_its_field(followed: Followed, browse: Any, values: dict[str, str]) -> None:
    page = browse(lambda visitor: change(visitor, "/config/complex/+", name="x", shortcut="x", **values))
    faults = page.xpath("//span[@class='error']")
    assert [fault.get("id") for fault in faults][0].removeprefix("error-attr.") in {"type", "relop", "consumable"}
    assert stored(followed, "complex", "x") is None


def test_of_two_administrators_the_later_one_is_shown_both_versions(followed: Followed, browse: Any) -> None:
    async def play(visitor: Visitor) -> Any:
        fields = form_of(await visitor.get("/config/cluster_queue/all.q"))
        followed.cell.configure("cluster_queue", "all.q", seq_no="7")
        followed.take()
        return await visitor.send("/config/cluster_queue/all.q", {**fields, "attr seq_no": "3", "do": "save"})

    page = browse(play)
    assert ["seq_no", "0", "7", "3"] in rows(page)
    assert followed.cell.state.kind("cluster_queue")["all.q"]["seq_no"] == "7"


JUNK = "(( no value ,,=["


def faults_of(page: Any) -> dict[str, str]:
    """The errors beside fields, by the names of fields."""
    faults = page.xpath("//span[@class='error']")
    return {each.get("id").removeprefix("error-").replace(".", " "): text_of(each) for each in faults}


def test_a_refused_change_keeps_the_input_and_shows_the_reason_beside_the_field(followed: Followed, browse: Any) -> None:
    """Of each kind: all that can be typed is wrong, and all of it is in the form again."""

    async def play(visitor: Visitor) -> None:
        for kind in KINDS:
            name = next((each for each in sorted(followed.cell.state.kind(kind)) if each != "template"), None)
            address = f"/config/{kind}/{(name or '-') if name is not None or KIND[kind].single else '+'}"
            page = await visitor.get(address)
            fixed = page.xpath("//form[@class='form']//input[@readonly]/@name")
            fields = form_of(page)
            typed = {each: JUNK for each in fields if each.startswith("attr ") and each not in fixed}
            if not typed:
                continue  # a manager is nothing but a name
            refused = await visitor.send(address, {**fields, **typed, "do": "save"})
            assert typed.items() <= form_of(refused).items(), kind
            assert faults_of(refused).keys() & typed.keys(), kind

    browse(play)


@pytest.mark.parametrize("kind", ["configuration", "cluster_queue", "manager"])
def test_the_name_of_a_new_object_stays_in_its_form(followed: Followed, browse: Any, kind: str) -> None:
    field = f"attr {KIND[kind].key}" if KIND[kind].key else "object"
    there = sorted(followed.cell.state.kind(kind))[0]

    async def play(visitor: Visitor) -> None:
        fields = form_of(await visitor.get(f"/config/{kind}/+"))
        for name, reason in (("", "a name is required"), (there, f"{there} already"), ("no name!", "")):
            page = await visitor.send(f"/config/{kind}/+", {**fields, field: name, "do": "save"})
            assert form_of(page)[field] == name
            assert reason in faults_of(page)[field].lower()

    browse(play)
    assert stored(followed, kind, "no name!") is None


def test_typed_values_stay_when_another_user_removes_the_object(followed: Followed, browse: Any) -> None:
    followed.cell.add("project", "climate")
    followed.take()

    async def play(visitor: Visitor) -> None:
        fields = form_of(await visitor.get("/config/project/climate"))
        await visitor.post("/config/project/climate", **{**fields, "do": "remove"})
        page = await visitor.send("/config/project/climate", {**fields, "attr oticket": "77", "do": "save"})
        assert visitor.status == 200
        assert "Another administrator has removed it" in text_of(page.find(".//main"))
        fields = form_of(page)
        assert fields["attr oticket"] == "77"
        assert stored(followed, "project", "climate") is None
        await visitor.send("/config/project/climate", {**fields, "do": "save"})

    browse(play)
    assert (stored(followed, "project", "climate") or {})["oticket"] == "77"


def test_a_host_overrides_some_of_the_global_configuration(followed: Followed, browse: Any) -> None:
    async def play(visitor: Visitor) -> None:
        fields = form_of(await visitor.get("/config/configuration/+"))
        await visitor.send("/config/configuration/+", {**fields, "object": "h1", "attr mailer": "/bin/mail", "do": "save"})
        assert stored(followed, "configuration", "h1") == {"mailer": "/bin/mail"}
        refused = await change(visitor, "/config/configuration/h1", xterm="no/path", mailer="")
        assert form_of(refused)["attr xterm"] == "no/path"
        assert form_of(refused)["attr mailer"] == ""
        await change(visitor, "/config/configuration/h1", xterm="/bin/xterm", mailer="")

    browse(play)
    assert stored(followed, "configuration", "h1") == {"xterm": "/bin/xterm"}


@pytest.mark.statement("GU-12")
def test_a_user_sees_all_and_changes_nothing(followed: Followed, browse: Any) -> None:
    async def play(visitor: Visitor) -> tuple[str, str]:
        page = await visitor.get("/config/cluster_queue/all.q")
        done = await change(visitor, "/config/cluster_queue/all.q", slots="99")
        return text_of(page), text_of(done)

    page, done = browse(play, ALICE)
    assert '"alice" must be manager for this operation' in page
    assert '"alice" must be manager for this operation' in done
    assert followed.cell.state.kind("cluster_queue")["all.q"]["slots"] == "4"


def test_a_user_reads_the_values_in_groups_and_has_no_fields(browse: Any) -> None:
    page = browse(lambda visitor: visitor.get("/config/cluster_queue/all.q"), ALICE)
    assert page.xpath("//main//input | //main//select | //main//textarea") == []
    assert {text_of(each) for each in page.xpath("//main//h2")} >= {"General", "Limits", "Thresholds", "Methods", "Access"}


@pytest.mark.parametrize("kind", KINDS)
def test_an_unchanged_form_of_each_kind_changes_nothing(followed: Followed, browse: Any, kind: str) -> None:
    before = {name: dict(attributes) for name, attributes in followed.cell.state.kind(kind).items()}

    async def play(visitor: Visitor) -> None:
        for name in sorted(before)[:3]:
            for query in ("", "?text=1"):
                if (kind, name) != ("exec_host", "template"):
                    await change(visitor, f"/config/{kind}/{name or '-'}{query}")

    browse(play)
    assert followed.cell.state.kind(kind) == before


@pytest.mark.statement("GU-12")
def test_a_check_while_typing_has_the_reason_of_the_qmaster_by_attribute_and_changes_nothing(
    followed: Followed, browse: Any
) -> None:
    address = "/config/cluster_queue/all.q"

    async def play(visitor: Visitor) -> tuple[dict[str, Any], dict[str, Any]]:
        fields = form_of(await visitor.get(address))
        checks = []
        for slots in ("many", "7"):
            async with visitor.client.post(address, data={**fields, "attr slots": slots, "do": "check"}) as response:
                checks.append(await response.json())
        return checks[0], checks[1]

    wrong, right = browse(play)
    assert list(wrong["faults"]) == ["slots"]
    assert "many" in wrong["faults"]["slots"]
    assert right == {"faults": {}, "others": []}
    assert (stored(followed, "cluster_queue", "all.q") or {})["slots"] == "4"


@pytest.mark.parametrize("address", ["/config/nothing", "/config/nothing/x", "/config/cluster_queue/no.q", "/config/scheduler/x"])
def test_missing_objects_are_not_found(browse: Any, address: str) -> None:
    async def look(visitor: Visitor) -> int:
        await visitor.get(address)
        return visitor.status

    assert browse(look) == 404


@pytest.mark.parametrize("before", ["", "{", "[]", '"x"', '{"qname": 3}'])
def test_a_form_that_was_tampered_with_changes_nothing(followed: Followed, browse: Any, before: str) -> None:
    async def play(visitor: Visitor) -> int:
        fields = form_of(await visitor.get("/config/cluster_queue/all.q"))
        await visitor.send("/config/cluster_queue/all.q", {**fields, "before": before, "attr slots": "9", "do": "save"})
        return visitor.status

    assert browse(play) in (200, 404)
    assert followed.cell.state.kind("cluster_queue")["all.q"]["slots"] == "4"


@pytest.mark.parametrize(
    ("find", "objects"),
    [("@ALLHOSTS", ["host group @allhosts group_name", "cluster queue all.q hostlist"]), ("no such text", []), ("a.*q", [])],
)
def test_a_text_is_searched_in_all_objects(browse: Any, find: str, objects: list[str]) -> None:
    page = browse(lambda visitor: visitor.get(f"/config?find={find.replace('@', '%40')}"))
    found = [" ".join(row) for row in rows(page)]
    assert found == objects if objects else "No match" in text_of(page), found
