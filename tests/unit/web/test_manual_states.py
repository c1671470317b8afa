"""Manual states of queue instances: their users and times."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from daemons.web.manual_states import ManualState, ManualStates
from gridengine.protocols.gdi.requests import Caller
from tests.unit.web.browsing import Visitor, rows, text_of, visiting
from tests.unit.web.followed import ROOT, Followed


@pytest.fixture
def browse(followed: Followed, tmp_path: Path) -> Callable[..., Any]:
    def run(play: Callable[[Visitor], Any], caller: Caller = ROOT) -> Any:
        async def playing() -> Any:
            async with visiting(followed, tmp_path, caller) as visitor:
                return await play(visitor)

        return asyncio.run(playing())

    return run


def qmod(followed: Followed, action: str, *targets: str) -> None:
    followed.cell.admin("change_states", action=action, what="queue", targets=list(targets))
    followed.take()


@pytest.mark.statement("QM-1")
def test_the_user_of_a_manual_state_is_known_until_the_instance_is_ready_again(followed: Followed) -> None:
    manual_states = ManualStates(followed.mirror)
    qmod(followed, "disable", "all.q@h1")
    first = followed.cell.now
    followed.cell.pass_time(60)
    qmod(followed, "disable", "all.q@h1")
    qmod(followed, "suspend", "all.q@h1", "all.q@h2")
    later = followed.cell.now
    assert manual_states.of("all.q@h1") == [ManualState("d", first, "root", "master"), ManualState("s", later, "root", "master")]
    qmod(followed, "enable", "all.q@h1")
    assert [each.state_code for each in manual_states.of("all.q@h1")] == ["s"]
    assert manual_states.of("all.q@h3") == []


def test_earlier_states_have_no_user_and_a_new_mirror_resets_all(followed: Followed) -> None:
    qmod(followed, "disable", "all.q@h1")
    manual_states = ManualStates(followed.mirror)
    assert [(each.state_code, each.user) for each in manual_states.of("all.q@h1")] == [("d", "")]
    qmod(followed, "disable", "all.q@h2")
    assert [each.user for each in manual_states.of("all.q@h2")] == ["root"]
    followed.mirror.mark_disconnected()
    followed.begin()
    followed.cell.pass_time(1)
    followed.take()
    assert [each.user for each in manual_states.of("all.q@h2")] == [""]


def test_an_instance_that_comes_disabled_is_known_and_forgotten_with_it(followed: Followed) -> None:
    manual_states = ManualStates(followed.mirror)
    followed.cell.add("cluster_queue", "new.q", hostlist="h1", initial_state="disabled")
    followed.take()
    assert [(each.state_code, each.user) for each in manual_states.of("new.q@h1")] == [("d", "root")]
    followed.cell.admin("config_delete", kind="cluster_queue", name="new.q")
    followed.take()
    assert manual_states.of("new.q@h1") == []


def test_the_pages_of_instances_show_the_user(followed: Followed, browse: Any) -> None:
    qmod(followed, "disable", "all.q@h2")

    async def look(visitor: Visitor) -> tuple[Any, Any, Any]:
        qmod(followed, "disable", "all.q@h1")
        return *[await visitor.get(f"/instances{rest}") for rest in ("", "/all.q@h1")], await visitor.get("/instances/all.q@h2")

    listed, one, other = browse(look)
    assert "by root@master" in next(row[-1] for row in rows(listed) if "all.q@h1" in row)
    assert "by root@master" in text_of(one)
    assert "when this server started" in text_of(other)


def test_the_pages_of_a_drained_host_say_why_and_let_operators_end_it(followed: Followed, browse: Any) -> None:
    async def look(visitor: Visitor) -> tuple[Any, ...]:
        response = await visitor.post("/hosts", host="h1", action="drain", reason="new disk")
        followed.take()
        pages = [await visitor.get(path) for path in ("/hosts/h1", "/hosts", "/instances/all.q@h1")]
        await visitor.post("/hosts", host="h1", action="resume")
        followed.take()
        return (response[0], *map(text_of, pages), text_of(await visitor.get("/hosts/h1")))

    answer, one, listed, instance, after = browse(look)
    assert 'drained host "h1"' in answer
    assert "new disk: drained by root@h1 since" in one
    assert "new disk: drained by root@h1 since" in listed
    assert "host drained by root@h1 since" in instance
    assert "new disk" not in after
