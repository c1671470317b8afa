"""Device closing: which units of a host no job gets, by the devices that the host has reported.

A pure rule: a unit is closed while its device has a fault, while the host does not find the device, or while the host cannot read
its devices. A slice is closed with its unit. Units are those of host units with the identifier of a device; of the resource `gpu`
also a unit without properties that has the name of the device. Called for each load report. Source: adr/0345.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from gridengine.protocols.devices import Device
from gridengine.state.state import State
from gridengine.syntax.unit_list import UnitProperties
from gridengine.values.gpus import GPUS

Closed = dict[str, dict[str, str]]
"""Resource -> unit -> reason."""


def units_to_close(state: State, host: str, devices: list[Device], fault: str) -> Closed:
    """The units of a host to close. `fault`: the reason for which the host cannot read its devices, "" for none."""
    listed = state.host_units[host] if state.has("host_units", host) else {}
    found: Closed = {}
    by_identifier = {device.identifier: device for device in devices if device.identifier}
    lost = "; ".join(device.fault for device in devices if not device.identifier and device.fault)
    own = partial(_reason, devices=by_identifier, lost=lost, fault=fault)
    for resource, units in listed.items():
        for unit, properties in units.items():
            if reason := own(properties) or own(units.get(properties.parent)):
                found.setdefault(resource, {})[unit] = reason
    for device in devices:
        if device.fault and not listed.get(GPUS):
            found.setdefault(GPUS, {})[device.unit] = device.fault
    return found


def _reason(unit: UnitProperties | None, devices: Mapping[str, Device], lost: str, fault: str) -> str:
    """Why a unit is to be closed; `lost`: faults of devices that have no identifier any more."""
    if unit is None or not unit.identifier:
        return ""
    if fault:
        return fault
    device = devices.get(unit.identifier)
    if device is None:
        return f"its host finds no device {unit.identifier}{f': {lost}' if lost else ''}"
    return device.fault
