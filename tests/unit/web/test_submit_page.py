"""The submit page: the options of qsub in a form, errors at their fields, and the equivalent command."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from clients.submission import submit_request
from daemons.web.pages.submitting import read_form
from tests.unit.web.browsing import text_of, visiting
from tests.unit.web.followed import Followed

NOW = 1_800_000_000.0


@pytest.fixture
def send(followed: Followed, tmp_path: Path) -> Callable[..., Any]:
    """The page that comes of a form that was sent."""

    def run(fields: dict[str, str]) -> Any:
        async def playing() -> Any:
            async with visiting(followed, tmp_path) as visitor:
                return await visitor.send("/submit", fields)

        return asyncio.run(playing())

    return run


FULL = {
    "command": "/bin/sim --fast 'two words'", "-N": "sim", "-t": "1-9:2", "-tc": "3", "-p": "-5", "-comment": "a note",
    "-l": "h_vmem=4G,h_rt=1:00:00", "soft -l": "arch=lx-amd64", "-q": "all.q,*@@big", "soft -q": "fast.q",
    "-masterq": "all.q@h1", "-pe": "mpi 4-8", "-ar": "17", "-R": "y", "-hold_jid": "12,build*", "-h": "y",
    "-wd": "/home/alice", "-o": "h1:/tmp/o,/tmp/p", "-j": "y", "-v": "A=1,B=x y", "-r": "n", "-notify": "y", "-m": "ae",
    "-M": "alice@site", "-a": "202712241800", "-dl": "202712311200",
}


@pytest.mark.statement("GU-5", "GU-11")
def test_a_form_means_what_its_command_means(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Each option reaches the same field as with qsub itself, which reads the command that the page shows."""
    from clients import submission

    filled = read_form(FULL, NOW)
    assert filled.faults == {}
    monkeypatch.setattr(submission, "_request_file_settings", lambda cwd, options: [])
    monkeypatch.setattr(submission.time, "time", lambda: NOW)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(submission, "add_path_aliases", lambda request: None)
    command, *arguments = shlex.split(filled.command)
    theirs = submit_request(submission.read_submission(command, arguments))
    missing = {"environment", "home", "submit_path", "login_shell", "submit_cwd", "path_aliases"}
    assert {name: value for name, value in theirs.items() if name not in missing} == {
        name: value for name, value in filled.request.items() if name not in missing
    }
    assert filled.request["environment"].items() <= theirs["environment"].items()
    for name in ("hard", "soft", "hard_queues", "soft_queues", "master_queues", "ar"):
        assert filled.request[name], name


@pytest.mark.parametrize(
    ("field", "value", "reason"),
    [
        ("-p", "5000", "priority"),
        ("-t", "9-1", "9-1"),
        ("-N", "a/b", "must not contain /"),
        ("-pe", "mpi", "must have argument"),
        ("-pe", "mpi 1-4 5", "unexpected argument"),
        ("-a", "tomorrow", "tomorrow"),
        ("-j", "maybe", "neither"),
        ("command", "", "required"),
        ("command", "a 'b", "not closed"),
        ("script", "#$ -nosuch\nsleep 1", "script, line 1"),
    ],
)
def test_errors_are_shown_at_their_fields(send: Any, followed: Followed, field: str, value: str, reason: str) -> None:
    page = send({"command": "/bin/true", field: value})
    faults = page.xpath("//span[@class='error']")
    assert [fault.get("id") for fault in faults] == [f"error-{field}"]
    assert reason in faults[0].text_content()
    assert not followed.cell.state.jobs
    kept = page.xpath(f"//*[@name='{field}']")[0]
    if field != "-j":  # what is no choice of a list is not kept
        assert value in (kept.get("value") or kept.text_content())


@pytest.mark.statement("GU-12")
def test_a_job_is_submitted_as_the_user(send: Any, followed: Followed) -> None:
    page = send({"script": "#$ -N fromscript\nsleep 60\r\n", "-l": "h_rt=60", "-h": "y"})
    assert "Your job 1 has been submitted" in text_of(page)
    job = followed.cell.state.jobs[1]
    assert (job.owner, job.name, job.script_file, dict(job.hard)) == ("alice", "fromscript", "STDIN", {"h_rt": "60"})
    assert followed.cell.master.payload(1).script == b"#$ -N fromscript\nsleep 60\n"
    assert followed.cell.master.payload(1).environment["SGE_O_LOGNAME"] == "alice"
    assert job.holds


def test_a_check_submits_nothing_and_shows_the_command(send: Any, followed: Followed) -> None:
    page = send({"command": "/bin/true", "-l": "arch=nosuch", "check": "1"})
    assert not followed.cell.state.jobs
    assert "qsub -l arch=nosuch -b y /bin/true" in text_of(page)
    assert page.xpath("//ul[@class='notes']/li")


def test_refusals_of_the_qmaster_are_shown_with_the_form(send: Any, followed: Followed) -> None:
    page = send({"command": "/bin/true", "-P": "nosuch"})
    assert not followed.cell.state.jobs
    assert "nosuch" in text_of(page.find(".//ul[@class='notes']"))
    assert page.xpath("//input[@name='-P']")[0].get("value") == "nosuch"


def test_the_address_fills_the_form_in(followed: Followed, tmp_path: Path) -> None:
    async def playing() -> Any:
        async with visiting(followed, tmp_path) as visitor:
            return await visitor.get("/submit?-ar=17&-N=again&-j=y&script=sleep+1")

    page = asyncio.run(playing())
    values = {each.get("name"): each.get("value") for each in page.xpath("//form[@class='form']//input")}
    assert (values["-ar"], values["-N"]) == ("17", "again")
    assert page.xpath("//select[@name='-j']/option[@selected]")[0].get("value") == "y"
    assert page.xpath("//textarea")[0].text_content().strip() == "sleep 1"


def test_a_job_is_submitted_again(followed: Followed, tmp_path: Path) -> None:
    followed.cell.submit(name="once", hard=["arch=nosuch"])
    followed.take()

    async def playing() -> list[str]:
        async with visiting(followed, tmp_path) as visitor:
            return await visitor.post("/jobs", action="copy", target="1")

    asyncio.run(playing())
    assert [job.name for job in followed.cell.state.jobs.values()] == ["once", "once"]


@pytest.mark.statement("GU-5")
def test_a_check_without_a_suitable_queue_is_a_warning(send: Any) -> None:
    fields = {"command": "/bin/true", "check": "1"}
    bad = send({**fields, "-l": "arch=nosuch"})
    assert {note.get("class") for note in bad.iter("li") if "note" in note.get("class", "")} == {"note warn"}
    assert "verification: no suitable queues" in text_of(bad)
    good = send(fields)
    assert [note.get("class") for note in good.iter("li") if "found suitable" in text_of(note)] == ["note ok"]
