"""The meters of devices: their arithmetic, which of a job's tasks they count for, and their file (adr/0355)."""

from pathlib import Path

import pytest

from daemons.execd.unit_meters import DeviceFigures, TaskDevice, UnitMeter, UnitMeters, gpus_of
from gridengine.protocols.delivery import Origin
from gridengine.usage.unit_usage import UnitUsage
from gridengine.values.task_key import SlaveKey, TaskKey

JOB, OTHER = TaskKey(7, 1, 1), TaskKey(8, 1, 1)
GPU = TaskDevice("gpu", "0")


class Host:
    """The meters of a host whose clock stands at `now`, with tasks in directories of their own."""

    def __init__(self, place: Path) -> None:
        self.place, self.now = place, 1000.0
        self.restart()

    def restart(self) -> None:
        self.meters = UnitMeters("h1", lambda: self.now)

    def add(self, key: TaskKey, *devices: TaskDevice) -> None:
        directory = self.place / ".".join(map(str, key))
        directory.mkdir(exist_ok=True)
        self.meters.add(key, directory, devices or [GPU])

    def read(self, after: float, *readings: DeviceFigures) -> None:
        self.now += after
        self.meters.note(readings)


@pytest.fixture
def host(tmp_path: Path) -> Host:
    return Host(tmp_path)


def reading(
    utilisation: float | None = None, memory: float | None = None, energy: float | None = None, gpu: int = 0
) -> DeviceFigures:
    return DeviceFigures(f"GPU-{gpu}", str(gpu), gpu, utilisation, memory, energy)


def test_the_mean_is_weighted_by_the_time_that_a_reading_stands_for(host: Host) -> None:
    host.add(JOB)
    host.read(1, reading(1.0, 5.0, 100.0))
    host.read(10, reading(1.0, 9.0, 150.0))
    host.read(30, reading(0.2, 7.0, 400.0))
    host.now += 4
    (used,) = host.meters.end(JOB, 44.0)
    assert used == UnitUsage("h1", "gpu", "0", 44.0, 0.4, 9.0, 300.0, 40.0, identifier="GPU-0")


def test_a_task_that_was_never_read_has_its_time_alone(host: Host) -> None:
    host.add(JOB)
    host.now += 3
    assert host.meters.end(JOB, 2.5) == [UnitUsage("h1", "gpu", "0", 2.5)]


def test_a_task_without_devices_has_no_usage(host: Host) -> None:
    host.meters.add(JOB, host.place, [])
    assert not host.meters and host.meters.end(JOB, 5.0) == [] and list(host.place.iterdir()) == []


def test_a_pause_of_the_daemon_is_not_measured_but_its_energy_counts(host: Host) -> None:
    host.add(JOB)
    host.read(0, reading(1.0, energy=100.0))
    host.read(10, reading(1.0, energy=200.0))
    host.restart()
    host.add(JOB)
    host.read(3600, reading(0.0, energy=9000.0))
    host.read(10, reading(0.0, energy=9100.0))
    assert host.meters.end(JOB, 3620.0)[0][3:9] == (3620.0, 0.5, None, 9000.0, 20.0, False)


def test_a_counter_that_begins_again_is_not_counted_backwards(host: Host) -> None:
    host.add(JOB)
    for energy in (500.0, 600.0, 50.0, 80.0):
        host.read(10, reading(energy=energy))
    assert host.meters.usage(JOB, 40.0)[0].energy == 130.0


def test_a_device_of_two_jobs_is_marked_as_shared_for_both(host: Host) -> None:
    host.add(JOB)
    host.read(10, reading(0.5))
    assert not host.meters.usage(JOB, 10.0)[0].shared
    host.add(OTHER)
    host.read(10, reading(0.5))
    assert [host.meters.end(key, 20.0)[0].shared for key in (JOB, OTHER)] == [True, True]


def test_the_vendors_name_decides_where_it_is_known(host: Host) -> None:
    host.add(JOB, TaskDevice("gpu", "0", "GPU-1"))
    host.add(OTHER, TaskDevice("gpu", "GPU-0"))
    host.read(0, reading(memory=1.0, gpu=0), reading(memory=2.0, gpu=1))
    assert host.meters.usage(JOB, 1.0)[0].memory == 2.0
    assert host.meters.usage(OTHER, 1.0)[0].memory == 1.0
    assert host.meters.jobs_by_gpu([reading(gpu=0), reading(gpu=1), reading(gpu=2)]) == {0: [8], 1: [7]}


def test_slave_tasks_with_the_devices_of_their_job_count_each_moment_once(host: Host) -> None:
    first, second = SlaveKey(7, 1, 1, 1), SlaveKey(7, 1, 1, 2)
    host.add(first)
    host.add(second)
    host.read(0, reading(1.0))
    host.read(10, reading(1.0))
    assert host.meters.usage(second, 10.0) == []
    assert host.meters.end(first, 10.0)[0][3:5] == (10.0, 1.0)
    host.read(5, reading(0.0))
    host.read(5, reading(0.0))
    (used,) = host.meters.end(second, 20.0)
    assert (used.seconds, used.utilisation, used.shared) == (10.0, 0.0, False)


def test_the_end_is_the_same_when_it_is_asked_for_again(host: Host) -> None:
    host.add(JOB)
    host.read(0, reading(1.0, energy=1.0))
    known = host.meters.end(JOB, 5.0)
    host.read(10, reading(1.0, energy=99.0))
    assert host.meters.end(JOB, 15.0) == known
    host.meters.remove(JOB)
    assert host.meters.end(JOB, 15.0) == []


def test_a_damaged_file_begins_anew(host: Host, caplog: pytest.LogCaptureFixture) -> None:
    host.add(JOB)
    (host.place / "7.1.1" / "units").write_text("[{")
    host.restart()
    host.add(JOB)
    assert "measured from now on" in caplog.text
    assert host.meters.usage(JOB, 5.0) == [UnitUsage("h1", "gpu", "0", 0.0)]


def test_the_gpus_of_a_task_are_its_units_or_its_numbers() -> None:
    units = {"gpu": ["0", "0", "red"], "seat": ["1"]}
    origin = Origin(units=units, identifiers=["GPU-a", "GPU-b"])
    assert gpus_of(origin, ()) == [TaskDevice("gpu", "0", "GPU-a"), TaskDevice("gpu", "red", "GPU-b")]
    assert gpus_of(Origin(units=units), ()) == [TaskDevice("gpu", "0"), TaskDevice("gpu", "red")]
    assert gpus_of(Origin(), (2, 3)) == [TaskDevice("gpu", "2"), TaskDevice("gpu", "3")]
    assert UnitMeter("gpu", "0.1", 0.0).is_of(DeviceFigures("MIG-a", "0.1", 0))
