"""The page of an object has buttons for the actions that change something in its present state, and reasons for all others."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.web.browsing import Visitor, page, text_of
from tests.unit.web.followed import ALICE, BOB, ROOT, Followed


def buttons(shown: Any) -> list[str]:
    """The values of the buttons that are offered."""
    values = [each.get("value") for each in shown.xpath("//div[@class='head']//button[@name='action']")]
    return [value for value in values if value != "priority"]


def reasons(shown: Any) -> dict[str, str]:
    menu = shown.xpath("//details[@id='not-now']")
    return dict(zip(map(text_of, menu[0].iter("dt")), map(text_of, menu[0].iter("dd")), strict=True)) if menu else {}


@pytest.mark.statement("GU-12")
def test_a_job_offers_what_its_state_permits(followed: Followed, browse: Any) -> None:
    cell = followed.cell
    job = cell.submit()

    async def play(visitor: Visitor) -> list[Any]:
        async def read() -> Any:
            followed.take()
            return await visitor.get(f"/jobs/{job}")

        shown = [await read()]
        cell.ask("hold_jobs", targets=[str(job)], holds="u")
        shown.append(await read())
        cell.ask("hold_jobs", targets=[str(job)], holds="u", release=True)
        cell.cycle()
        shown.append(await read())
        cell.ask("change_states", action="suspend", what="job", targets=[str(job)])
        return [*shown, await read()]

    waiting, held, running, suspended = browse(play)
    assert buttons(waiting) == ["hold", "copy", "delete"]
    assert buttons(held) == ["release", "copy", "delete"]
    assert reasons(held)["Hold"] == "All waiting tasks have a user hold."
    assert reasons(held)["Clear error"] == "No task is in error."
    assert buttons(running) == ["suspend", "reschedule", "copy", "delete"]
    assert buttons(suspended) == ["unsuspend", "reschedule", "copy", "delete"]


def test_a_job_of_another_user_offers_no_action(followed: Followed, browse: Any) -> None:
    job = followed.cell.submit("alice")
    shown = browse(page(f"/jobs/{job}"), BOB)
    assert buttons(shown) == []
    assert set(reasons(shown).values()) == {"bob is neither the owner of the job (alice) nor an operator."}
    assert buttons(browse(page(f"/jobs/{job}"), ALICE))


def test_an_instance_offers_the_opposite_of_its_state(followed: Followed, browse: Any) -> None:
    assert buttons(browse(page("/instances/all.q@h1"), ROOT)) == ["disable", "suspend"]
    followed.cell.admin("change_states", action="disable", what="queue", targets=["all.q@h1"])
    shown = browse(page("/instances/all.q@h1"), ROOT)
    assert buttons(shown) == ["enable", "suspend"]
    assert reasons(shown)["Remove all jobs"] == "No tasks run there."


def test_the_daemon_of_an_unreachable_host_cannot_be_stopped(followed: Followed, browse: Any) -> None:
    assert buttons(browse(page("/hosts/h1"), ROOT)) == ["daemon", "jobs"]
    followed.cell.master.lose_host("h1")
    followed.cell.master.flush()
    shown = browse(page("/hosts/h1"), ROOT)
    assert buttons(shown) == [] and "does not respond" in reasons(shown)["Stop execution daemon"]
