"""Irreversible and disruptive actions ask first, with names and numbers, and change nothing before they are confirmed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from daemons.web.app import build_app
from daemons.web.pages.templating import templates
from tests.harness import Cell
from tests.unit.web.browsing import Visitor, text_of, visiting
from tests.unit.web.followed import ROOT, Followed, web_of

READS = ("job_story", "status", "config_history", "accounting", "explain_job", "job_request")
#: address, fields of the button, what the question says
DISRUPTIVE: list[tuple[str, dict[str, str], str]] = [
    ("/jobs", {"action": "delete", "target": "1"}, "Delete job 1 (4 tasks)? 1 array Running tasks are killed."),
    ("/jobs", {"action": "delete", "all": "1", "list": "/jobs"}, "Delete 2 jobs (5 tasks)? 1 array, 2 single Running"),
    ("/jobs", {"action": "suspend", "target": "2"}, "Suspend job 2? 2 single"),
    ("/jobs", {"action": "reschedule", "target": "2"}, "Reschedule job 2?"),
    *(("/jobs", {"action": action, "all": "1", "list": "/jobs"}, "2 jobs (5 tasks)?") for action in ("hold", "clear", "copy")),
    ("/jobs", {"action": "priority", "to": "5", "all": "1", "list": "/jobs"}, "Set the priority of 2 jobs (5 tasks)?"),
    ("/instances", {"action": "clean", "target": "all.q@h1"}, "Remove all jobs of all.q@h1? 4 running tasks there."),
    *(
        ("/instances", {"action": action, "target": "all.q@h1"}, f"{action.capitalize()} all.q@h1? 4 running tasks there.")
        for action in ("suspend", "disable")
    ),
    *(("/jobs", {"action": action, "target": "2", "force": "y"}, "2 single Forced:") for action in ("delete", "suspend")),
    ("/instances", {"action": "disable", "target": "all.q@h1", "force": "y"}, "4 running tasks there. Forced:"),
    ("/reservations", {"action": "delete", "target": "1", "force": "y"}, "No jobs use it. Forced:"),
    ("/hosts", {"action": "drain", "host": "h1", "reason": "disk"}, "Drain h1? 4 running tasks will not be stopped."),
    ("/instances", {"action": "reschedule", "target": "all.q@h1"}, "Reschedule all tasks of all.q@h1?"),
    ("/hosts", {"action": "daemon", "host": "h1"}, "Stop the execution daemon of h1? 4 running tasks will not be stopped."),
    ("/hosts", {"action": "jobs", "host": "h1"}, "kill the jobs of h1? 4 running tasks will be killed."),
    ("/reservations", {"action": "delete", "target": "1"}, "Delete reservation 1 weather? No jobs use it."),
    ("/reservations", {"action": "series", "target": "1"}, "Delete the later reservations of the series and reservation 1"),
    ("/policies", {"do": "delete", "node": "/climate"}, "Delete the share tree node /climate?"),
    ("/policies", {"do": "clear", "users": ""}, "Clear the usage of all users and projects?"),
    ("/policies", {"do": "clear", "users": "bob, eve"}, "Clear the usage of bob, eve?"),
    ("/config/cluster_queue/all.q", {"do": "remove"}, "Remove the cluster queue all.q? 5 running tasks there."),
    ("/config/exec_host/h1", {"do": "remove"}, "Remove the execution host h1? 4 running tasks there."),
    ("/config/project/climate", {"do": "remove"}, "Remove the project climate?"),
    ("/complexes/edit", {"do": "commit", "gone rank": "y", "before": '{"rank": {}}'}, "Remove 1 resource attribute: rank?"),
    ("/history/1", {"do": "undo"}, "Undo change 1?"),
]
HARMLESS: list[tuple[str, dict[str, str]]] = [
    *(("/jobs", {"action": action, "target": "2"}) for action in ("hold", "release", "unsuspend", "clear", "copy")),
    *(("/instances", {"action": action, "target": "all.q@h1"}) for action in ("enable", "clear", "unsuspend")),
    ("/hosts", {"action": "resume", "host": "h1"}),
    ("/policies", {"do": "modify", "node": "/climate", "shares": "7"}),
    ("/config/project/climate", {"do": "preview"}),
    ("/history/1", {"do": "preview"}),
]


class Asking(NamedTuple):
    """A button that asks: its page, its label, a part of its question, and the request after the confirmation.

    `boxes`: labels of boxes that are checked before; `first`: the label of a button that is pressed before.
    """

    page: str
    label: str
    question: str
    request: str
    boxes: tuple[str, ...] = ()
    first: str = ""


_ALL = ("Select all on this page",)
_JOB_REQUESTS = {
    "Hold": "hold_jobs", "Release": "hold_jobs", "Suspend": "change_states", "Resume": "change_states",
    "Reschedule": "change_states", "Clear error": "change_states", "Resubmit": "resubmit_jobs", "Delete": "delete_jobs",
    "Set priority": "alter_jobs",
}
ASKING = [
    *(Asking("/jobs", label, " 2 jobs (5 tasks)? 1 array, 2 single", name, _ALL) for label, name in _JOB_REQUESTS.items()),
    *(Asking("/jobs/1", label, f"{label} job 1 (4 tasks)? 1 array", _JOB_REQUESTS[label]) for label in ("Suspend", "Reschedule")),
    Asking("/jobs/1", "Delete", "Delete job 1 (4 tasks)? 1 array Forced:", "delete_jobs", ("Force",)),
    *(
        Asking("/instances", label, f"{verb} 3 queue instances: all.q@h1, all.q@h2, all.q@h3? 5 running tasks", name, _ALL)
        for label, verb, name in [
            *((label, label, "change_states") for label in ("Enable", "Disable", "Suspend", "Resume")),
            ("Clear error", "Clear the error of", "change_states"),
            ("Reschedule", "Reschedule all tasks of", "change_states"),
            ("Remove all jobs", "Remove all jobs of", "clean_queues"),
        ]
    ),
    Asking("/instances/all.q@h1", "Disable", "Disable all.q@h1? 4 running tasks", "change_states"),
    Asking("/instances/all.q@h1", "Suspend", "Suspend all.q@h1? 4 running tasks", "change_states"),
    Asking("/instances/all.q@h1", "Reschedule", "Reschedule all tasks of all.q@h1? 4 running tasks", "change_states"),
    Asking("/instances/all.q@h1", "Remove all jobs", "Remove all jobs of all.q@h1? 4 running tasks", "clean_queues"),
    Asking("/hosts/h1", "Stop execution daemon", "daemon of h1? 4 running tasks will not be stopped.", "shutdown"),
    Asking("/hosts/h1", "Stop daemon and kill jobs", "the jobs of h1? 4 running tasks will be killed.", "shutdown"),
    Asking("/hosts/h1", "Drain", "Drain h1? 4 running tasks will not be stopped.", "drain_hosts"),
    Asking("/reservations", "Delete", "Delete reservation 1 weather? No jobs use it.", "delete_reservations", _ALL),
    Asking("/reservations", "Delete with the later reservations of its series", "and reservation 1", "delete_reservations", _ALL),
    Asking("/reservations/1", "Delete", "Delete reservation 1 weather? No jobs use it.", "delete_reservations"),
    Asking("/policies", "Delete /climate", "Delete the share tree node /climate? No nodes are below it.", "change_share_tree"),
    Asking("/policies", "Clear usage", "Clear the usage of all users and projects?", "clear_usage"),
    Asking("/complexes/edit", "Commit", "Remove 1 resource attribute: licence?", "config_change", ("Remove licence",)),
    Asking("/history/5", "Undo this change", '5? alice: user "alice" (added).', "config_change", (), "Preview the undo"),
    *(
        Asking(f"/config/{kind}/{name}", "Remove", f"Remove the {noun} {name}?", "config_change")
        for kind, name, noun in [
            ("cluster_queue", "all.q", "cluster queue"), ("exec_host", "h1", "execution host"),
            ("project", "climate", "project"), ("host_group", "@rack7", "host group"), ("calendar", "nights", "calendar"),
            ("complex", "licence", "complex attribute"), ("manager", "root", "manager"),
        ]
    ),
]
"""Every button that asks, in a cell that `fill` has filled: the walk in a browser presses them all."""
_FORMS = "//main//form[@method='post']"


def fill(cell: Cell) -> None:
    """An array of four tasks on h1, a job on another host, a reservation, a tree, and objects of some kinds."""
    cell.submit(name="array", tasks="1-4", hard_queues=["*@h1"])
    cell.submit(name="single", hard_queues=["*@h2"])
    cell.cycle()
    cell.admin("reserve", name="weather", start_time=cell.now + 7200, duration=600.0)
    cell.add("project", "climate")
    cell.add("complex", "licence", shortcut="licence", type="INT", relop="<=", requestable="YES", consumable="YES")
    cell.add("calendar", "nights", year="NONE", week="mon-fri=6-20=off")
    cell.admin("change_share_tree", verb="add", nodes=["/climate=25"])
    cell.add("host_group", "@rack7", hostlist="h1")
    cell.master.flush()


@pytest.fixture
def busy(followed: Followed) -> Followed:
    fill(followed.cell)
    followed.take()
    return followed


@pytest.fixture
def visit(busy: Followed, tmp_path: Path) -> Callable[..., Any]:
    def run(play: Any) -> Any:
        async def playing() -> Any:
            async with visiting(busy, tmp_path, ROOT) as visitor:
                return await play(visitor)

        return asyncio.run(playing())

    return run


def changes(visitor: Visitor) -> list[str]:
    """The requests to the qmaster that are no reads."""
    return [name for _, name in visitor.link.asked if name not in READS]


@pytest.mark.parametrize(("address", "fields", "question"), DISRUPTIVE)
def test_disruptive_actions_ask_first(visit: Any, address: str, fields: dict[str, str], question: str) -> None:
    async def play(visitor: Visitor) -> None:
        for headers in ({"HX-Request": "true"}, {}):  # with scripts, and without
            page = await visitor.send(address, {**fields, "confirmed": ""}, headers)
            (form,) = page.findall(".//form[@class='confirm']")
            assert question in text_of(form.find("div").getparent())
            assert changes(visitor) == []
        sent = {each.get("name"): each.get("value") for each in form.findall(".//input")}
        assert fields.items() <= sent.items()
        await visitor.send(address, sent)
        assert changes(visitor)

    visit(play)


@pytest.mark.parametrize(("address", "fields"), HARMLESS)
def test_harmless_actions_do_not_ask(visit: Any, address: str, fields: dict[str, str]) -> None:
    async def play(visitor: Visitor) -> None:
        await visitor.send(address, {**fields, "confirmed": ""})
        assert changes(visitor)

    visit(play)


def test_every_button_that_asks_is_known(visit: Any) -> None:
    """Each button of a page that asks, with everything selected, is in `ASKING`: the walk in a browser presses it."""

    async def play(visitor: Visitor) -> set[tuple[str, str]]:
        found = set()
        for address, first in {(each.page, each.first) for each in ASKING}:
            page = await visitor.get(address)
            if first:
                page = await visitor.send(address, {"do": page.xpath(f"//button[text()='{first}']")[0].get("value")})
            for form in page.xpath(_FORMS):
                fields: dict[str, list[str]] = {}
                for each in form.xpath(".//input[@name][not(@type='checkbox') or @name='target' or starts-with(@name, 'gone ')]"):
                    fields.setdefault(each.get("name"), []).append(each.get("value", "on"))
                for button in form.xpath(".//button[@name]"):
                    sent = {**fields, button.get("name"): button.get("value")}
                    answer = await visitor.send(form.get("action"), {**sent, "to": "5", "confirmed": ""})
                    if answer.xpath("//form[@class='confirm']"):
                        found.add((address, button.get("aria-label") or text_of(button)))
        return found

    asking = visit(play)
    known = {(each.page, each.label) for each in ASKING}
    assert asking == known


@pytest.mark.parametrize("address", ["/config/project/gone", "/config/no_such_kind/x", "/history/9999999"])
def test_a_question_about_what_is_gone_is_no_failure(visit: Any, address: str) -> None:
    async def play(visitor: Visitor) -> None:
        await visitor.post(address, do="remove", confirmed="")
        assert visitor.status in (200, 404)
        assert changes(visitor) == []

    visit(play)


@pytest.mark.parametrize("target", ["9" * 5000, "9" * 5000 + ".1", "1.9-" + "9" * 5000, "²", "1.x", "-1"])
def test_a_question_about_no_number_of_a_job_is_no_failure(visit: Any, target: str) -> None:
    async def play(visitor: Visitor) -> None:
        for address in ("/jobs", "/reservations"):
            await visitor.send(address, {"action": "delete", "target": target, "confirmed": ""})
            assert visitor.status == 200

    visit(play)


def test_an_action_that_there_is_not_changes_nothing(visit: Any) -> None:
    async def play(visitor: Visitor) -> None:
        for address in ("/hosts", "/jobs", "/instances", "/policies"):
            (message,) = await visitor.post(address, action="erase", do="erase", host="h1", target="1", node="/climate")
            assert "there is no action" in message
        assert changes(visitor) == []

    visit(play)


def test_every_form_names_its_question(followed: Followed, tmp_path: Path) -> None:
    """No route of a page is without a decision on its confirmation."""

    async def play() -> list[str]:
        app = build_app(web_of(followed, tmp_path)[0])
        return [
            route.resource.canonical
            for route in app.router.routes()
            if route.method == "POST" and route.resource is not None
            if not route.resource.canonical.startswith("/api/") and "with_question" not in route.handler.__qualname__
        ]

    assert asyncio.run(play()) == []


def test_no_template_asks_by_itself() -> None:
    loader = templates().loader
    assert loader is not None
    assert [name for name in loader.list_templates() if "hx-confirm" in loader.get_source(templates(), name)[0]] == []
