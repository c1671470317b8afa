"""The table of complexes: only valid combinations are offered, and all changes are saved together."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from daemons.web.pages.complexes import CHOICES, combinations
from gridengine.protocols.gdi.requests import Caller
from tests.unit.web.browsing import text_of, visiting
from tests.unit.web.followed import ALICE, ROOT, Followed


@pytest.fixture
def play(followed: Followed, tmp_path: Path) -> Callable[..., Any]:
    def run(acts: Callable[[Any], Any], caller: Caller = ROOT) -> Any:
        async def playing() -> Any:
            async with visiting(followed, tmp_path, caller) as visitor:
                followed.take()
                return await acts(visitor)

        return asyncio.run(playing())

    return run


def filled(page: Any) -> dict[str, str]:
    """What a browser would send of the form."""
    (form,) = page.xpath("//form[@data-combinations]")
    return {str(each.name): str(each.value or "") for each in form.inputs if each.name and each.get("type") != "checkbox"}


@pytest.mark.statement("GU-7", "CX-5")
def test_the_offered_choices_are_those_that_the_qmaster_accepts(followed: Followed) -> None:
    """Each choice of the four columns, with each kind of default, by the qmaster's own word."""
    offered, number = combinations(), 0
    for chosen in product(CHOICES["type"][::3], CHOICES["relop"], CHOICES["consumable"], CHOICES["requestable"]):
        for default in ("0", "NONE", "1"):
            number += 1
            row = dict(zip(("type", "relop", "consumable", "requestable"), chosen, strict=True)) | {"default": default}
            row |= {"name": f"c{number}", "shortcut": f"c{number}", "urgency": "0"}
            change = {"kind": "complex", "name": row["name"], "before": None, "after": row}
            answer: Any = followed.cell.admin("config_change", changes=[change], plan=True)
            taken = not answer.status and not answer.data.get("refused")
            assert taken == (default in offered.get(" ".join(chosen), ())), (row, answer)
    assert "EXCL" not in {each.split()[1] for each in offered if each.startswith("INT")}
    assert {each.split()[2] for each in offered if each.startswith("STRING")} == {"NO"}


@pytest.mark.statement("GU-7")
def test_a_change_set_is_made_as_one(followed: Followed, play: Any) -> None:
    followed.cell.add("complex", "old", shortcut="o", type="INT", relop="<=", requestable="YES", consumable="NO")

    async def acts(visitor: Any) -> Any:
        form = filled(await visitor.get("/complexes/edit"))
        form |= {"new 0 name": "gpu", "new 0 shortcut": "g", "new 0 type": "INT", "new 0 relop": "<=", "new 0 consumable": "YES"}
        form |= {"new 0 default": "0", "gone old": "y", "old slots urgency": "500"}
        seen = await visitor.send("/complexes/edit", form | {"do": "preview"})
        before = followed.cell.state.kind("complex").keys()
        assert "gpu" not in before and "old" in before
        return seen, await visitor.send("/complexes/edit", form | {"do": "commit"})

    seen, done = play(acts)
    assert [text_of(each) for each in seen.xpath("//section[h2='Preview']//li")] == [
        "old is removed",
        "slots urgency 1000 → 500",
        "gpu is added",
    ]
    stored = followed.cell.state.kind("complex")
    assert (stored["gpu"]["consumable"], stored["slots"]["urgency"], "old" in stored) == ("YES", "500", False)
    assert "All complexes" in text_of(done)


def test_a_single_refusal_refuses_all_and_marks_its_row(followed: Followed, play: Any) -> None:
    async def acts(visitor: Any) -> Any:
        form = filled(await visitor.get("/complexes/edit"))
        form |= {"new 0 name": "bad", "new 0 type": "STRING", "new 0 consumable": "YES", "old slots urgency": "500"}
        return await visitor.send("/complexes/edit", form | {"do": "commit"})

    page = play(acts)
    assert followed.cell.state.kind("complex")["slots"]["urgency"] == "1000"
    assert page.xpath("//tr[@class='wrong']/@id") == ["row-new-0"]
    assert "cannot be consumed" in text_of(page)
    assert page.xpath("//input[@name='new 0 name']/@value") == ["bad"], "what was typed is still there"


def test_a_table_that_changed_meanwhile_is_not_overwritten(followed: Followed, play: Any) -> None:
    async def acts(visitor: Any) -> Any:
        form = filled(await visitor.get("/complexes/edit")) | {"old slots urgency": "500", "do": "commit"}
        stored = dict(followed.cell.state.kind("complex")["slots"]) | {"urgency": "7"}
        change = {"kind": "complex", "name": "slots", "before": followed.cell.state.kind("complex")["slots"], "after": stored}
        followed.cell.admin("config_change", changes=[change])
        return await visitor.send("/complexes/edit", form)

    assert "has been changed since" in text_of(play(acts))
    assert followed.cell.state.kind("complex")["slots"]["urgency"] == "7"


@pytest.mark.parametrize("before", ["", "[]", "7", "[" * 100_000, '{"a": 1}'])
def test_a_form_of_another_page_is_refused(play: Any, before: str) -> None:
    async def acts(visitor: Any) -> int:
        await visitor.send("/complexes/edit", {"before": before, "do": "commit"})
        return int(visitor.status)

    assert play(acts) == 400


@pytest.mark.statement("GU-12")
def test_users_without_rights_read_the_table(followed: Followed, play: Any) -> None:
    async def acts(visitor: Any) -> Any:
        page = await visitor.get("/complexes?find=vmem")
        form = {"before": json.dumps({}), "new 0 name": "gpu", "do": "commit"}
        return page, await visitor.send("/complexes/edit", form)

    page, answer = play(acts, ALICE)
    assert [text_of(each) for each in page.xpath("//main//tbody//th")] == ["h_vmem", "s_vmem"]
    assert page.xpath("//button[@aria-disabled='true'][text()='Change']")
    assert "gpu" not in followed.cell.state.kind("complex")
    assert "alice" in text_of(answer)


@pytest.mark.statement("GU-12")
def test_the_form_of_complexes_has_no_fields_for_a_user(play: Any) -> None:
    page = play(lambda visitor: visitor.get("/complexes/edit"), ALICE)
    assert page.xpath("//main//tbody//input | //main//tbody//select") == []
    assert play(lambda visitor: visitor.get("/complexes/edit")).xpath("//main//tbody//select")
