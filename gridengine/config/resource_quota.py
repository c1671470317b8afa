"""Resource quota sets: a name, a description, a switch and rules.

Owns their attributes and checks. Called through `gridengine.config.KINDS`; the rules' grammar is `syntax.rqs`'s.
Source: sge_resource_quota(5), RQ-1..6, RQ-12; HG-9 for the host groups that filters mention.
"""

from collections.abc import Sequence
from typing import Annotated, ClassVar, Self

from gridengine.config.attribute_types import AttributeType, Boolean, ObjectName, Reference, given
from gridengine.config.objects import ConfigObject
from gridengine.errors import ConfigError, InvalidValueError
from gridengine.syntax.lists import is_none
from gridengine.syntax.object_file import Entry
from gridengine.syntax.rqs import Rule, parse_rule


def _description(text: str) -> str:
    """Any text, with or without quotation marks, as given. Source: O."""
    normalised = " ".join(given(text.replace("\t", " ")).split())
    return "NONE" if is_none(normalised.strip('" ')) else normalised


def _rules(text: str) -> list[Rule]:
    rules = [parse_rule(given(line)) for line in text.replace("\t", " ").split("\n")]
    names = [rule.name for rule in rules if rule.name]
    for name in names:
        if names.count(name) > 1:
            raise InvalidValueError(f'two rules are named "{name}"')
    return rules


def _limit(text: str) -> str:
    return "\n".join(map(str, _rules(text)))


def _limited_complexes(text: str) -> list[Reference]:
    names: dict[str, None] = {}
    for rule in _rules(text):
        for attribute in rule.limits:
            formula = rule.dynamic_limit(attribute)
            names.update(dict.fromkeys([attribute, *(formula.names() if formula else ())]))
    return [("complex", name) for name in names]


def _mentioned_groups(text: str) -> list[Reference]:
    groups: dict[str, None] = {}
    for rule in _rules(text):
        hosts = rule.filters.get("hosts")
        if hosts:
            groups.update(dict.fromkeys(name for name in hosts.included + hosts.excluded if name.startswith("@")))
    return [("host_group", name) for name in groups]


class ResourceQuota(ConfigObject):
    """A resource quota set. `limit` holds one rule a line."""

    kind: ClassVar[str] = "resource_quota"
    optional = frozenset(("description", "enabled"))

    name: ObjectName
    description: Annotated[str, AttributeType(_description)] = "NONE"
    enabled: Boolean = "FALSE"
    limit: Annotated[str, AttributeType(_limit, _limited_complexes, _mentioned_groups)] = "to slots=0"

    @property
    def rules(self) -> list[Rule]:
        """The rules in order: the first match counts (RQ-2)."""
        return _rules(self.limit)

    @classmethod
    def parse(
        cls, entries: Sequence[Entry], *, complete: bool = True, name: str = "", warnings: list[str] | None = None
    ) -> Self:
        """The set that these lines describe; there may be several lines `limit`. Raises ConfigError."""
        shown = name or next((text for attribute, text, _ in entries if attribute == "name"), "")
        rules = [(text, line) for attribute, text, line in entries if attribute == "limit"]
        for text, line in rules:
            try:
                _rules(text)
            except InvalidValueError as fault:
                raise ConfigError(cls.kind, shown, "limit", str(fault), line) from None
        single = [entry for entry in entries if entry[0] != "limit"]
        if rules:
            single.append(("limit", "\n".join(text for text, _ in rules), rules[0][1]))
        return super().parse(single, complete=complete, name=name, warnings=warnings)
