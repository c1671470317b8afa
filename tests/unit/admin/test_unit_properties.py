"""Properties of units in complex_values of the descendants: what becomes of them, and what is left out (adr/0340)."""

from __future__ import annotations

import pytest

from clients.admin.import_sge.objects import convert_objects
from clients.admin.import_sge.sources import OldCell, OldText
from clients.admin.import_sge.unit_properties import without_properties
from gridengine.errors import InvalidValueError

OLD = "gpu=2(0[device=/dev/nvidia0,cuda_id=0,affinity=SCCCC] 1[device=/dev/nvidia1,uuid=GPU-7]),mem=4G"


def test_devices_and_identifiers_become_host_units_and_the_rest_is_named() -> None:
    values, units, left_out = without_properties(OLD)
    assert values == "gpu=2(0 1),mem=4G"
    assert units == "gpu/0(device_files=/dev/nvidia0) gpu/1(device_files=/dev/nvidia1 identifier=GPU-7)"
    assert left_out == ["cuda_id=0 of gpu/0", "affinity=SCCCC of gpu/0"]


def test_topology_masks_are_left_out() -> None:
    assert without_properties("gpu=2(gpu0:SCTTCTT gpu1:SctctSCC)") == (
        "gpu=2(gpu0 gpu1)", "NONE", ["the topology mask SCTTCTT of gpu/gpu0", "the topology mask SctctSCC of gpu/gpu1"],
    )


def test_values_without_properties_stay_as_they_are() -> None:
    text = "gpu=4(0 0 1 1),mic=2(a:1 b),mem=4G"
    assert without_properties(text) == (text, "NONE", [])


def test_a_bracket_that_is_not_closed_is_refused() -> None:
    with pytest.raises(InvalidValueError, match="not closed"):
        without_properties("gpu=1(0[device=/dev/nvidia0)")


def test_an_imported_host_has_its_units_as_an_object_of_their_own() -> None:
    text = OldText("exec_host", "node1", "exec_hosts/node1", f"hostname node1\ncomplex_values {OLD}\n")
    made = convert_objects(OldCell([text]), {})
    assert not made.faults
    assert made.objects["exec_host"]["node1"]["complex_values"] == "gpu=2(0 1),mem=4G"
    assert made.objects["host_units"]["node1"]["units"].startswith("gpu/0(device_files=/dev/nvidia0)")
    assert any("affinity=SCCCC" in remark for remark in made.remarks)


def test_ranges_and_shares_with_properties_are_units_each() -> None:
    assert without_properties("gpu=6(0-1[device=/dev/a] 2:4[uuid=GPU-2])") == (
        "gpu=6(0-1 2:4)", "gpu/0(device_files=/dev/a) gpu/1(device_files=/dev/a) gpu/2(identifier=GPU-2)", [],
    )


@pytest.mark.parametrize(
    "text", ["gpu=2(0[[device=/dev/a]] 1)", "gpu=1([device=/dev/a])", "gpu=4(3-0[uuid=a])", "gpu=9(0-99999[uuid=a])"]
)
def test_a_list_that_cannot_be_read_is_refused(text: str) -> None:
    with pytest.raises(InvalidValueError):
        without_properties(text)


def test_a_path_that_host_units_cannot_have_is_left_out_by_name() -> None:
    assert without_properties("gpu=1(0[device=/dev/a b])") == ("gpu=1(0)", "NONE", ["device=/dev/a b of gpu/0"])


def test_properties_of_units_of_the_cluster_are_left_out_with_a_remark() -> None:
    text = OldText("exec_host", "global", "exec_hosts/global", f"hostname global\ncomplex_values {OLD}\n")
    made = convert_objects(OldCell([text]), {})
    assert made.objects["exec_host"]["global"]["complex_values"] == "gpu=2(0 1),mem=4G" and "host_units" not in made.objects
    assert any("only units of a host have properties" in remark for remark in made.remarks)
