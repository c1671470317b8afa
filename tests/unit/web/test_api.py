"""The REST API: every request of the GDI as a resource, with the answers of the qmaster and the rights of the user."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from aiohttp.test_utils import TestClient, TestServer
from jsonschema import Draft202012Validator

from daemons.qmaster.serve.requests.endpoints import ENDPOINTS
from daemons.web.api import events
from daemons.web.api.openapi import document
from daemons.web.api.resources import ANY, RESOURCES, UNLISTED
from daemons.web.app import build_app
from gridengine.protocols.gdi.requests import Caller
from tests.unit.web.browsing import guard
from tests.unit.web.followed import ALICE, BOB, ROOT, Followed, Link, web_of


class Program:
    """A user's program. `link`: the connection to the qmaster, with all requests."""

    def __init__(self, client: TestClient[Any, Any], link: Link) -> None:
        self.client, self.link = client, link

    async def ask(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, Any, Any]:
        """Status, JSON and headers of an answer."""
        sent = {"json": body} if body is not None else {}
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        async with self.client.request(method, f"/api/v1{path}", headers=named, **sent) as response:
            text = await response.text()
            return response.status, await response.json(content_type=None) if text else None, response.headers


@pytest.fixture
def api(followed: Followed, tmp_path: Path) -> Callable[..., Any]:
    async def run(play: Callable[[Program], Awaitable[Any]], caller: Caller) -> Any:
        shared, link = web_of(followed, tmp_path)
        async with TestClient(TestServer(build_app(shared, [guard(caller)]))) as client:
            followed.take()
            return await play(Program(client, link))

    return lambda play, caller=ALICE: asyncio.run(run(play, caller))


def one(method: str, path: str, body: Any = None, **headers: str) -> Callable[[Program], Awaitable[Any]]:
    return lambda program: program.ask(method, path, body, **headers)


@pytest.mark.statement("DM-5")
def test_every_gdi_request_is_offered_or_listed_with_a_reason() -> None:
    assert {*ANY, *UNLISTED} == ENDPOINTS.keys()
    assert not set(ANY) & UNLISTED.keys()
    assert {row.request for row in RESOURCES} <= set(ANY)


def test_the_document_has_every_route_and_no_reference_leads_nowhere(api: Any) -> None:
    _, served, _ = api(one("GET", "/openapi.json"))
    assert served == json.loads(json.dumps(document()))
    paths = {(method.upper(), path) for path, methods in served["paths"].items() for method in methods}
    assert {(row.method, f"/api/v1{row.path}") for row in RESOURCES} <= paths

    def references(node: Any) -> set[str]:
        if isinstance(node, dict):
            own = {node["$ref"]} if isinstance(node.get("$ref"), str) else set()
            return own.union(*map(references, node.values()))
        return set().union(*map(references, node)) if isinstance(node, list) else set()

    known = {f"#/components/schemas/{name}" for name in served["components"]["schemas"]}
    assert references(served) <= known
    for schema in served["components"]["schemas"].values():
        Draft202012Validator.check_schema(schema)
    names = [operation["operationId"] for methods in served["paths"].values() for operation in methods.values()]
    assert len(names) == len(set(names))


@pytest.mark.statement("GU-12", "DM-5")
def test_a_job_lives_through_the_api(followed: Followed, api: Any) -> None:
    job = {"binary": True, "script_file": "/bin/sleep", "name": "mine", "hard": ["arch=nosuch"]}

    async def play(program: Program) -> list[Any]:
        found = [await program.ask("POST", "/jobs?dry_run=true", job)]
        assert not followed.cell.state.jobs
        for method, path, body in (
            ("POST", "/jobs", job), ("GET", "/jobs/1", None), ("GET", "/jobs/1/explanation", None),
            ("PATCH", "/jobs/1", {"name": "other"}), ("POST", "/jobs/1/hold", None), ("GET", "/jobs?state=held", None),
            ("GET", "/jobs/1/story", None), ("DELETE", "/jobs/1", None), ("GET", "/jobs/1", None),
        ):
            found.append(await program.ask(method, path, body))
        return found

    dry, made, shown, why, altered, held, listed, story, deleted, gone = api(play)
    assert [each[0] for each in (dry, made, shown, why, altered, held, listed, story, deleted, gone)] == [200] * 10
    assert (gone[1]["finished"], gone[1]["tasks"]) == (True, [])
    assert made[1]["data"]["job_id"] == 1
    assert (shown[1]["name"], shown[1]["owner"]) == ("mine", "alice")
    assert why[1]["causes"]
    assert [(row["id"], row["name"], row["state"]) for row in listed[1]["items"]] == [(1, "other", "hqw")]
    assert "JobSubmitted" in [line[2] for line in story[1]["events"]]


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "reason"),
    [
        ("GET", "/jobs/99", None, 404, "nothing at"),
        ("GET", "/nothing", None, 404, "nothing at"),
        ("TRACE", "/jobs/1", None, 405, "no method TRACE"),
        ("PUT", "/jobs", {}, 405, "no method PUT"),
        ("POST", "/jobs", [1], 400, "not a JSON object"),
        ("POST", "/jobs", {"nonsense": 1}, 400, "nonsense"),
        ("POST", "/jobs", {"binary": True, "script_file": "/bin/true", "priority": "x"}, 400, "priority"),
        ("POST", "/jobs", {"binary": True, "script_file": "/bin/true", "project": "none.such"}, 422, "none.such"),
        ("DELETE", "/jobs/99", None, 404, "99"),
        ("POST", "/instances/all.q@h1/disable", None, 403, "permission"),
        ("GET", "/jobs?limit=0", None, 400, "limit"),
        ("GET", f"/jobs?limit={'9' * 5000}", None, 400, "limit"),
        ("GET", "/jobs?cursor=x", None, 400, "cursor"),
        ("GET", "/jobs?cursor=LTE=", None, 400, "no such part"),
        ("POST", "/jobs", {"name": "\ud800"}, 400, ""),
        ("POST", "/jobs", {"priority": 10**40}, 400, ""),
        ("GET", "/instances?queues=%ED%A0%80%00", None, 400, "queues"),
        ("GET", "/config/nothing", None, 422, "nothing"),
        ("GET", "/config/nothing/x", None, 404, "nothing"),
        ("GET", "/config/cluster_queue/x", None, 404, "cluster queue x"),
        ("PUT", "/config/host_group/@x", {"hostlist": 3}, 400, "hostlist"),
        ("DELETE", "/jobs/99?dry_run=true", None, 404, "99"),
        ("DELETE", "/jobs/99?dry_run=1", None, 400, "true or false"),
        ("POST", "/requests/shutdown?dry_run=true", {"what": "qmaster"}, 422, "no dry run"),
        ("POST", "/requests/execd_hello", {}, 404, "execd_hello"),
        ("GET", "/events?types=all", None, 400, "all"),
    ],
)
def test_errors_are_problems_with_a_reason(
    api: Any, method: str, path: str, body: Any, status: int, reason: str
) -> None:
    found, problem, headers = api(one(method, path, body))
    assert (found, problem["status"]) == (status, status), problem
    assert headers["Content-Type"].startswith("application/problem+json")
    assert reason in problem["detail"]


@pytest.mark.statement("GU-12")
def test_under_a_key_a_change_is_made_once(followed: Followed, api: Any) -> None:
    job = {"script_file": "/bin/true", "binary": True, "name": "once"}

    async def play(program: Program) -> None:
        first = await program.ask("POST", "/jobs", job, Idempotency_Key="k1")
        assert (await program.ask("POST", "/jobs", job, Idempotency_Key="k1"))[:2] == first[:2]
        for path in ("/requests/submit", "/jobs"):
            assert (await program.ask("POST", path, {**job, "name": "other"}, Idempotency_Key="k1"))[0] == 422
        status, problem, _ = await program.ask("POST", "/jobs", job, Idempotency_Key="k 1")
        assert (status, "malformed Idempotency-Key" in problem["detail"]) == (400, True)
        assert (await program.ask("POST", "/requests/submit", job, Idempotency_Key="k1"))[1] == first[1]

    api(play)
    assert [each.name for each in followed.cell.state.jobs.values()] == ["once"]
    operations = document()["paths"]
    named = [
        (path, method)
        for path, methods in operations.items()
        for method, operation in methods.items()
        if "Idempotency-Key" in [each["name"] for each in operation["parameters"]]
    ]
    assert ("/api/v1/jobs", "post") in named and ("/api/v1/requests/submit", "post") in named
    assert not [each for each in named if each[1] == "get" or "/config/" in each[0]]


def test_rights_are_those_of_the_user(followed: Followed, api: Any) -> None:
    followed.cell.submit()
    assert api(one("DELETE", "/jobs/1"), BOB)[0] == 403
    assert api(one("DELETE", "/jobs/1"), ALICE)[0] == 200
    assert api(one("POST", "/instances/all.q@h1/disable"), ROOT)[0] == 200
    assert followed.cell.state.instances["all.q@h1"].disabled


def test_lists_come_in_parts(followed: Followed, api: Any) -> None:
    for _ in range(5):
        followed.cell.submit(holds="u")

    async def play(program: Program) -> list[int]:
        found, path = [], "/jobs?limit=2&sort=id"
        while path:
            _, part, headers = await program.ask("GET", path)
            assert part["total"] == 5
            found += [row["id"] for row in part["items"]]
            path = headers.get("Link", "").partition(">")[0].removeprefix("</api/v1")
        return found

    assert api(play) == [1, 2, 3, 4, 5]


def test_an_object_is_changed_only_in_the_expected_version(followed: Followed, api: Any) -> None:
    path = "/config/cluster_queue/all.q"

    async def play(program: Program) -> list[int]:
        _, stored, headers = await program.ask("GET", path)
        tag = headers["ETag"]
        assert (await program.ask("GET", path, If_None_Match=tag))[0] == 304
        found = [(await program.ask("PUT", path, {**stored, "seq_no": "1"}))[0]]
        found.append((await program.ask("PUT", f"{path}?dry_run=true", {**stored, "seq_no": "1"}, If_Match=tag))[0])
        assert followed.cell.state.kind("cluster_queue")["all.q"]["seq_no"] == "0"
        found.append((await program.ask("PUT", path, {**stored, "seq_no": "2"}, If_Match=tag))[0])
        status, problem, _ = await program.ask("PUT", path, {**stored, "seq_no": "3"}, If_Match=tag)
        assert (problem["current"]["seq_no"], problem["yours"]["seq_no"]) == ("2", "3")
        return [*found, status]

    assert api(play, ROOT) == [428, 200, 200, 412]
    assert followed.cell.state.kind("cluster_queue")["all.q"]["seq_no"] == "2"


def test_a_race_between_the_look_and_the_change_is_lost_by_the_later_one(followed: Followed, api: Any) -> None:
    path = "/config/cluster_queue/all.q"

    async def play(program: Program) -> tuple[int, Any]:
        _, stored, headers = await program.ask("GET", path)
        followed.cell.configure("cluster_queue", "all.q", seq_no="7")  # the mirror has not heard of it yet
        status, problem, _ = await program.ask("PUT", path, {**stored, "seq_no": "3"}, If_Match=headers["ETag"])
        return status, problem

    status, problem = api(play, ROOT)
    assert (status, problem["current"]["seq_no"]) == (412, "7")
    assert followed.cell.state.kind("cluster_queue")["all.q"]["seq_no"] == "7"


def test_objects_are_made_and_removed(followed: Followed, api: Any) -> None:
    path = "/config/host_group/@new"

    async def play(program: Program) -> list[int]:
        made = await program.ask("PUT", path, {"group_name": "@new", "hostlist": "h1"}, If_None_Match="*")
        _, _, headers = await program.ask("GET", path)
        removed = await program.ask("DELETE", path, If_Match=headers["ETag"])
        return [made[0], removed[0], (await program.ask("GET", path))[0]]

    assert api(play, ROOT) == [200, 200, 404]


def test_any_request_can_be_posted_as_it_is(followed: Followed, api: Any) -> None:
    status, answer, _ = api(one("POST", "/requests/status", {"hosts": {}}))
    assert (status, len(answer["data"]["hosts"])) == (200, 4)
    status, problem, _ = api(one("POST", "/requests/shutdown", {"what": "qmaster"}))
    assert status == 403


def test_while_the_qmaster_is_away_it_is_read_with_its_age_and_not_changed(followed: Followed, api: Any) -> None:
    async def play(program: Program) -> tuple[Any, Any]:
        followed.mirror.mark_disconnected()
        program.link.away = True
        return await program.ask("GET", "/hosts"), await program.ask("DELETE", "/jobs/1")

    read, changed = api(play)
    assert read[0] == 200 and 0 <= int(read[2]["Age"]) < 60
    assert (changed[0], changed[2]["Retry-After"]) == (503, "5")


def test_an_empty_copy_is_no_answer(followed: Followed, api: Any) -> None:
    async def play(program: Program) -> list[tuple[int, str]]:
        followed.mirror.ready = False
        asked = [("GET", "/jobs"), ("GET", "/config/host_group/@allhosts"), ("PUT", "/config/host_group/@allhosts")]
        answers = [await program.ask(method, path) for method, path in asked]
        return [(status, headers["Retry-After"]) for status, _, headers in answers]

    assert api(play) == [(503, "5")] * 3


# --- events -----------------------------------------------------------------------------------------------------------


async def listen(program: Program, count: int, last: str = "", types: str = "") -> list[tuple[str, str]]:
    """The first events of a stream: name and id."""
    headers = {"Last-Event-ID": last} if last else {}
    query = f"?types={types}" if types else ""
    found: list[tuple[str, str]] = []
    async with program.client.get(f"/api/v1/events{query}", headers=headers) as response:
        number = ""
        async for line in response.content:
            text = line.decode().strip()
            if text.startswith("id: "):
                number = text[4:]
            elif text.startswith("event: "):
                found.append((text[7:], number))
                if len(found) == count:
                    break
    return found


def test_events_are_gone_on_with(followed: Followed, api: Any) -> None:
    async def play(program: Program) -> list[Any]:
        (here,) = await listen(program, 1)
        followed.cell.submit(holds="u")
        followed.cell.admin("change_states", action="disable", what="queue", targets=["all.q@h1"])
        followed.take()
        missed = await listen(program, 3, here[1], "jobs,instances")
        again = await listen(program, 2, missed[0][1], "jobs,instances")
        return [here, missed, again, await listen(program, 2, here[1], "instances")]

    here, missed, again, some = api(play)
    assert here[0] == "here"
    assert [name for name, _ in missed] == ["jobs", "instances", "here"]
    assert again[0] == missed[1], "what came is not told twice"
    assert [name for name, _ in some] == ["instances", "here"]


def test_forgotten_and_unknown_positions_are_a_reset(followed: Followed, api: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "KEPT", 3)

    async def play(program: Program) -> list[str]:
        (here,) = await listen(program, 1)
        for _ in range(6):
            followed.cell.submit(holds="u")
        followed.take()
        return [(await listen(program, 1, last))[0][0] for last in (here[1], "999999.1", "x")]

    found = api(play)
    assert found == ["reset", "reset", "here"]


def test_the_history_is_filtered_by_user_and_revision(followed: Followed, api: Any) -> None:
    cell = followed.cell
    for user in ("ann", "joe"):
        cell.add("manager", user)
    first = cell.state.revision
    cell.configure("cluster_queue", "all.q", slots="3")
    followed.take()

    def kinds(query: str) -> list[str]:
        _, found, _ = api(one("GET", f"/history?{query}"))
        return [change["kind"] for entry in found["items"] for change in entry["objects"]]

    assert kinds("user=root&kind=cluster_queue")[0] == "cluster_queue"
    assert kinds("user=nobody") == []
    assert "cluster_queue" in kinds("") and "manager" in kinds(f"before={first + 1}")
    assert kinds(f"before={first + 1}&kind=cluster_queue") != kinds("kind=cluster_queue")
    status, _, _ = api(one("GET", "/history?before=soon"))
    assert status == 400
