"""Never two masters where hosts have their own copies of common/, despite any fault of these copies, and no job number twice.

Random histories from a seed (tests/property/masters_world.py), so that a failure can be replayed; `make masters` plays more.
"""

from __future__ import annotations

import pytest

from tests.property.masters_world import Broken, play

SEEDS = 6
#: its history breaks without the rule; after a change of the world another seed may be needed
BROKEN_SEED = 3


@pytest.mark.statement("SH-2")
def test_never_two_qmasters_serve_and_no_job_number_is_used_twice() -> None:
    worlds = [play(seed) for seed in range(SEEDS)]
    assert sum(world.elections for world in worlds) > SEEDS, "the master went from host to host"
    assert sum(world.refused for world in worlds) > SEEDS / 2, "and others tried to serve beside it"
    assert sum(world.followed for world in worlds) > 10 * SEEDS, "hosts took the files of the master"


def test_without_asking_before_it_serves_there_are_two() -> None:
    with pytest.raises(Broken):
        play(BROKEN_SEED, rule=False)
