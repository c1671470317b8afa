"""A head that no longer places actors is detected, and not confused with a slow or hung host."""

from __future__ import annotations

import pytest

from daemons.qmaster.serve.hosts.unplaced_actors import PATIENCE_S, UnplacedHosts, select_unplaced


@pytest.mark.statement("QI-3")
def test_a_host_waits_from_its_joining_until_it_reports() -> None:
    waiting = UnplacedHosts()
    assert waiting.select_overdue(["h1", "h2"], {"h2"}, 0) == []
    assert waiting.select_overdue(["h1", "h2"], {"h2"}, PATIENCE_S - 1) == []
    assert waiting.select_overdue(["h1", "h2"], {"h2"}, PATIENCE_S) == ["h1"]
    assert waiting.select_overdue(["h1", "h2"], {"h2"}, PATIENCE_S + 1) == [], "it was asked about just now"
    assert waiting.select_overdue(["h1", "h2"], {"h2"}, 2 * PATIENCE_S) == ["h1"]


@pytest.mark.statement("QI-3")
@pytest.mark.parametrize(("joined", "up"), [(["h1"], {"h1"}), ([], set())])
def test_a_host_that_reported_or_left_meanwhile_waits_anew(joined: list[str], up: set[str]) -> None:
    waiting = UnplacedHosts()
    waiting.select_overdue(["h1"], set(), 0)
    waiting.select_overdue(joined, up, 50)
    assert waiting.select_overdue(["h1"], set(), PATIENCE_S) == []


@pytest.mark.statement("QI-3")
def test_only_an_actor_without_a_place_is_the_fault_of_the_head() -> None:
    states = {"h1": "RESTARTING", "h2": "PENDING_CREATION", "h3": "ALIVE", "h4": "DEAD"}
    actors = [{"Name": f"execd-{host}", "State": state} for host, state in states.items()]
    assert select_unplaced(["h1", "h2", "h3", "h4", "h5"], actors) == ["h1", "h2"]
    assert select_unplaced(["h3"], actors) == []
