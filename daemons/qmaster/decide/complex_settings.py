"""Lists of `complex=value` in configuration objects: shortcuts become full names, values must fit the type.

Owns that step between an object's own checks and the stored text; so nothing behind the gate knows shortcuts.
Called by `objects` and `attributes`. Source: CX-2, CX-4, CX-45; complex(5); T for shortcuts.
"""

from __future__ import annotations

from collections.abc import Mapping

from daemons.qmaster.decide.proposal import Attributes, Proposal
from gridengine.config.complexes import STRING_TYPES, value_of
from gridengine.errors import ConfigError, SyntaxFault
from gridengine.syntax.host_rule import HostRule
from gridengine.syntax.lists import is_none, join_names, join_pairs, split_names, split_pairs
from gridengine.syntax.load_formula import parse_load_formula
from gridengine.syntax.overrides import Overrides
from gridengine.syntax.rqs import parse_rule

_LISTS: dict[str, tuple[str, ...]] = {
    "cluster_queue": ("complex_values", "load_thresholds", "suspend_thresholds"),
    "exec_host": ("complex_values", "load_scaling"),
    "scheduler": ("job_load_adjustments",),
}
_TYPED = (*_LISTS["cluster_queue"], "job_load_adjustments")
Table = Mapping[str, tuple[str, str]]
"""Full name and type of a complex by its name or shortcut."""


def table_of(proposal: Proposal) -> Table:
    """The complexes as they would be, by name and by shortcut."""
    table: dict[str, tuple[str, str]] = {}
    for name, text in proposal.kind("complex").items():
        table[text["shortcut"]] = (name, text["type"])
    for name, text in proposal.kind("complex").items():
        table[name] = (name, text["type"])
    return table


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
            changed[attribute] = full_text(table, kind, attribute, text)
        except SyntaxFault as fault:
            raise ConfigError(kind, name, attribute, str(fault)) from None
    if kind == "exec_host" and not is_none(attributes.get("report_variables", "NONE")):
        variables = split_names(attributes["report_variables"])
        changed["report_variables"] = join_names((table.get(item, (item, ""))[0] for item in variables), ",")
    if kind == "scheduler":
        _check_load_formula(table, attributes)
    if kind == "host_group" and attributes.get("rule"):
        _check_rule(table, name, HostRule(attributes["rule"]))
    if kind == "resource_quota":
        counted = {name for name, text in proposal.kind("complex").items() if text["consumable"].upper() != "NO"}
        changed["limit"] = "\n".join(_full_rule(table, counted, name, line) for line in attributes["limit"].split("\n"))
    return changed


def full_text(table: Table, kind: str, attribute: str, text: str) -> str:
    """One list with full names, with its tuples where the attribute has any. Raises SyntaxFault."""
    if kind != "cluster_queue" or "[" not in text:
        return _full_pairs(table, attribute, text)
    overrides = Overrides.parse(text)
    tuples = {key: _full_pairs(table, attribute, value) for key, value in overrides.tuples.items()}
    return str(Overrides(_full_pairs(table, attribute, overrides.default), tuples))


def _full_pairs(table: Table, attribute: str, text: str) -> str:
    pairs: dict[str, str] = {}
    for written, value in split_pairs(text, value_required=False):
        name, kind_of_value = table.get(written, (written, ""))
        if name in pairs:
            raise SyntaxFault(f'"{name}" is given twice, once as "{written}"')
        if value and kind_of_value and attribute in _TYPED:
            _check_value(name, kind_of_value, value)
        pairs[name] = value
    return join_pairs(pairs.items())


def _check_value(name: str, kind_of_value: str, value: str) -> None:
    try:
        value_of(kind_of_value, value)
    except SyntaxFault as fault:
        raise SyntaxFault(f'"{name}" is of the type {kind_of_value}: {fault}') from None


def _check_load_formula(table: Table, attributes: Attributes) -> None:
    """Only what is a number can be weighed (LS-7)."""
    for name in parse_load_formula(attributes.get("load_formula", "np_load_avg")).names():
        if table.get(name, ("", ""))[1] in STRING_TYPES:
            fault = f'"{name}" is of the type {table[name][1]} and has no weight, only numbers have'
            raise ConfigError("scheduler", "", "load_formula", fault)


def _check_rule(table: Table, name: str, rule: HostRule) -> None:
    """What a host group's rule compares with must be values of the types."""
    for test in rule.tests:
        try:
            _check_value(test.name, table.get(test.name, ("", ""))[1], test.value)
        except SyntaxFault as fault:
            raise ConfigError("host_group", name, "rule", str(fault)) from None


def _full_rule(table: Table, counted: set[str], name: str, line: str) -> str:
    """A rule with full names. Its limits must be values of their types, those of consumables (`counted`) not negative; formulas
    are for the hosts to fill (RQ-6). Source: O for what is refused."""
    rule = parse_rule(line)
    limits: dict[str, str] = {}
    for written, value in rule.limits.items():
        full, kind_of_value = table.get(written, (written, ""))
        try:
            if "$" not in value:
                _check_value(full, kind_of_value, value)
                if kind_of_value == "INT" and value.upper() == "INFINITY":
                    raise SyntaxFault(f'"{full}" is of the type {kind_of_value}, which has no infinity')
                if full in counted and value.startswith("-"):
                    raise SyntaxFault(f'"{full}" cannot be limited to less than 0')
        except SyntaxFault as fault:
            raise ConfigError("resource_quota", name, "limit", str(fault)) from None
        limits[full] = value
    return str(rule._replace(limits=limits))
