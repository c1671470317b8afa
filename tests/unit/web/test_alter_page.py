"""Changing and cloning a job in a form: the form has the current options, and only changes are sent."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from daemons.qmaster.decide.jobs.job_request import request_of
from daemons.web.pages.altering import JOBS, RESERVATIONS, changes_of
from daemons.web.pages.option_form import OptionForm
from daemons.web.pages.option_values import program_of, reservation_values, values_of
from daemons.web.pages.reservations import FIELDS
from daemons.web.pages.submitting import read_form
from gridengine.options.reservation import RESERVATION_OPTIONS
from gridengine.options.submit_folds import Submission
from gridengine.protocols.gdi.requests import Caller
from tests.unit.web.browsing import text_of, visiting
from tests.unit.web.followed import ALICE, BOB, ROOT, Followed
from tests.unit.web.test_submit_page import FULL, NOW

BERLIN = ZoneInfo("Europe/Berlin")
SUBMITTED = {
    **{name: value for name, value in FULL.items() if name not in ("-ar", "-dl", "-hold_jid", "-h", "-P", "-masterq", "-pe")},
    "-l": "h_vmem=4G,h_rt=3600", "soft -l": "arch=lx-amd64", "-v": "A=1,B=x y", "-ac": "step=3,last", "-A": "team",
    "-q": "all.q@h1,*@@allhosts", "soft -q": "all.q",
    "-js": "5", "-shell": "n", "-alloc": "$fill_up 2-4",
    "-binding": "linear:2", "-m": "ae", "-S": "/bin/sh", "-i": "/tmp/in", "-e": "h1:/tmp/e",
}


@pytest.fixture
def play(followed: Followed, tmp_path: Path) -> Callable[..., Any]:
    """A visitor of the pages."""

    def run(acts: Callable[[Any], Any], caller: Caller = ALICE) -> Any:
        async def playing() -> Any:
            async with visiting(followed, tmp_path, caller) as visitor:
                followed.take()
                return await acts(visitor)

        return asyncio.run(playing())

    return run


def field(page: Any, name: str) -> str:
    (found,) = page.xpath(f"//*[@name='{name}']")
    return found.text_content().lstrip("\n") if found.tag == "textarea" else found.get("value", "")


@pytest.mark.statement("GU-5", "GU-11")
def test_the_values_of_a_job_make_the_same_job_again(followed: Followed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "UTC")
    first = read_form(SUBMITTED, NOW)
    assert not first.faults
    job = followed.cell.submit(**first.request)
    submitted = request_of(followed.cell.state.jobs[job])
    submitted.environment = first.request["environment"]
    again = read_form(values_of(submitted, ZoneInfo("UTC")) | program_of(submitted), NOW)
    assert again.faults == {}
    assert {name: again.request[name] for name in first.request} == first.request


@pytest.mark.statement("GU-11")
def test_only_what_is_changed_is_sent(followed: Followed, play: Any) -> None:
    job = followed.cell.submit(holds="u", hard=["h_rt=60"], hard_queues=["all.q"], priority=-5)

    async def acts(visitor: Any) -> Any:
        page = await visitor.get(f"/jobs/{job}/alter")
        assert (field(page, "-l"), field(page, "-q"), field(page, "-p")) == ("h_rt=60", "all.q", "-5")
        (form,) = page.xpath(f"//form[@action='/jobs/{job}/alter']")
        values = {str(each.name): str(each.value or "") for each in form.inputs if each.name}
        values |= {"-l": "h_rt=120,mem_free=1M"}
        checked = await visitor.send(f"/jobs/{job}/alter", values | {"check": "1"})
        before = dict(followed.cell.state.jobs[job].hard)
        return checked, before, await visitor.send(f"/jobs/{job}/alter", values), visitor.link.asked

    checked, before, _, asked = play(acts)
    assert before == {"h_rt": "60"}
    assert "Preview: " in text_of(checked)
    assert asked[-1] == ("alice", "alter_jobs")
    after = followed.cell.state.jobs[job]
    assert (after.hard, after.priority) == ({"h_rt": "120", "mem_free": "1M"}, -5)


@pytest.mark.parametrize(
    ("before", "values", "changes", "faults"),
    [
        ({"-l": "a=1"}, {"-l": "a=1"}, [], []),
        ({"-l": "a=1"}, {"-l": ""}, ["-l", "''"], []),
        ({"-notify": "y"}, {}, ["-notify"], ["-notify"]),
        ({"-a": "202712241800.00"}, {"-a": ""}, ["-a", "''"], ["-a"]),
        ({}, {"-p": "9999"}, ["-p", "9999"], ["-p"]),
        ({"-q": "all.q"}, {"-q": ""}, ["-q", "''"], ["-q"]),
        ({}, {"-pe": "mpi 4"}, ["-pe", "mpi", "4"], []),
        ({"-sc": "a=1,b=2"}, {"-sc": "a=1"}, ["-sc", "a=1"], []),
    ],
)
def test_changes(before: dict[str, str], values: dict[str, str], changes: list[str], faults: list[str]) -> None:
    changed = changes_of(JOBS.form, "7", before, values, NOW)
    assert (changed.command, sorted(changed.faults)) == (" ".join(["qalter", *changes, "7"]), faults)


def test_the_forms_have_no_option_that_their_command_has_not() -> None:
    assert {"-l", "soft -l", "-ar", "-sc"} <= JOBS.form.fields.keys()
    assert not {"-t", "-h", "-now", "-ac"} & JOBS.form.fields.keys()
    assert {"-a", "-e", "-d", "-l", "-pe", "-u", "-heal"} <= RESERVATIONS.form.fields.keys()
    assert not {"-latest", "-recur", "-now"} & RESERVATIONS.form.fields.keys()


def test_the_values_of_a_reservation_make_the_same_one_again(followed: Followed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "UTC")
    cell = followed.cell
    cell.add("userset", "crew", entries="alice")
    asked: dict[str, Any] = {"name": "full", "account": "team", "hard": ["h_rt=60"]}
    asked |= {"hard_queues": ["all.q@h1", "all.q@h2"], "heal": True}
    asked |= {"users": ["alice", "@crew", "!bob"], "idle_limit": 1800.0, "mail_options": "ab", "mail_list": ["root"]}
    asked |= {"allocation_rule": "$fill_up", "pe_range": "2", "start_time": cell.now + 3600, "end_time": cell.now + 7200}
    assert cell.admin("reserve", **asked).status == 0
    (one,) = cell.state.reservations.values()
    values = reservation_values(one, ZoneInfo("UTC"))
    again = Submission("qrsub", {}, "", cell.now)
    assert OptionForm("qrsub", RESERVATION_OPTIONS, FIELDS).read(values, again).faults == {}
    wrong = {name: (value, again.request.get(name)) for name, value in asked.items() if again.request.get(name) != value}
    assert wrong == {}


@pytest.mark.statement("GU-10", "AR-125")
def test_a_reservation_is_moved_in_its_form(followed: Followed, play: Any) -> None:
    cell = followed.cell
    cell.admin("reserve", name="late", start_time=cell.now + 3600, duration=600.0)
    (number,) = cell.state.reservations

    async def acts(visitor: Any) -> Any:
        page = await visitor.get(f"/reservations/{number}/alter")
        (form,) = page.xpath(f"//form[@action='/reservations/{number}/alter']")
        values = {str(each.name): str(each.value or "") for each in form.inputs if each.name}
        values |= {"-N": "early", "-d": "0:20:00"}
        checked = await visitor.send(f"/reservations/{number}/alter", values | {"check": "1"})
        before = cell.state.reservations[number].name
        return checked, before, await visitor.send(f"/reservations/{number}/alter", values)

    checked, before, after = play(acts, ROOT)
    assert "Preview: " in text_of(checked)
    assert (before, f"modified advance_reservation {number}" in text_of(after)) == ("late", True)
    changed = cell.state.reservations[number]
    assert (changed.name, changed.end_time - changed.start_time) == ("early", 1200)


def test_errors_are_shown_while_the_visitor_types(followed: Followed, play: Any) -> None:
    job = followed.cell.submit(holds="u")

    async def acts(visitor: Any) -> Any:
        values = {"before": "{}", "-p": "9999", "check": "1"}
        return await visitor.send(f"/jobs/{job}/alter", values, {"HX-Request": "true", "HX-Target": "div#outcome"})

    shown = play(acts)
    assert not shown.xpath("//form")
    assert "-p: " in text_of(shown)


@pytest.mark.parametrize("before", ["", "[]", "7", "[" * 100_000])
def test_a_malformed_form_is_refused(followed: Followed, play: Any, before: str) -> None:
    job = followed.cell.submit(holds="u")

    async def acts(visitor: Any) -> Any:
        await visitor.send(f"/jobs/{job}/alter", {"before": before, "-p": "3"})
        return visitor.status

    assert play(acts) == 400


@pytest.mark.statement("GU-12")
def test_the_job_of_another_user_shows_its_options_and_cannot_be_changed(followed: Followed, play: Any) -> None:
    job = followed.cell.submit(holds="u", environment={"SECRET": "7"}, environment_names=["SECRET"], script="#!/bin/sh\nhidden\n")

    async def acts(visitor: Any) -> Any:
        answer = await visitor.send(f"/jobs/{job}/alter", {"before": "{}", "-N": "mine"})
        return answer, await visitor.get(f"/submit?from={job}"), await visitor.get("/submit?from=99"), visitor.status

    answer, copy, _, status = play(acts, BOB)
    assert "must be at least owner" in text_of(answer)
    assert followed.cell.state.jobs[job].name != "mine"
    assert "hidden" not in text_of(copy)
    assert "SECRET" not in field(copy, "-v")
    assert "are its owner's" in text_of(copy)
    assert status == 404


@pytest.mark.statement("GU-5")
def test_the_owner_gets_script_and_variables_of_a_copy(followed: Followed, play: Any) -> None:
    job = followed.cell.submit(
        holds="u", environment={"CASE": "7", "SGE_O_HOME": "/"}, environment_names=["CASE"], script="#!/bin/sh\necho hé\n",
        binary=False, script_file="x.sh", args=["a b"],
    )

    async def acts(visitor: Any) -> Any:
        return await visitor.get(f"/submit?from={job}&-N=copy")

    page = play(acts)
    assert field(page, "script") == "#!/bin/sh\necho hé\n"
    assert (field(page, "-v"), field(page, "-N"), field(page, "command")) == ("CASE=7", "copy", "'a b'")
    assert json.dumps(field(page, "-h")) == '"y"', "a hold is not taken along: the box is not checked"
    assert not page.xpath("//*[@name='-h'][@checked]")
