"""Changes of single attributes of an object by -aattr, -dattr, -mattr and -rattr, and removal of values by -purge.

Owns the arithmetic on attribute texts; the result is checked as a whole object by its model afterwards. Called by the
qmaster. Source: qconf(1); statements QF-1 … QF-8, HG-10.
"""

from __future__ import annotations

from collections.abc import Mapping

from gridengine.config import KINDS
from gridengine.errors import ConfigError, InvalidValueError
from gridengine.syntax.lists import is_none, join_names, join_pairs, split_names, split_pairs
from gridengine.syntax.overrides import Overrides
from gridengine.syntax.rqs import parse_rule

PAIRED = frozenset(
    "load_thresholds suspend_thresholds complex_values load_scaling usage_scaling subordinate_list "
    "job_load_adjustments execd_params qmaster_params reporting_params".split()
)
"""List attributes whose elements are `name=value`; the name is the key."""
NAMED = frozenset(
    "ckpt_list pe_list owner_list user_lists xuser_lists projects xprojects hostlist entries acl xacl report_variables".split()
)
"""List attributes whose elements are names. `qtype` and `type` are scalars: a change replaces them (O)."""
_COMMAS = frozenset("entries acl xacl report_variables".split())


def change_attribute(
    kind: str, attributes: Mapping[str, str], verb: str, attribute: str, value: str, identifier: str = ""
) -> dict[str, str]:
    """The object's attributes with one of them changed.

    verb: add, delete, modify, replace. identifier: host or @group of a queue attribute's tuple, "" for the default.
    A value may itself consist of tuples (`[h1=4]`). Raises ConfigError for an unknown attribute or a malformed value.
    """
    attribute = KINDS[kind].old_names.get(attribute, attribute)
    key = KINDS[kind].key
    if attribute not in attributes or attribute == key:
        reason = "cannot be changed, it is the name of the object" if attribute == key else "the attribute is unknown"
        raise ConfigError(kind, attributes.get(key, ""), attribute, reason)
    try:
        if kind == "cluster_queue" and attribute != "hostlist":
            changed = _change_overrides(attribute, attributes[attribute], verb, value, identifier)
        else:
            changed = _change(attribute, attributes[attribute], verb, value)
    except InvalidValueError as fault:
        raise ConfigError(kind, attributes.get(key, ""), attribute, str(fault)) from None
    return {**attributes, attribute: changed}


def purge_override(attributes: Mapping[str, str], attribute: str, identifier: str) -> dict[str, str] | None:
    """A queue's attributes without the tuples of an identifier; None if nothing changes. `*`: of every attribute. (QF-8)"""
    changed = dict(attributes)
    for name, text in attributes.items():
        if attribute in ("*", name) and "[" in text and name not in ("qname", "hostlist"):
            changed[name] = str(Overrides.parse(text).without([identifier]))
    return changed if changed != dict(attributes) else None


def change_limit(attributes: Mapping[str, str], verb: str, attribute: str, value: str, rule: str) -> dict[str, str]:
    """A resource quota set with the limits of one rule changed: `rule` is its name or its number from 1. (QF-6, QF-29)

    Raises ConfigError, also when there is no such rule.
    """
    set_name = attributes["name"]
    try:
        rules = [parse_rule(line) for line in attributes["limit"].split("\n")]
        index = next(
            (position for position, existing in enumerate(rules) if rule and rule in (existing.name, str(position + 1))), None
        )
        if attribute != "limit" or index is None:
            known = ", ".join(existing.name or str(number) for number, existing in enumerate(rules, 1))
            reason = f'"{rule}" is not one of its rules' if rule else "a rule is needed"
            raise ConfigError("resource_quota", set_name, attribute, f"{reason}: name it as {set_name}/RULE, of {known}")
        limits = dict(split_pairs(_change_pairs(join_pairs(rules[index].limits.items()), verb, value)))
        if not limits:
            raise InvalidValueError("a rule needs at least one limit")
        rules[index] = rules[index]._replace(limits=limits)
    except InvalidValueError as fault:
        raise ConfigError("resource_quota", set_name, attribute, str(fault)) from None
    return {**attributes, "limit": "\n".join(map(str, rules))}


def elements(attribute: str, text: str) -> list[str]:
    """The elements of a list attribute: names, or values and names of pairs; [] for an attribute that is no list."""
    if attribute in PAIRED:
        return [part for name, value in split_pairs(text, value_required=False) for part in (name, value, f"{name}={value}")]
    return list(split_names(text)) if attribute in NAMED else []


def _change_overrides(attribute: str, text: str, verb: str, value: str, identifier: str) -> str:
    overrides = Overrides.parse(text)
    if identifier:
        changes = [(identifier, value)]
    elif "[" in value:
        # a list of tuples without a default is allowed here: only the named tuples change
        given = Overrides.parse(value if not value.lstrip().startswith("[") else f"x,{value}")
        changes = list(given.tuples.items()) if value.lstrip().startswith("[") else list(given.values())
    else:
        changes = [("", value)]
    for name, part in changes:
        if verb == "delete" and (attribute not in PAIRED | NAMED or (name and name not in overrides.tuples)):
            continue
        before = overrides.tuples.get(name, "NONE") if name else overrides.default
        overrides = overrides.with_value(name, _change(attribute, before, verb, part))
    return str(overrides)


def _change(attribute: str, text: str, verb: str, value: str) -> str:
    """A value after a verb; on attributes that are no lists `delete` does nothing and the others replace."""
    if attribute in PAIRED:
        return _change_pairs(text, verb, value)
    if attribute in NAMED:
        return _change_names(attribute, text, verb, value)
    return text if verb == "delete" else value


def _change_pairs(text: str, verb: str, value: str) -> str:
    if verb == "replace":
        return value
    given = dict(split_pairs(value, value_required=False))
    if verb != "delete" and not given:
        raise InvalidValueError("NONE names no element; use -rattr to empty the list")
    pairs = dict(split_pairs(text, value_required=False))
    if verb == "delete":
        return join_pairs((name, setting) for name, setting in pairs.items() if name not in given)
    return join_pairs({**pairs, **given}.items())


def _change_names(attribute: str, text: str, verb: str, value: str) -> str:
    given = split_names(value)
    separator = "," if attribute in _COMMAS else " "
    if verb == "replace":
        return join_names(given, separator)
    before = split_names(text)
    if verb == "delete":
        return join_names([name for name in before if name not in given], separator)
    if is_none(value):
        raise InvalidValueError("NONE names no element; use -rattr to empty the list")
    return join_names([*before, *(name for name in given if name not in before)], separator)
