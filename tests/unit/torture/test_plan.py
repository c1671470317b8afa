"""The seed alone decides which faults happen, and when."""

from __future__ import annotations

import pytest

from tests.torture.plan import EXEC_HOSTS, KINDS, MASTER, OF_EXEC_HOST, OF_HOST_IN_RACK, OF_MASTER, VICTIMS, faults


def test_a_seed_gives_the_same_faults_and_another_one_others() -> None:
    assert faults(1, 50) == faults(1, 80)[:50]
    assert faults(1, 50) != faults(2, 50)


@pytest.mark.parametrize("of_host", [OF_EXEC_HOST, OF_HOST_IN_RACK])
def test_every_kind_every_host_and_every_victim_has_its_turn(of_host: tuple[str, ...]) -> None:
    plan = faults(1, 400, of_host=of_host)
    assert {each.kind for each in plan} == set(KINDS)
    assert {each.host for each in plan} == {MASTER, *EXEC_HOSTS}
    assert {each.victim for each in plan} - {""} == {*OF_MASTER, *of_host} <= set(VICTIMS)
    assert all(each.victim in (OF_MASTER if each.host == MASTER else of_host) for each in plan if each.victim)
    assert {each.host for each in plan if each.kind == "full"} == {MASTER}
