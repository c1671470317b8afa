"""Load values: names, number formats of 8.1.9, topology, the values in each report."""

from __future__ import annotations

import dataclasses

import pytest

from daemons.execd.load import LoadReporter, Reading, load_values
from gridengine.values.topology import Topology

READING = Reading(
    load=(0.19873046875, 0.0546875, 0.0126953125),
    memory_total=25276428288,
    memory_free=24919900160,
    swap_total=0,
    swap_free=0,
    cpu_percent=13.2,
    topology=Topology.of([(0, 0, 0), (0, 1, 1)]),
)


@pytest.mark.statement("LS-1")
def test_values_as_the_original_prints_them() -> None:
    values = load_values(READING)
    expected = {
        "load_short": "0.198730", "load_medium": "0.054688", "load_long": "0.012695", "load_avg": "0.054688",
        "np_load_avg": "0.027344", "np_load_short": "0.099365", "np_load_long": "0.006347", "num_proc": "2",
        "mem_total": "24105.480469M", "mem_free": "23765.468750M", "mem_used": "340.011719M",
        "swap_total": "0.000000M", "virtual_used": "340.011719M", "cpu": "13.200000",
        "m_topology": "SCC", "m_topology_inuse": "SCC", "m_socket": "1", "m_core": "2", "m_thread": "2",
    }
    assert {name: values[name] for name in expected} == expected
    assert values["arch"].startswith("lx-")


@pytest.mark.statement("EX-18")
def test_cores_in_use_are_reported_without_another_measurement() -> None:
    used: set[tuple[int, int]] = set()
    reporter = LoadReporter("boot", lambda: READING, cores_in_use=lambda: used)
    assert reporter.full(1.0).values["m_topology_inuse"] == "SCC"
    used.add((0, 1))
    assert reporter.sensed(2.0).values == {"m_topology_inuse": "SCc"}
    used.clear()
    assert reporter.sensed(3.0).values == {"m_topology_inuse": "SCC"}


@pytest.mark.statement("EX-12")
def test_only_changes_are_reported_after_the_first_time() -> None:
    readings = [READING, dataclasses.replace(READING, cpu_percent=50.0), READING]
    reporter = LoadReporter("boot", lambda: readings.pop(0))
    first, second = reporter.full(1.0), reporter.changes(2.0)
    assert first.full and first.incarnation == "boot" and first.values["num_proc"] == "2"
    assert (second.full, second.values, second.removed) == (False, {"cpu": "50.000000"}, [])
    assert reporter.full(3.0).values == first.values


@pytest.mark.statement("EX-6")
def test_the_cgroups_of_the_host_are_a_load_value_unless_they_are_switched_off() -> None:
    found = [""]
    reporter = LoadReporter("boot", lambda: READING, cgroups=lambda: found[0])
    assert "cgroups" not in reporter.full(1.0).values
    found[0] = "none"
    assert reporter.changes(2.0).values == {"cgroups": "none"}
    found[0] = ""
    assert reporter.changes(3.0).removed == ["cgroups"]
