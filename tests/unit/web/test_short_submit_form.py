"""The short form of the submit page: plain units, an uploaded script, templates, and the outlook after a check."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from aiohttp import FormData

from daemons.web.pages import submitting
from daemons.web.site_templates import DIRECTORY
from tests.unit.web.browsing import Visitor, page, text_of
from tests.unit.web.followed import BOB, Followed


def submitted(fields: dict[str, str]) -> Any:
    return lambda visitor: visitor.send("/submit", fields)


def verdict(shown: Any) -> tuple[str, str]:
    """Tone and text of the outlook."""
    (note,) = shown.xpath("//section[starts-with(@class, 'note')]")
    return note.get("class"), text_of(note)


@pytest.mark.statement("GU-5")
def test_plain_units_submit_the_job_that_the_shown_command_submits(followed: Followed, browse: Any) -> None:
    followed.cell.configure("cluster_queue", "all.q", pe_list="NONE")
    fields = {"command": "/bin/sim", "cores": "2", "memory": "2 G", "time": "1 h 30 m", "-N": "short"}
    shown = browse(submitted({**fields, "check": "1"}))
    assert "qsub -N short -l h_vmem=2G,h_rt=01:30:00 -alloc '$pe_slots' 2 -b y /bin/sim" in text_of(shown)
    assert not followed.cell.state.jobs
    browse(submitted(fields))
    job = followed.cell.state.jobs[1]
    assert (dict(job.hard), job.allocation_rule, job.pe_range) == ({"h_vmem": "2G", "h_rt": "5400"}, "$pe_slots", "2")


def test_an_error_of_a_plain_field_is_shown_there(followed: Followed, browse: Any) -> None:
    shown = browse(submitted({"command": "/bin/true", "memory": "much"}))
    assert [each.get("id") for each in shown.xpath("//span[@class='error']")] == ["error-memory"]
    assert shown.xpath("//input[@name='memory']")[0].get("value") == "much"
    assert not followed.cell.state.jobs


def test_an_uploaded_file_is_the_script(followed: Followed, browse: Any) -> None:
    async def play(visitor: Visitor) -> str:
        form = FormData({"csrf": "token", "script": ""})
        form.add_field("upload", b"#$ -N uploaded\nsleep 1\n", filename="job.sh")
        async with visitor.client.post("/submit", data=form) as response:
            return await response.text()

    browse(play)
    assert followed.cell.state.jobs[1].name == "uploaded"
    assert followed.cell.master.payload(1).script == b"#$ -N uploaded\nsleep 1\n"


def test_an_uploaded_file_that_is_no_text_is_refused(followed: Followed, browse: Any) -> None:
    async def play(visitor: Visitor) -> str:
        form = FormData({"csrf": "token", "command": "true"})
        form.add_field("upload", b"\x7fELF\xff\xfe", filename="a.out")
        async with visitor.client.post("/submit", data=form) as response:
            return await response.text()

    assert "not a text" in browse(play) and not followed.cell.state.jobs


def test_a_job_that_would_start_has_its_place(followed: Followed, browse: Any) -> None:
    tone, text = verdict(browse(submitted({"command": "/bin/true", "check": "1"})))
    assert tone == "note ok" and text.startswith("Would start now, on all.q@h")


def test_a_job_that_would_wait_or_never_run_is_not_green(followed: Followed, browse: Any) -> None:
    tone, text = verdict(browse(submitted({"command": "/bin/true", "-l": "arch=nosuch", "check": "1"})))
    assert tone == "note bad" and text.startswith("Cannot run")
    followed.cell.admin("change_states", action="disable", what="queue", targets=["*"])
    followed.take()
    shown = browse(submitted({"command": "/bin/true", "check": "1"}))
    tone, text = verdict(shown)
    assert tone == "note warn" and "suitable queues are unavailable" in text
    assert shown.xpath("//*[contains(@class, 'note ok')]") == []


def test_the_expected_start_is_shown_with_what_helps(followed: Followed, browse: Any) -> None:
    for _ in range(30):
        followed.cell.submit(hard=["h_rt=600"])
    followed.cell.cycle()
    followed.take()
    tone, text = verdict(browse(submitted({"command": "/bin/true", "check": "1"})))
    assert tone == "note warn" and "requested resources are in use" in text and "Expected start" in text


def test_in_a_large_cell_the_outlook_is_computed_by_the_button_alone(
    followed: Followed, browse: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def typing(visitor: Visitor) -> str:
        form, headers = {"csrf": "token", "command": "true", "check": "1"}, {"HX-Request": "true", "HX-Target": "div#outcome"}
        async with visitor.client.post("/submit", data=form, headers=headers) as response:
            return await response.text()

    assert "Would start now" in browse(typing)
    monkeypatch.setattr(submitting, "MAX_INSTANCES_TYPED", 2)
    assert "Would start now" not in browse(typing)
    assert "Would start now" in verdict(browse(submitted({"command": "true", "check": "1"})))[1]


def test_a_template_of_the_site_fills_the_script_in(followed: Followed, browse: Any, tmp_path: Path) -> None:
    (tmp_path / DIRECTORY).mkdir()
    (tmp_path / DIRECTORY / "nightly").write_text("#$ -N night\n# Every night\nsleep 1\n")
    (tmp_path / DIRECTORY / "nightly").chmod(0o644)
    listed = browse(page("/submit")).xpath("//details[@id='templates']//a")
    assert [(text_of(each), each.get("href")) for each in listed] == [("Every night", "/submit?template=nightly")]
    assert browse(page("/submit?template=nightly")).find(".//textarea").text_content().strip().startswith("#$ -N night")
    assert "There is no template nosuch" in text_of(browse(page("/submit?template=nosuch")))


def test_a_form_is_saved_as_a_template_of_its_user_alone(followed: Followed, browse: Any, tmp_path: Path) -> None:
    fields = {"script": "sleep 7", "cores": "2", "-q": "all.q", "csrf": "token"}

    async def play(visitor: Visitor) -> list[Any]:
        refused = await visitor.send("/submit", {**fields, "save": "1", "template_name": ""})
        saved = await visitor.send("/submit", {**fields, "save": "1", "template_name": "mine"})
        filled = await visitor.get("/submit?own=mine")
        gone = await visitor.send("/submit/templates/delete", {"csrf": "token", "name": "mine"})
        return [refused, saved, filled, gone]

    refused, saved, filled, gone = browse(play)
    assert refused.xpath("//span[@id='error-template_name']")
    assert "saved as the template mine" in text_of(saved) and not followed.cell.state.jobs
    values = {each.get("name"): each.get("value") for each in filled.xpath("//form[@class='form']//input")}
    assert (values["cores"], values["-q"], filled.find(".//textarea").text_content().strip()) == ("2", "all.q", "sleep 7")
    assert not gone.xpath("//details[@id='templates']")
    assert "You have no template mine" in text_of(browse(page("/submit?own=mine"), BOB))
