"""The pages of queues, instances and hosts, without a browser: the rows of commands, and requests of a user."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.web.browsing import Visitor, begin_alarms, page, rows, text_of
from tests.unit.web.followed import ALICE, ROOT, Followed


@pytest.mark.statement("GU-4")
@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("", ["all.q@h1", "all.q@h2", "all.q@h3"]),
        ("?host=h2", ["all.q@h2"]),
        ("?queue=other", []),
        ("?state=d", ["all.q@h1"]),
        ("?state=u", ["all.q@h3"]),
        ("?free=y", ["all.q@h2"]),
        ("?sort=-name", ["all.q@h3", "all.q@h2", "all.q@h1"]),
        ("?sort=load", ["all.q@h3", "all.q@h1", "all.q@h2"]),
    ],
)
def test_instances_are_filtered_by_state_and_location(followed: Followed, browse: Any, query: str, names: list[str]) -> None:
    followed.cell.admin("change_states", action="disable", what="queue", targets=["all.q@h1"])
    followed.cell.master.lose_host("h3")
    followed.cell.master.flush()
    assert [row[1] for row in rows(browse(page(f"/instances{query}")))] == names


@pytest.mark.statement("GU-4", "GU-12")
def test_an_operator_puts_instances_aside_and_others_may_not(followed: Followed, browse: Any) -> None:
    async def press(visitor: Visitor) -> tuple[list[str], str]:
        messages = await visitor.post("/instances", action="disable", target=["all.q@h1", "all.q@h2"])
        return messages, text_of((await visitor.get("/instances")).find(".//div[@data-bulk]"))

    refused, buttons = browse(press, ALICE)
    assert "no permission" in refused[0]
    assert "alice is neither an operator nor an owner" in buttons
    changed, buttons = browse(press, ROOT)
    assert len(changed) == 2
    assert "neither" not in buttons
    assert [i.name for i in followed.cell.state.instances.values() if i.disabled] == ["all.q@h1", "all.q@h2"]


@pytest.mark.statement("GU-13")
def test_an_instance_shows_each_resource_with_its_origin(browse: Any) -> None:
    shown = browse(page("/instances/all.q@h1"))
    found = {row[0]: row[1:] for row in rows(shown)}
    assert found["slots"] == ["4", "qc remaining, queue"]
    assert found["num_proc"][1] == "hl host report"
    assert "4" in text_of(shown.findall(".//section")[-1])


@pytest.mark.statement("GU-3")
def test_a_queue_shows_what_each_host_gets_and_from_where(followed: Followed, browse: Any) -> None:
    cell = followed.cell
    cell.add("host_group", "@a", hostlist="h1 h2")
    cell.add("host_group", "@b", hostlist="h2 h9")
    cell.configure("cluster_queue", "all.q", seq_no="0,[@a=1],[@b=2],[h8=7]", slots="4,[h3=9]")
    shown = browse(page("/queues/all.q"))
    found = {row[0]: row[1:] for row in rows(shown)}
    assert found["h1"] == ["1 @a", "4 default"]
    assert found["h2"] == ["0 c ambiguous: @a, @b", "4 default"]
    assert found["h3"] == ["0 default", "9 h3"]
    assert rows(shown, 1) == [["seq_no", "@b", "in part"], ["seq_no", "h8", "inactive"]]
    assert shown.xpath("//td[span[contains(@class, 'bad')]]")
    for host, values in found.items():
        assert cell.state.configs[f"all.q@{host}"].text["seq_no"] == values[0].split()[0]


@pytest.mark.statement("GU-4")
def test_cluster_queues_are_those_of_qstat(followed: Followed, browse: Any) -> None:
    followed.cell.admin("change_states", action="disable", what="queue", targets=["all.q@h1"])
    (row,) = rows(browse(page("/queues")))
    assert (row[0], row[2].split()[-1], row[3], row[4]) == ("all.q", "12", "8", "d disabled 4")
    assert "no cluster queue x.q" in text_of(browse(page("/queues/x.q")))


@pytest.mark.statement("GU-8")
def test_hosts_show_what_they_report(followed: Followed, browse: Any) -> None:
    followed.cell.master.lose_host("h3")
    followed.cell.master.flush()
    shown = rows(browse(page("/hosts")))
    assert [row[:5] for row in shown[:2]] == [[name, "up", "lx-amd64", "4", "0.10"] for name in ("h1", "h2")]
    assert shown[2][:2] == ["h3", "u unreachable"]
    assert [row[0] for row in rows(browse(page("/hosts?state=u")))] == ["h3"]
    one = browse(page("/hosts/h1"))
    assert "all.q@h1" in text_of(one)
    assert "complex_list" not in text_of(one)


@pytest.mark.statement("GU-4", "GU-12")
def test_tasks_of_a_lost_host_are_unreachable_and_the_alarm_counts_them(followed: Followed, browse: Any) -> None:
    cell = followed.cell
    job = cell.submit(tasks="1-12")
    cell.cycle()
    lost = {key.task for key, host in cell.running.items() if host == "h3"}
    cell.master.lose_host("h3")
    cell.master.flush()
    listed = {row[1]: row[4] for row in rows(browse(page("/jobs")))}
    assert {name for name, state in listed.items() if "host unreachable" in state} == {f"{job}.{task}" for task in lost}
    shown = {row[0]: row[1] for row in rows(browse(page(f"/jobs/{job}")))}
    assert {int(task) for task, state in shown.items() if "host unreachable" in state} == lost
    for address in ("/hosts/h3", "/instances/all.q@h3", "/", "/search?find=alice"):
        shown = browse(page(address)).xpath(f"//main//tr[starts-with(@id, 'row-{job}.')]")
        assert shown, address
        for row in shown:
            assert ("host unreachable" in text_of(row)) == (int(row.get("id").partition(".")[2]) in lost), address

    async def look(visitor: Visitor) -> Any:
        await begin_alarms(visitor)
        return await visitor.get("/")

    assert f"h3 The host sends no reports. {len(lost)} tasks ran there." in text_of(browse(look).find(".//ul[@class='notes']"))


@pytest.mark.statement("GU-4", "GU-8")
def test_an_instance_has_the_same_badges_wherever_it_is_shown(followed: Followed, browse: Any) -> None:
    cell = followed.cell
    cell.admin("change_states", action="disable", what="queue", targets=["all.q@h1"])
    cell.admin("change_states", action="suspend", what="queue", targets=["all.q@h1"])
    cell.master.lose_host("h1")
    cell.master.flush()

    async def play(visitor: Visitor) -> list[list[tuple[str, str]]]:
        found = []
        for address, place in (
            ("/instances", "//tr[@id='row-all.q@h1']"),
            ("/instances/all.q@h1", "//main/div[span]"),
            ("/hosts/h1", "//tr[@id='row-all.q@h1']"),
        ):
            (shown,) = (await visitor.get(address)).xpath(place)
            found.append([(badge.get("class"), text_of(badge)) for badge in shown.xpath(".//span[contains(@class, 'state ')]")])
            assert "since" in text_of(shown)
        return found

    first, *others = browse(play, ROOT)
    assert first == [("state off", "d disabled"), ("state bad", "u unreachable"), ("state off", "s suspended")]
    assert others == [first, first]
