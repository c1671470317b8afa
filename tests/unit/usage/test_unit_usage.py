"""Unit usage: sums over tasks, and the texts of figures (adr/0355)."""

from gridengine.usage.unit_usage import UnitUsage, json_fields, of_rows, sum_by_unit, text

GPU = UnitUsage("node1", "gpu", "0", 3600, 0.5, 2.0**30, 720_000.0, 3600, identifier="GPU-a")


def test_two_tasks_in_turn_on_a_unit_are_weighted_by_the_measured_time() -> None:
    (both,) = sum_by_unit([GPU, GPU._replace(seconds=1300, utilisation=1.0, measured=1200, memory=2.0**31, shared=True)])
    assert (both.seconds, both.measured, both.utilisation) == (4900, 4800, 0.625)
    assert (both.memory, both.energy, both.shared) == (2.0**31, 1_440_000.0, True)


def test_units_that_differ_in_host_resource_or_name_are_not_added() -> None:
    others = [GPU, GPU._replace(host="node2"), GPU._replace(resource="card"), GPU._replace(unit="1")]
    assert sum_by_unit(others) == others


def test_a_task_without_measurements_changes_no_mean() -> None:
    silent = UnitUsage("node1", "gpu", "0", 10)
    assert sum_by_unit([GPU, silent])[0][4:8] == (0.5, 2.0**30, 720_000.0, 3600)
    assert sum_by_unit([silent, silent])[0] == silent._replace(seconds=20)


def test_the_text_leaves_unknown_figures_out() -> None:
    assert text(GPU._replace(shared=True)) == (
        "gpu=node1=0 time=3600s, utilisation=50.0%, maxmem=1.000GB, energy=0.200kWh, shared"
    )
    assert text(UnitUsage("node1", "gpu", "0", 7.6)) == "gpu=node1=0 time=8s"


def test_rows_of_another_release_are_read() -> None:
    assert of_rows([["node1", "gpu", "0", 5.0], [*GPU, "more"]]) == [UnitUsage("node1", "gpu", "0", 5.0), GPU]
    assert json_fields(of_rows([["node1", "gpu", "0", 5.0]])[0])["identifier"] is None
