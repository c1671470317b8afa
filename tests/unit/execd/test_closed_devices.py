"""The device files that a task is kept from, and the variables that name its GPUs (adr/0350)."""

from __future__ import annotations

from pathlib import Path

import pytest

from daemons.execd.cgroups import HostCgroups, note_cgroups, remove_leftovers, with_devices
from daemons.execd.resource_assignment import AssignedResources
from daemons.execd.task_config import device_refusal, task_config
from gridengine.protocols.delivery import UnitDevices
from gridengine.protocols.protocol import CGROUPS_FILE
from gridengine.protocols.task_file import TaskConfig
from gridengine.values.gpus import VARIABLES
from tests.unit.execd.instructions import ALICE, SITE, configuration, start

DEVICES = UnitDevices(own=["/dev/a"], others=["/dev/b", "/dev/c"], all_gpus=True)
ABLE = HostCgroups(1, {"devices": "/cg/devices"})
UNABLE = HostCgroups(1, {}, device_obstacle="no devices controller")
DEMANDED = {"execd_params": "REQUIRE_CLOSED_DEVICES=true"}


def made(cgroups: HostCgroups | None, devices: UnitDevices = DEVICES, **changes: object) -> TaskConfig:
    given = start(devices=devices, **changes)  # type: ignore[arg-type]
    return task_config(given, SITE, configuration(), ALICE, AssignedResources(cgroups=cgroups))


def test_a_task_is_kept_from_the_devices_of_others_where_the_kernel_can() -> None:
    found = made(ABLE)
    assert (found.closed_devices, found.open_devices, found.device_cgroup) == (["/dev/b", "/dev/c"], ["/dev/a"], "/cg/devices")
    for cgroups in (UNABLE, None):
        assert made(cgroups).closed_devices == []


def test_a_demand_refuses_a_task_where_the_kernel_cannot() -> None:
    given = start(devices=DEVICES)
    assert "no devices controller" in device_refusal(given, UNABLE, configuration(**DEMANDED))
    assert "ENABLE_CGROUPS is off" in device_refusal(given, None, configuration(**DEMANDED))
    assert not device_refusal(given, UNABLE, configuration())
    assert not device_refusal(given, ABLE, configuration(**DEMANDED))
    assert not device_refusal(start(), UNABLE, configuration(**DEMANDED)), "the host has no device files"


@pytest.mark.parametrize(
    "identifiers, variables",
    [
        (["GPU-8932f937-d72c-4106", "MIG-7"], {"CUDA_VISIBLE_DEVICES": "GPU-8932f937-d72c-4106,MIG-7"}),
        (["GPU-84b6d0f6b5e9f3a1"], {"ROCR_VISIBLE_DEVICES": "GPU-84b6d0f6b5e9f3a1"}),
        (["0000:3b:00.0"], dict.fromkeys(VARIABLES, "0,1")),
        ([], dict.fromkeys(VARIABLES, "0,1")),
    ],
)
def test_identifiers_are_in_the_variable_of_their_vendor(identifiers: list[str], variables: dict[str, str]) -> None:
    devices = UnitDevices(own=["/dev/a"], identifiers=identifiers)
    foreign = dict.fromkeys(VARIABLES, "7")
    found = made(ABLE, devices, units={"gpu": ["0", "1"]}, environment=foreign).environment
    assert {name: found[name] for name in VARIABLES if name in found} == variables


def test_gpus_that_are_all_a_program_sees_count_from_zero() -> None:
    for cgroups, seen in ((ABLE, "0,1"), (UNABLE, "2,3")):
        found = made(cgroups, units={"gpu": ["2", "3"]}).environment
        assert [found[name] for name in VARIABLES] == [seen] * len(VARIABLES)
    some = UnitDevices(own=["/dev/a"], others=["/dev/b"])
    assert made(ABLE, some, units={"gpu": ["2"]}).environment["CUDA_VISIBLE_DEVICES"] == "2"


def test_a_host_closes_devices_by_a_filter_or_a_controller_that_take_them(tmp_path: Path) -> None:
    v2 = HostCgroups(2, {"cgroup": "/cg"})
    assert with_devices(v2, lambda: "").device_parent == "/cg"
    refused = with_devices(v2, lambda: "no bpf")
    assert (refused.device_parent, refused.device_obstacle) == ("", "no bpf")
    v1 = with_devices(HostCgroups(1, {"devices": str(tmp_path)}))
    assert v1.device_parent == str(tmp_path) and (tmp_path / "devices.deny").exists()
    (tmp_path / "devices.deny").unlink()
    (tmp_path / "devices.deny").mkdir()
    assert "devices.deny: " in with_devices(v1).device_obstacle and not with_devices(v1).device_parent
    assert with_devices(HostCgroups(1, {"memory": "/m"})).device_obstacle == "no devices controller that can be written to"
    assert with_devices(HostCgroups(obstacle="there are none")).device_obstacle == "there are none"
    note_cgroups(tmp_path, refused)
    assert (tmp_path / CGROUPS_FILE).read_text() == "v2 ()\n\nno bpf\n"


def test_the_guard_of_a_task_is_no_leftover_while_the_task_is_there(tmp_path: Path) -> None:
    for name in ("1.1.devices", "2.1.devices"):
        (tmp_path / name).mkdir()
    remove_leftovers(HostCgroups(1, {"devices": str(tmp_path)}), {"1.1"})
    assert [each.name for each in tmp_path.iterdir()] == ["1.1.devices"]
