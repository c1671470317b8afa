"""The rules of resource quota sets: `name r1 users {a,@b} hosts !@c to slots=4,mem=$num_proc*2G`.

Owns the grammar of one rule and its print form. Called by the model of resource quota sets and by the scheduler.

Grammar (sge_resource_quota(5); RQ-1, RQ-3..5):
    rule   = ["name" NAME] {scope filter} "to" limit {"," limit}
    scope  = "users" | "projects" | "pes" | "queues" | "hosts"          each once
    filter = list | "{" list "}"       list = ["!"] value {"," ["!"] value}       limit = attribute "=" value
A limit's value is a constant, or a sum of weighted `$attributes` where the rule is for single hosts.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import TYPE_CHECKING, NamedTuple

from gridengine.errors import InvalidValueError
from gridengine.syntax.lists import check_object_name
from gridengine.syntax.load_formula import LoadFormula, parse_dynamic_limit
from gridengine.syntax.wildcard import is_pattern

if TYPE_CHECKING:
    from lark import Lark, Token, Tree
    from lark.exceptions import UnexpectedInput

SCOPES = ("users", "projects", "pes", "queues", "hosts")

_GRAMMAR = r"""
start: [_NAME word] filter* _TO limit ("," limit)*
filter: SCOPE list | SCOPE "{" list "}" -> expanded
list: item ("," item)*
item: NOT? VALUE
word: VALUE
limit: VALUE "=" VALUE
_NAME: "name"
_TO: "to"
SCOPE: "users" | "projects" | "pes" | "queues" | "hosts"
NOT: "!"
VALUE: /"[^"]*"|[^\s,{}!="]+/
%ignore /[ \t]+/
"""
_RULE_NAME = re.compile(r"[a-zA-Z][a-zA-Z0-9_-]*", re.ASCII)


class Filter(NamedTuple):
    """The names that a rule applies to: those `included`, without those `excluded`. `expanded`: the limit counts for each of
    them, not for all together."""

    included: tuple[str, ...]
    excluded: tuple[str, ...]
    expanded: bool

    def __str__(self) -> str:
        text = ",".join((*self.included, *(f"!{name}" for name in self.excluded)))
        return f"{{{text}}}" if self.expanded else text


class Rule(NamedTuple):
    """One rule. `filters`: by scope; a missing scope applies to all; `limits`: text by attribute."""

    name: str
    filters: dict[str, Filter]
    limits: dict[str, str]

    def __str__(self) -> str:
        parts = [f"name {self.name}"] if self.name else []
        parts += [f"{scope} {self.filters[scope]}" for scope in SCOPES if scope in self.filters]
        parts.append("to " + ",".join(f"{attribute}={value}" for attribute, value in self.limits.items()))
        return " ".join(parts)

    def dynamic_limit(self, attribute: str) -> LoadFormula | None:
        """The formula of a limit that refers to `$attributes`, else None."""
        text = self.limits[attribute]
        return parse_dynamic_limit(text) if "$" in text else None


@cache
def _grammar() -> Lark:
    from lark import Lark  # late: most daemons never read one

    return Lark(_GRAMMAR, parser="lalr", maybe_placeholders=True)


@lru_cache(maxsize=4096)  # each rule is read for its values, its names and its references; no code changes a rule
def parse_rule(text: str) -> Rule:
    """Read the text behind `limit`. Raises InvalidValueError with the position of the fault, counted from 1."""
    from lark import Tree, UnexpectedInput

    try:
        tree = _grammar().parse(text)
    except UnexpectedInput as error:
        raise InvalidValueError(_explain(error, text)) from None
    name = ""
    filters: dict[str, Filter] = {}
    limits: dict[str, str] = {}
    for child in tree.children:
        if not isinstance(child, Tree):
            continue
        if child.data == "word":
            name = _rule_name(str(child.children[0]))
        elif child.data == "limit":
            _add_limit(limits, str(child.children[0]), str(child.children[1]))
        else:
            scope, names = _filter(child)
            if scope in filters:
                raise InvalidValueError(f'the filter "{scope}" is given twice')
            filters[scope] = names
    rule = Rule(name, filters, limits)
    _check_dynamic(rule)
    return rule


def _explain(error: UnexpectedInput, text: str) -> str:
    position = error.pos_in_stream
    if position is None or position < 0 or position >= len(text):
        return f'the rule "{text}" ends too early, it must have the form {_FORM}'
    token = text[position:].split()[0] if text[position:].split() else ""
    return f'the rule is wrong at position {position + 1} ("{token}"), it must have the form {_FORM}'


_FORM = "[name NAME] [users|projects|pes|queues|hosts LIST]... to ATTRIBUTE=VALUE[,...]"


def _rule_name(text: str) -> str:
    bare = text.strip('"')
    if not _RULE_NAME.fullmatch(bare):
        raise InvalidValueError(f'"{bare}" is not a name for a rule: a letter, then letters, digits, _ and - are allowed')
    return bare


def _add_limit(limits: dict[str, str], attribute: str, value: str) -> None:
    check_object_name(attribute)
    if attribute in limits:
        raise InvalidValueError(f'"{attribute}" is limited twice')
    if "$" in value:
        parse_dynamic_limit(value)
    limits[attribute] = value


def _filter(tree: Tree[Token]) -> tuple[str, Filter]:
    from lark import Tree

    scope, items = tree.children
    included: list[str] = []
    excluded: list[str] = []
    assert isinstance(items, Tree)
    for item in items.children:
        assert isinstance(item, Tree)
        value = str(item.children[-1])
        (excluded if item.children[0] is not None and len(item.children) > 1 else included).append(value)
    unique = Filter(tuple(dict.fromkeys(included)), tuple(dict.fromkeys(excluded)), tree.data == "expanded")
    return str(scope), unique


def _check_dynamic(rule: Rule) -> None:
    """A dynamic limit needs one host at a time: an expanded host filter, or one host by name (RQ-5)."""
    if not any("$" in value for value in rule.limits.values()):
        return
    hosts = rule.filters.get("hosts")
    single = hosts is not None and len(hosts.included) == 1 and not hosts.excluded
    plain = single and hosts is not None and not hosts.included[0].startswith("@") and not is_pattern(hosts.included[0])
    if hosts is None or not (hosts.expanded or plain):
        raise InvalidValueError("a limit with $ATTRIBUTE needs hosts in braces or a single host")
