"""The page of `gridengine top`: its warnings, and its fit into the terminal."""

from __future__ import annotations

import io
from typing import Any

import pytest
from rich.console import Console

from clients.admin.top_frame import Seen, find_problems, frame, share_lines

QUIET: dict[str, Any] = {
    "hosts": [{"name": "global", "values": [None] * 10}],
    "queues": [], "cluster_queues": [], "reservations": {"reservations": [], "unknown": []},
    "totals": {"jobs": 0, "tasks": {"pending": 0, "running": 0, "error": 0}, "owners": []},
}


def host(name: str, load: float) -> dict[str, Any]:
    return {"name": name, "values": ["lx-amd64", 8.0, 1.0, 4.0, 8.0, load, 2.0**34, 2.0**33, 0.0, 0.0]}


def instance(name: str, used: int = 0, states: str = "", **explain: list[str]) -> dict[str, Any]:
    return {"name": f"all.q@{name}", "used": used, "total": 8, "states": states, "explain": explain}


def cell_of(count: int) -> dict[str, Any]:
    """A cell of so many busy hosts, with queues, users and reservations."""
    names = [f"h{number:03d}" for number in range(count)]
    queue = {"load": 0.5, "used": 8, "resv": 2, "available": 6, "total": 16, "states": {"u": 4, "d": 0}}
    reservation = {
        "id": 7, "name": "night", "owner": "alice", "state": "r", "granted": [["all.q@h000", 4]],
        "start_time": 1_800_000_000, "end_time": 1_800_003_600, "errors": [],
    }
    return {
        "hosts": [QUIET["hosts"][0], *(host(name, 1.0) for name in names)], "queues": [instance(name, 8) for name in names],
        "cluster_queues": [{"name": f"q{number}", **queue} for number in range(20)],
        "reservations": {"reservations": [reservation] * 10, "unknown": []},
        "totals": {"jobs": 9, "tasks": {"pending": 10_000, "running": count * 8}, "owners": [["alice", 5, 10_000]] * 30},
    }


def seen(status: dict[str, Any], **more: Any) -> Seen:
    return Seen("default", "master", 1_800_000_000.0, status, **more)


def printed(page: Seen, width: int, height: int | None, order: str = "n") -> list[str]:
    out = io.StringIO()
    Console(file=out, width=width).print(frame(page, width, height, order))
    return out.getvalue().splitlines()


@pytest.mark.parametrize(("width", "height"), [(80, 24), (160, 50), (40, 8)])
@pytest.mark.parametrize("count", [0, 1, 300])
def test_the_page_fits_the_terminal(width: int, height: int, count: int) -> None:
    status = cell_of(count) if count else QUIET
    status = {**status, "queues": [*status["queues"], *(instance(f"bad{number}", states="E") for number in range(60))]}
    lines = printed(seen(status), width, height)
    assert len(lines) <= height and max(map(len, lines)) <= width


def test_all_sections_have_rows_in_the_smallest_usual_terminal() -> None:
    text = "\n".join(printed(seen(cell_of(300)), 80, 24))
    for token in ("h000", "q0", "alice", "7 night", "300 of 300 hosts up", "2400 of 2400 slots", "10000 pending", "more"):
        assert token in text


def test_without_a_terminal_nothing_is_left_out() -> None:
    text = "\n".join(printed(seen(cell_of(300)), 80, None))
    assert "h299" in text and "q19" in text and "more" not in text


def test_problems_come_first() -> None:
    queues = [instance("h1", states="au"), instance("h2", states="E", E=["it takes no files"]), instance("h3")]
    broken = {"id": 3, "state": "E", "errors": ["host h1 is unknown"]}
    status = {**QUIET, "queues": queues, "reservations": {"reservations": [broken]}, "totals": {"tasks": {"error": 2}}}
    assert list(find_problems(seen(status, here=["/spool has 5 MB left"], silent_s=72.0))) == [
        "the qmaster has not answered for 1 min 12 s: the data below is as old",
        "1 host unreachable: h1",
        "/spool has 5 MB left",
        "all.q@h2 is in error: it takes no files",
        "reservation 3 is in state E: host h1 is unknown",
        "2 tasks in error: see Eqw in qstat -u '*'",
    ]
    assert list(find_problems(seen(QUIET))) == []


@pytest.mark.parametrize(("order", "names"), [("n", "h3 h1 h2"), ("l", "h3 h2 h1"), ("s", "h3 h1 h2")])
def test_hosts_are_ordered_but_lost_ones_come_first(order: str, names: str) -> None:
    queues = [instance("h1", 5), instance("h2", 1), instance("h3", states="u")]
    status = {**QUIET, "hosts": [*QUIET["hosts"], host("h1", 1), host("h2", 7), host("h3", 0)], "queues": queues}
    lines = printed(seen(status), 80, None, order)
    assert [line.split()[0] for line in lines if line.startswith("h")] == names.split()


def test_lines_are_shared_by_need() -> None:
    assert share_lines(10, [3, 100, 1]) == [3, 6, 1]
    assert share_lines(2, [5, 5, 5]) == [1, 1, 0]
    assert share_lines(-3, [5]) == [0]
    assert share_lines(50, [3, 4]) == [3, 4]
