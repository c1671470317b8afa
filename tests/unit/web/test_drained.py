"""Who put queue instances aside, and since when."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from daemons.web.drained import Drains, PutAside
from gridengine.gdi.requests import Caller
from tests.unit.web.browsing import Visitor, rows, visiting, words
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
def test_who_disabled_or_suspended_an_instance_is_kept_until_it_is_ready_again(followed: Followed) -> None:
    drains = Drains(followed.mirror)
    qmod(followed, "disable", "all.q@h1")
    first = followed.cell.now
    followed.cell.pass_time(60)
    qmod(followed, "disable", "all.q@h1")
    qmod(followed, "suspend", "all.q@h1", "all.q@h2")
    later = followed.cell.now
    assert drains.of("all.q@h1") == [PutAside("d", first, "root", "master"), PutAside("s", later, "root", "master")]
    qmod(followed, "enable", "all.q@h1")
    assert [each.letter for each in drains.of("all.q@h1")] == ["s"]
    assert drains.of("all.q@h3") == []


def test_what_was_before_has_no_name_and_begins_anew_with_the_mirror(followed: Followed) -> None:
    qmod(followed, "disable", "all.q@h1")
    drains = Drains(followed.mirror)
    assert [(each.letter, each.user) for each in drains.of("all.q@h1")] == [("d", "")]
    qmod(followed, "disable", "all.q@h2")
    assert [each.user for each in drains.of("all.q@h2")] == ["root"]
    followed.mirror.lost()
    followed.begin()
    followed.cell.pass_time(1)
    followed.take()
    assert [each.user for each in drains.of("all.q@h2")] == [""]


def test_an_instance_that_comes_disabled_is_known_and_forgotten_with_it(followed: Followed) -> None:
    drains = Drains(followed.mirror)
    followed.cell.add("cluster_queue", "new.q", hostlist="h1", initial_state="disabled")
    followed.take()
    assert [(each.letter, each.user) for each in drains.of("new.q@h1")] == [("d", "root")]
    followed.cell.admin("config_delete", kind="cluster_queue", name="new.q")
    followed.take()
    assert drains.of("new.q@h1") == []


def test_the_pages_of_instances_say_it(followed: Followed, browse: Any) -> None:
    qmod(followed, "disable", "all.q@h2")

    async def look(visitor: Visitor) -> tuple[Any, Any, Any]:
        qmod(followed, "disable", "all.q@h1")
        return *[await visitor.get(f"/instances{rest}") for rest in ("", "/all.q@h1")], await visitor.get("/instances/all.q@h2")

    listed, one, other = browse(look)
    assert "by root@master" in next(row[-1] for row in rows(listed) if "all.q@h1" in row)
    assert "by root@master" in words(one)
    assert "when this server began to look" in words(other)


def test_the_pages_of_a_drained_host_say_why_and_let_operators_end_it(followed: Followed, browse: Any) -> None:
    async def look(visitor: Visitor) -> tuple[Any, ...]:
        said = await visitor.post("/hosts", host="h1", action="drain", reason="new disk")
        followed.take()
        pages = [await visitor.get(path) for path in ("/hosts/h1", "/hosts", "/instances/all.q@h1")]
        await visitor.post("/hosts", host="h1", action="resume")
        followed.take()
        return (said[0], *map(words, pages), words(await visitor.get("/hosts/h1")))

    said, one, listed, instance, after = browse(look)
    assert 'drained host "h1"' in said
    assert "new disk: drained by root@h1 since" in one
    assert "new disk: drained by root@h1 since" in listed
    assert "host drained by root@h1 since" in instance
    assert "new disk" not in after
