"""Lists of `complex=value` in configuration objects: shortcuts become full names, values must fit the type.

Owns that step between an object's own checks and the stored text; so shortcuts do not pass the gate. Called by `objects` and
`attributes`. Source: CX-2, CX-4, CX-45; complex(5); T for shortcuts.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from daemons.qmaster.decide.configuration.proposal import Attributes, Proposal
from daemons.qmaster.decide.configuration.unit_settings import full_units
from gridengine.config.complexes import STRING_TYPES, value_of
from gridengine.errors import ConfigError, InvalidValueError
from gridengine.syntax.host_rule import HostRule
from gridengine.syntax.lists import is_none, join_names, join_pairs, split_names, split_pairs
from gridengine.syntax.load_formula import LoadFormula, parse_load_formula
from gridengine.syntax.overrides import Overrides
from gridengine.syntax.resource_map import PER_HOST, RSMAP, canonical_map
from gridengine.syntax.rqs import parse_rule
from gridengine.values.units import INFINITY

_LISTS: dict[str, tuple[str, ...]] = {
    "cluster_queue": ("complex_values", "load_thresholds", "suspend_thresholds"),
    "exec_host": ("complex_values", "load_scaling"),
    "scheduler": ("job_load_adjustments",),
}
_TYPED = (*_LISTS["cluster_queue"], "job_load_adjustments")


class _Known(NamedTuple):
    """The constraints on a value: full name, type, whether the complex is consumed (CX-45), and once on each host."""

    name: str
    type: str = ""
    consumable: bool = False
    per_host: bool = False


Table = Mapping[str, _Known]
"""A complex by its name or shortcut."""


def table_of(proposal: Proposal) -> Table:
    """The complexes of the proposal, by name and by shortcut."""
    entries = proposal.kind("complex").items()
    known = {
        name: _Known(name, text["type"], text["consumable"] != "NO", text["consumable"] == PER_HOST) for name, text in entries
    }
    return {text["shortcut"]: known[name] for name, text in entries} | known


def is_complex_list(kind: str, attribute: str) -> bool:
    return attribute in _LISTS.get(kind, ())


def with_full_names(proposal: Proposal, kind: str, name: str, attributes: Attributes) -> Attributes:
    """The attributes with full names of complexes; raises ConfigError for a value that its type does not allow."""
    table = table_of(proposal)
    changed = dict(attributes)
    for attribute in _LISTS.get(kind, ()):
        text = attributes.get(attribute, "NONE")
        if is_none(text):
            continue
        try:
            _check_places(table, kind, name, attribute, text)
            changed[attribute] = full_text(table, kind, attribute, text)
        except InvalidValueError as fault:
            raise ConfigError(kind, name, attribute, str(fault)) from None
    if kind == "host_units":
        try:
            changed["units"] = full_units(proposal, attributes["units"])
        except InvalidValueError as fault:
            raise ConfigError(kind, name, "units", str(fault)) from None
    if kind == "exec_host":
        variables = split_names(attributes["report_variables"])
        changed["report_variables"] = join_names((_known(table, item).name for item in variables), ",")
    if kind == "host_group" and attributes.get("rule"):
        _check_rule(table, name, HostRule(attributes["rule"]))
    if kind == "scheduler":
        try:
            _check_formula(table, parse_load_formula(attributes["load_formula"]))
        except InvalidValueError as fault:
            raise ConfigError(kind, "", "load_formula", str(fault)) from None
    if kind == "resource_quota":
        changed["limit"] = "\n".join(_full_rule(table, name, line) for line in attributes["limit"].split("\n"))
    return changed


def _check_places(table: Table, kind: str, name: str, attribute: str, text: str) -> None:
    """A resource map is an amount of named units of a host: no other list has it. Raises InvalidValueError. Source: adr/0320."""
    parts = [value for _, value in Overrides.parse(text).values()] if kind == "cluster_queue" else [text]
    for written, _ in (pair for part in parts for pair in split_pairs(part, value_required=False)):
        known = _known(table, written)
        if known.type == RSMAP and (kind, attribute) != ("exec_host", "complex_values"):
            raise InvalidValueError(f'"{known.name}" is of the type {RSMAP}, which only complex_values of hosts can have')
        if known.per_host and name == "global":
            raise InvalidValueError(f'"{known.name}" is consumed once on each host ({PER_HOST}), so the cluster cannot have it')


def full_text(table: Table, kind: str, attribute: str, text: str) -> str:
    """One list with full names, with its tuples where the attribute has any. Raises InvalidValueError."""
    if kind != "cluster_queue":
        return _full_pairs(table, attribute, text)
    overrides = Overrides.parse(text)
    tuples = {key: _full_pairs(table, attribute, value) for key, value in overrides.tuples.items()}
    return str(Overrides(_full_pairs(table, attribute, overrides.default), tuples))


def _full_pairs(table: Table, attribute: str, text: str) -> str:
    pairs: dict[str, str] = {}
    for written, value in split_pairs(text, value_required=False):
        known = _known(table, written)
        if known.name in pairs:
            raise InvalidValueError(f'"{known.name}" is given twice, once as "{written}"')
        if value and attribute in _TYPED:
            _check_value(known, value)
        if value and attribute == "complex_values":
            _check_capacity(known, value)
            value = canonical_map(value) if known.type == RSMAP else value
        pairs[known.name] = value
    return join_pairs(pairs.items())


def _known(table: Table, written: str) -> _Known:
    """The complex of a name or shortcut. An unknown name stands for itself; `references` reports its absence."""
    return table.get(written) or _Known(written)


def _check_value(known: _Known, value: str) -> None:
    try:
        value_of(known.type, value)
    except InvalidValueError as fault:
        raise InvalidValueError(f'"{known.name}" is of the type {known.type}: {fault}') from None


def _check_amount(known: _Known, value: str) -> None:
    """As `_check_value`, where units have no names: in a limit of a quota or a rule of a host group."""
    if known.type == RSMAP and "(" in value:
        raise InvalidValueError(f'"{known.name}" is an amount here, without a list of units: {value}')
    _check_value(known, value)


def _check_capacity(known: _Known, value: str) -> None:
    """The capacity of a consumable must be countable: neither negative nor infinite. Source: complex(5); O."""
    if not known.consumable:
        return
    amount = value_of(known.type, value)
    if isinstance(amount, float) and not 0 <= amount < INFINITY:
        raise InvalidValueError(f'"{known.name}" is consumable, {value} is not an amount of it')


def _check_formula(table: Table, formula: LoadFormula) -> None:
    """A formula adds numbers. Raises InvalidValueError. Source: LS-7, RQ-6; O."""
    for name in formula.names():
        if _known(table, name).type in STRING_TYPES:
            raise InvalidValueError(f'"{name}" is of the type {table[name].type}, not a number')


def _check_rule(table: Table, name: str, rule: HostRule) -> None:
    """The values in a host group's rule must fit the types of their complexes."""
    for test in rule.tests:
        try:
            _check_amount(_known(table, test.name), test.value)
        except InvalidValueError as fault:
            raise ConfigError("host_group", name, "rule", str(fault)) from None


def _full_rule(table: Table, name: str, line: str) -> str:
    """A rule with full names. Its limits must be values of their types; limits of consumables must be neither negative nor
    infinite; hosts evaluate formulas (RQ-6). Source: O for the refusals."""
    rule = parse_rule(line)
    limits: dict[str, str] = {}
    for written, value in rule.limits.items():
        known = _known(table, written)
        try:
            if known.per_host:
                raise InvalidValueError(f'"{known.name}" is consumed once on each host ({PER_HOST}), which no limit counts')
            formula = rule.dynamic_limit(written)
            if formula is not None:
                _check_formula(table, formula)
            else:
                _check_amount(known, value)
                _check_capacity(known, value)
        except InvalidValueError as fault:
            raise ConfigError("resource_quota", name, "limit", str(fault)) from None
        limits[known.name] = value
    return str(rule._replace(limits=limits))
