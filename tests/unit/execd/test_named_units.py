"""The variables of a task that has named units of a resource map: SGE_HGR_, and those of GPUs (adr/0320)."""

import pytest

from daemons.execd.task_config import task_config
from gridengine.values.gpus import VARIABLES
from tests.unit.execd.instructions import ALICE, SITE, configuration, start


def variables(**changes: object) -> tuple[dict[str, str], dict[str, str]]:
    """The environments of the job and of its methods."""
    config = task_config(start(**changes), SITE, configuration(), ALICE)  # type: ignore[arg-type]
    return config.environment, config.method_environment


def test_a_task_and_its_methods_see_the_units_of_their_host() -> None:
    for found in variables(units={"mic": ["a", "b"], "gpu": ["0", "0"]}):
        assert found["SGE_HGR_mic"] == "a b" and found["SGE_HGR_gpu"] == "0 0"


def test_a_task_without_units_does_not_inherit_those_of_the_job_that_submitted_it() -> None:
    job, _ = variables(environment={"SGE_HGR_gpu": "7", "OTHER": "x"})
    assert "SGE_HGR_gpu" not in job and job["OTHER"] == "x"
    job, _ = variables(environment={"SGE_HGR_gpu": "7"}, units={"gpu": ["1"]})
    assert job["SGE_HGR_gpu"] == "1"


@pytest.mark.parametrize(
    "units, devices",
    [
        (["0", "1"], "0,1"),
        (["0", "0"], "0"),
        (["GPU-8932", "MIG-7/1/0"], "GPU-8932,MIG-7/1/0"),
        (["gpu0"], None),
        (["0", "b"], None),
    ],
)
def test_named_gpus_are_in_the_variables_of_devices_if_programs_know_such_names(
    units: list[str], devices: str | None
) -> None:
    for found in variables(units={"gpu": units}):
        assert [found.get(name) for name in VARIABLES] == [devices] * len(VARIABLES)
