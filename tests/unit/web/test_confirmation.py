"""What is irreversible or disruptive asks first, with names and numbers, and changes nothing before it is confirmed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from daemons.web.app import build_app
from daemons.web.pages.templating import templates
from tests.unit.web.browsing import Visitor, visiting, words
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
    ("/instances", {"action": "suspend", "target": "all.q@h1"}, "Suspend all.q@h1?"),
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
    *(("/instances", {"action": action, "target": "all.q@h1"}) for action in ("disable", "enable", "clear", "unsuspend")),
    *(("/hosts", {"action": action, "host": "h1", "reason": "disk"}) for action in ("drain", "resume")),
    ("/policies", {"do": "modify", "node": "/climate", "shares": "7"}),
    ("/config/project/climate", {"do": "preview"}),
    ("/history/1", {"do": "preview"}),
]


@pytest.fixture
def busy(followed: Followed) -> Followed:
    """An array of four tasks on h1, a job on another host, a reservation, a tree."""
    cell = followed.cell
    cell.submit(name="array", tasks="1-4", hard_queues=["*@h1"])
    cell.submit(name="single", hard_queues=["*@h2"])
    cell.cycle()
    cell.admin("reserve", name="weather", start_time=cell.now + 7200, duration=600.0)
    cell.add("project", "climate")
    cell.admin("change_share_tree", verb="add", nodes=["/climate=25"])
    cell.master.flush()
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
    """What the qmaster was asked that is no reading."""
    return [name for _, name in visitor.link.asked if name not in READS]


@pytest.mark.parametrize(("address", "fields", "question"), DISRUPTIVE)
def test_what_is_disruptive_asks_first(visit: Any, address: str, fields: dict[str, str], question: str) -> None:
    async def play(visitor: Visitor) -> None:
        for headers in ({"HX-Request": "true"}, {}):  # with scripts, and without
            page = await visitor.send(address, {**fields, "confirmed": ""}, headers)
            (form,) = page.findall(".//form[@class='confirm']")
            assert question in words(form.find("div").getparent())
            assert changes(visitor) == []
        sent = {each.get("name"): each.get("value") for each in form.findall(".//input")}
        assert fields.items() <= sent.items()
        await visitor.send(address, sent)
        assert changes(visitor)

    visit(play)


@pytest.mark.parametrize(("address", "fields"), HARMLESS)
def test_what_is_harmless_does_not_ask(visit: Any, address: str, fields: dict[str, str]) -> None:
    async def play(visitor: Visitor) -> None:
        await visitor.send(address, {**fields, "confirmed": ""})
        assert changes(visitor)

    visit(play)


def test_an_action_that_there_is_not_changes_nothing(visit: Any) -> None:
    async def play(visitor: Visitor) -> None:
        for address in ("/hosts", "/jobs", "/instances", "/policies"):
            (said,) = await visitor.post(address, action="erase", do="erase", host="h1", target="1", node="/climate")
            assert "there is no action" in said
        assert changes(visitor) == []

    visit(play)


def test_every_form_says_what_it_asks(followed: Followed, tmp_path: Path) -> None:
    """No route of a page is without a decision on its confirmation."""

    async def play() -> list[str]:
        app = build_app(web_of(followed, tmp_path)[0])
        return [
            route.resource.canonical
            for route in app.router.routes()
            if route.method == "POST" and route.resource is not None
            if not route.resource.canonical.startswith("/api/") and "asking" not in route.handler.__qualname__
        ]

    assert asyncio.run(play()) == []


def test_no_template_asks_by_itself() -> None:
    loader = templates().loader
    assert loader is not None
    assert [name for name in loader.list_templates() if "hx-confirm" in loader.get_source(templates(), name)[0]] == []
