"""Sources of answers: the mirror for requests about the state, else the qmaster, as the user who is logged in."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from daemons.qmaster.queries import VIEWS
from daemons.qmaster.queries.reading import READERS
from daemons.runtime.qmaster_client import NoQmasterError
from daemons.web.shared import Web
from gridengine.protocols.gdi.requests import Answer
from tests.unit.web.followed import ALICE, BOB, Followed, Link, web_of


@pytest.fixture
def asked(followed: Followed, tmp_path: Path) -> Callable[[Callable[[Web, Link], Awaitable[Any]]], Any]:
    async def run(play: Callable[[Web, Link], Awaitable[Any]]) -> Any:
        return await play(*web_of(followed, tmp_path))

    return lambda play: asyncio.run(run(play))


BODIES = {
    "status": {"jobs": {"users": ["*"]}, "queues": {}, "hosts": {}},
    "explain_job": {"jobs": ["1"]},
    "config_show": {"kind": "cluster_queue"},
    "config_list": {"kind": "cluster_queue"},
    "config_template": {"kind": "cluster_queue"},
    "config_search": {"object": "queue", "attribute": "slots", "value": "*"},
}


@pytest.mark.statement("GU-12")
@pytest.mark.parametrize("name", sorted(VIEWS))
def test_the_mirror_answers_as_the_qmaster_does(followed: Followed, asked: Any, name: str) -> None:
    followed.cell.submit(hard=["arch=nosuch"])
    followed.cell.cycle()
    followed.take()
    body = BODIES.get(name, {})

    async def play(web: Web, link: Link) -> tuple[Answer, list[Any]]:
        return await web.read(name, body, ALICE), link.asked

    answer, requests = asked(play)
    assert requests == []
    assert answer == READERS[name](followed.cell.master, body, ALICE)
    assert name in ("may_configure", "config_detached", "config_share_tree") or answer.data is not None


@pytest.mark.statement("GU-12")
@pytest.mark.parametrize("name", sorted(READERS.keys() - VIEWS.keys() - {"accounting"}))
def test_requests_that_need_the_spool_go_to_the_qmaster_as_the_user(followed: Followed, asked: Any, name: str) -> None:
    followed.cell.submit()
    jobs = dict.fromkeys(("job_story", "job_ends"), {"jobs": [1]})
    bodies = {"held_slots": {"ar": 1}, "job_request": {"job": 1}, "task_states": {"tasks": [(1, 1)]}, **jobs}
    body = bodies.get(name, {})

    async def play(web: Web, link: Link) -> tuple[Answer, list[Any]]:
        return await web.read(name, body, BOB), link.asked

    answer, requests = asked(play)
    assert requests == [("bob", name)]
    assert answer.status == 0


@pytest.mark.statement("GU-12")
def test_a_change_has_the_rights_of_the_user(followed: Followed, asked: Any) -> None:
    followed.cell.submit()

    async def play(web: Web, link: Link) -> list[Answer]:
        return [await web.ask("delete_jobs", {"targets": ["1"]}, caller) for caller in (BOB, ALICE)]

    refused, deleted = asked(play)
    assert refused.status == 1
    assert "bob" in refused.answers[0][1]
    assert deleted.status == 0
    assert 1 not in followed.mirror.state.jobs


@pytest.mark.parametrize(
    ("body", "wrong"),
    [({"nothing": {}}, "nothing"), ({"jobs": {"users": 3}}, "users"), ({"queues": {"resources": ["nosuch"]}}, "nosuch")],
)
def test_a_bad_body_is_refused_as_the_qmaster_does(asked: Any, body: dict[str, Any], wrong: str) -> None:
    async def play(web: Web, link: Link) -> Answer:
        return await web.read("status", body, ALICE)

    answer = asked(play)
    assert answer.status == 1
    assert wrong in answer.answers[0][1]


def test_while_the_qmaster_is_away_the_mirror_is_read(asked: Any) -> None:
    async def play(web: Web, link: Link) -> Answer:
        link.away = True
        web.mirror.mark_disconnected()
        with pytest.raises(NoQmasterError):
            await web.ask("delete_jobs", {"targets": ["1"]}, ALICE)
        with pytest.raises(NoQmasterError):
            await web.read("config_history", {}, ALICE)
        return await web.read("status", {"hosts": {}}, ALICE)

    assert len(asked(play).data["hosts"]) == 4


@pytest.mark.statement("QF-36")
def test_variables_of_jobs_are_not_in_the_mirror(followed: Followed, asked: Any) -> None:
    followed.cell.submit(environment={"PASSWORD": "secret"}, environment_names=["PASSWORD"])
    followed.take()

    async def play(web: Web, link: Link) -> Answer:
        return await web.read("status", {"job_detail": {"jobs": ["1"]}}, ALICE)

    assert asked(play).data["job_detail"]["jobs"][0]["environment"] == [["PASSWORD", None]]
