"""Host units: the properties of named units must fit the complexes, the host and the units in use.

Owns these checks, with full names for shortcuts of complexes. Called by `complex_settings` and `references`.
Source: adr/0340.
"""

from __future__ import annotations

from collections.abc import Iterator

from daemons.qmaster.decide.configuration.proposal import Proposal
from gridengine.config.complexes import Complex, value_of
from gridengine.errors import ConfigError, InvalidValueError
from gridengine.kinds import title
from gridengine.syntax.resource_map import RSMAP
from gridengine.syntax.unit_list import UnitList, UnitProperties, excluded_units, format_unit_list, parse_unit_list


def full_units(proposal: Proposal, text: str) -> str:
    """A unit list with full names of complexes. Raises InvalidValueError for a value that a unit cannot have."""
    rows = [Complex.from_attributes(row) for row in proposal.kind("complex").values()]
    known = {row.shortcut: row for row in rows} | {row.name: row for row in rows}
    return format_unit_list(
        {
            _map_name(known, resource): {unit: _with_full_names(known, resource, unit, each) for unit, each in of.items()}
            for resource, of in parse_unit_list(text).items()
        }
    )


def _map_name(known: dict[str, Complex], resource: str) -> str:
    row = known.get(resource)
    if row is not None and row.type != RSMAP:
        raise InvalidValueError(f'"{resource}" is of the type {row.type}: only resources of the type {RSMAP} have named units')
    return row.name if row is not None else resource


def _with_full_names(known: dict[str, Complex], resource: str, unit: str, properties: UnitProperties) -> UnitProperties:
    values: dict[str, str] = {}
    for written, value in properties.values.items():
        row = known.get(written)
        if row is None:
            values[written] = value  # `references` reports its absence
            continue
        where = f"{resource}/{unit}: {row.name}"
        if row.is_consumable:
            raise InvalidValueError(f"{where} is consumable: a unit has values of complexes that are not consumed")
        if row.name in values:
            raise InvalidValueError(f'{where} is set twice, once as "{written}"')
        try:
            value_of(row.type, value)
        except InvalidValueError as fault:
            raise InvalidValueError(f"{where} is of the type {row.type}: {fault}") from None
        values[row.name] = value
    return properties._replace(values=values)


def unit_refusals(proposal: Proposal, name: str) -> Iterator[str]:
    """The reasons against the units of a host: there is no such host, or units in use would exclude each other."""
    if not proposal.has("exec_host", name):
        yield str(ConfigError("host_units", name, "", f"{title('exec_host', name)} does not exist"))
    units: UnitList = parse_unit_list(proposal.kind("host_units")[name]["units"])
    for resource, listed in units.items():
        used = proposal.state.units_in_use.of(name, resource)
        for unit in sorted(excluded_units(listed, used) & used.keys()):
            fault = f"{resource}/{unit} is in use together with its parent or with a slice of it: wait until jobs end"
            yield str(ConfigError("host_units", name, "units", fault))
