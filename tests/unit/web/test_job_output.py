"""The end of a job's output on its pages and in the API: escaped, for the owner only, with a reason if it is not available."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from daemons.web.pages.formats import printable_output
from gridengine.protocols.delivery import OutputTail
from gridengine.protocols.gdi.requests import Caller
from tests.unit.web.browsing import Visitor, text_of, visiting
from tests.unit.web.followed import ALICE, BOB, ROOT, Followed


@pytest.fixture
def browse(followed: Followed, tmp_path: Path) -> Callable[..., Any]:
    """A visitor while job 1, an array, and job 2, with one stream, run."""
    followed.cell.submit(name="array", tasks="1-2")
    followed.cell.submit(name="merged", merge=True)
    followed.cell.submit(name="waits", holds="u")
    followed.cell.cycle()

    def run(play: Callable[[Visitor], Awaitable[Any]], caller: Caller = ALICE) -> Any:
        async def playing() -> Any:
            async with visiting(followed, tmp_path, caller) as visitor:
                visitor.link.tail = OutputTail("/home/alice/<o>", 70_000, 4_464, "<b>one</b>\x07\n\x1b[1mtwo\x1b[0m\r\n")
                return await play(visitor)

        followed.take()
        return asyncio.run(playing())

    return run


def tails(page: Any) -> list[str]:
    return [str(each.get("hx-get")) for each in page.findall(".//*[@class='panel output']//div[@hx-get]")]


@pytest.mark.statement("GU-12")
def test_the_page_of_a_job_asks_for_one_stream_of_a_task(browse: Any) -> None:
    async def play(visitor: Visitor) -> list[list[str]]:
        addresses = ("/jobs/1", "/jobs/1?task=2", "/jobs/1.2", "/jobs/1?task=2&stream=stderr", "/jobs/2?stream=stderr", "/jobs/3")
        return [tails(await visitor.get(address)) for address in addresses]

    assert browse(play) == [
        ["/jobs/1/output?task=1&stream=stdout"], ["/jobs/1/output?task=2&stream=stdout"], ["/jobs/1/output?task=2&stream=stdout"],
        ["/jobs/1/output?task=2&stream=stderr"], ["/jobs/2/output?task=1&stream=stdout"], [],
    ]


@pytest.mark.statement("GU-12")
def test_each_stream_has_its_tab(browse: Any) -> None:
    async def play(visitor: Visitor) -> list[list[tuple[str, str]]]:
        found = []
        for address in ("/jobs/1?task=2", "/jobs/2", "/jobs/1/output?task=2&stream=stderr"):
            nav = (await visitor.get(address)).find(".//nav[@aria-label='Streams']")
            found.append([(each.text.strip(), each.get("href"), each.get("aria-current")) for each in nav])
        return found

    both, merged, whole = browse(play)
    assert both == [
        ("stdout", "/jobs/1?task=2&stream=stdout#output", "page"), ("stderr", "/jobs/1?task=2&stream=stderr#output", None),
    ]
    assert [name for name, *_ in merged] == ["stdout"]
    assert [current for *_, current in whole] == [None, "page"]


@pytest.mark.statement("GU-12")
def test_the_owner_downloads_what_is_shown_as_it_was_written(browse: Any) -> None:
    async def play(visitor: Visitor) -> tuple[int, str, str]:
        async with visitor.client.get("/jobs/1/output/file?task=2&stream=stderr") as response:
            return response.status, response.headers.get("Content-Disposition", ""), await response.text()

    written = "<b>one</b>\x07\n\x1b[1mtwo\x1b[0m\r\n"
    assert browse(play) == (200, 'attachment; filename="job1.2.stderr.txt"', written)
    status, kind, text = browse(play, BOB)
    assert (status, kind) == (200, "") and "belongs to &#34;alice&#34;" in text and "two" not in text


@pytest.mark.statement("GU-12")
def test_text_is_text(browse: Any) -> None:
    page = browse(lambda visitor: visitor.get("/jobs/1/output?task=2&stream=stderr"))
    assert page.find(".//pre").text_content().removeprefix("\n") == "<b>one</b>␇\ntwo\n"
    assert "/home/alice/<o> on h" in text_of(page.find(".//main"))
    assert "70,000 bytes, only the end is shown" in text_of(page.find(".//main"))
    assert tails(page) == ["/jobs/1/output?task=2&stream=stderr"]


@pytest.mark.statement("GU-12")
@pytest.mark.parametrize("caller", [BOB, ROOT])
def test_only_the_owner_sees_output(browse: Any, caller: Caller) -> None:
    page = browse(lambda visitor: visitor.get("/jobs/1"), caller)
    assert tails(page) == [] and "Only the owner (alice) can view output" in text_of(page.find(".//main"))
    page = browse(lambda visitor: visitor.get("/jobs/1/output"), caller)
    assert page.find(".//pre") is None
    assert f'job 1 belongs to "alice", not to "{caller.user}"' in text_of(page.find(".//main"))


def test_the_page_gives_the_reason_without_output(browse: Any) -> None:
    async def play(visitor: Visitor) -> list[str]:
        visitor.link.tail = None
        texts = [text_of((await visitor.get("/jobs/1/output?task=1")).find(".//main"))]
        visitor.link.tail = OutputTail("/o")
        return [*texts, text_of((await visitor.get("/jobs/1/output")).find(".//main"))]

    silent, empty = browse(play)
    assert "does not answer" in silent and "The file is empty so far" in empty


@pytest.mark.parametrize("address", ["/jobs/1/output?stream=stdin", "/jobs/x/output"])
def test_there_is_no_other_output(browse: Any, address: str) -> None:
    async def play(visitor: Visitor) -> int:
        await visitor.get(address)
        return visitor.status

    assert browse(play) == 404


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("tab\there\r\n", "tab\there\n"),
        ("10%\r20%\r", "10%␍20%␍"),
        ("\x1b]0;title\x07\x1b[38;5;1mred\x1b[m\x1b(B", "red␛(B"),
        ("\0\x7f\x9b", "␀␡\ufffd"),
        ("a\u202eb", "a\ufffdb"),
        ("größer 漢字", "größer 漢字"),
    ],
)
def test_control_characters_are_seen_and_do_nothing(text: str, shown: str) -> None:
    assert printable_output(text) == shown


@pytest.mark.statement("DM-5")
def test_programs_get_it_from_the_api_under_the_same_rule(browse: Any) -> None:
    async def play(visitor: Visitor) -> list[tuple[int, Any]]:
        texts = []
        for query in ("?task=2", "?bytes=0", "?bytes=70000", "?task=one", "?stream=stdin", "?task=9"):
            texts.append(await visitor.json(f"/api/v1/jobs/1/output{query}"))
        visitor.link.tail = None
        return [*texts, await visitor.json("/api/v1/jobs/1/output"), await visitor.json("/api/v1/jobs/77/output")]

    first, *others = browse(play)
    assert first[0] == 200
    assert first[1].items() >= {"task": 2, "path": "/home/alice/<o>", "size": 70_000, "from": 4_464}.items()
    assert first[1]["text"].startswith("<b>one</b>\x07\n") and first[1]["host"].startswith("h")
    assert [status for status, _ in others] == [400, 400, 400, 400, 422, 504, 404]
    assert {body["status"] for _, body in others} == {status for status, _ in others}
    assert browse(lambda visitor: visitor.json("/api/v1/jobs/1/output"), ROOT)[0] == 403
