"""Unit lists: their grammar, canonical text and refusals."""

from __future__ import annotations

import pytest

from gridengine.errors import InvalidValueError
from gridengine.syntax.unit_list import UnitProperties, format_unit_list, parse_unit_list, unit_list_complexes

TEXT = (
    "gpu/0(gpu_mem=80G gpu_type=h100 device_files=/dev/nvidia0,/dev/nvidiactl numa_node=0 cores=0-15,32-47 identifier=GPU-1"
    " links=1)"
    " gpu/1() gpu/0:1(parent=0) nic/mlx5_0(numa_node=1)"
)


def test_a_list_has_the_properties_of_each_unit_by_resource() -> None:
    units = parse_unit_list(TEXT)
    assert list(units) == ["gpu", "nic"] and list(units["gpu"]) == ["0", "1", "0:1"]
    assert units["gpu"]["0"] == UnitProperties(
        {"gpu_mem": "80G", "gpu_type": "h100"}, ("/dev/nvidia0", "/dev/nvidiactl"), 0, "0-15,32-47", "", "GPU-1", ("1",)
    )
    assert units["gpu"]["1"] == UnitProperties()
    assert units["gpu"]["0:1"].parent == "0"


def test_the_text_of_a_list_is_canonical() -> None:
    assert format_unit_list(parse_unit_list(TEXT)) == TEXT
    spread = "  gpu/0( cores=0   gpu_mem=8G )gpu/1()  "
    assert format_unit_list(parse_unit_list(spread)) == "gpu/0(gpu_mem=8G cores=0) gpu/1()"
    assert format_unit_list(parse_unit_list("none")) == "NONE"


def test_a_list_names_resources_and_values_as_complexes() -> None:
    assert unit_list_complexes(TEXT) == ["gpu", "gpu_mem", "gpu_type", "nic"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("gpu/0", "is not of the form RESOURCE/UNIT"),
        ("gpu(a=1)", "is not of the form RESOURCE/UNIT"),
        ("gpu/0(a=1", "is not of the form RESOURCE/UNIT"),
        ("gpu/0(gpu_mem)", '"gpu_mem" is not of the form NAME=VALUE'),
        ("gpu/0(a=1 a=2)", '"a" is set twice'),
        ("gpu/0() gpu/0()", 'the unit "gpu/0" is listed twice'),
        ("gpu/0(device_files=nvidia0)", '"nvidia0" is not an absolute path'),
        ("gpu/0(device_files=/dev/../etc/shadow)", "is not an absolute path"),
        ("gpu/0(numa_node=-2)", "numa_node"),
        ("gpu/0(cores=3-1)", "ends before it begins"),
        ("gpu/0(cores=x)", "is not a number"),
        ("gpu/0(parent=7)", 'parent: "7" is no other unit of gpu'),
        ("gpu/0(links=0)", 'links: "0" is no other unit of gpu'),
    ],
)
def test_a_list_that_is_refused_names_unit_and_reason(text: str, reason: str) -> None:
    with pytest.raises(InvalidValueError, match=reason.replace("(", r"\(")):
        parse_unit_list(text)
