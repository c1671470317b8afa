"""The load formula and dynamic limits: sums of weighted values such as `np_load_avg*2+slots-0.5`.

Owns the grammar and its evaluation. Called by the models of the scheduler and of resource quotas, and by the scheduler.

Grammar (sched_conf(5) load_formula; LS-7, RQ-5):
    formula = ["+" | "-"] term {("+" | "-") term}       term = number | name ["*" number]
No blanks are allowed. Readers raise InvalidValueError. Sites spread jobs by free slots with a sign in front (`-slots`): 8.1.9
accepts it, though its manual does not mention it. In a dynamic limit a name has a `$` in front.
"""

import re
from collections.abc import Mapping
from typing import NamedTuple

from gridengine.errors import InvalidValueError
from gridengine.syntax.lists import check_object_name, is_none
from gridengine.values.units import parse_double

_SIGNS = re.compile(r"(?<![0-9.][eE])([+-])")


class Term(NamedTuple):
    """`weight` times the value of `name`, or the weight alone if the name is "". `text`: as written."""

    name: str
    weight: float
    text: str


class LoadFormula(NamedTuple):
    """A sum of `terms`. `text`: as written."""

    terms: tuple[Term, ...]
    text: str

    def __str__(self) -> str:
        return self.text

    def names(self) -> list[str]:
        """The attributes that the formula needs, each once."""
        return list(dict.fromkeys(term.name for term in self.terms if term.name))

    def evaluate(self, values: Mapping[str, float], missing: float = 0.0) -> float:
        """The sum; an attribute without a value counts as `missing`. TRUE and FALSE are 1 and 0 (LS-7)."""
        return sum(term.weight * (values.get(term.name, missing) if term.name else 1.0) for term in self.terms)


def parse_load_formula(text: str) -> LoadFormula:
    """Read a load formula. Refuses `none`, and a factor that is not a number."""
    if is_none(text):
        raise InvalidValueError("a load formula is required, NONE is not one")
    return _parse(text, prefix="")


def parse_dynamic_limit(text: str) -> LoadFormula:
    """Read the limit of a resource quota that refers to attributes by `$name`."""
    return _parse(text, prefix="$")


def _parse(text: str, prefix: str) -> LoadFormula:
    if " " in text or "\t" in text:
        raise InvalidValueError(f'"{text}" must not hold blanks')
    signed = text if text.startswith(("+", "-")) else f"+{text}"
    _, *pieces = _SIGNS.split(signed)
    signs = (-1.0 if sign == "-" else 1.0 for sign in pieces[::2])
    terms = (_term(piece, sign, prefix) for sign, piece in zip(signs, pieces[1::2], strict=True))
    return LoadFormula(tuple(terms), text)


def _term(text: str, sign: float, prefix: str) -> Term:
    head, star, factor = text.partition("*")
    if not head or (star and not factor):
        raise InvalidValueError("a value is missing beside an operator")
    weight = sign * (_weight(factor) if star else 1.0)
    if head[0].isdecimal() or head[0] == ".":
        if star and not _is_number(factor):
            raise InvalidValueError(f'"{factor}" is used as a factor, but a factor must be a number')
        return Term("", weight * _weight(head), text)
    if prefix and not head.startswith(prefix):
        raise InvalidValueError(f'"{head}" is neither a number nor the {prefix}name of an attribute')
    name = head.removeprefix(prefix)
    if "*" in factor:
        raise InvalidValueError(f'"{text}" has more than one factor')
    return Term(check_object_name(name), weight, text)


def _is_number(text: str) -> bool:
    try:
        parse_double(text)
    except InvalidValueError:
        return False
    return True


def _weight(text: str) -> float:
    if not _is_number(text) or not (text[0].isdecimal() or text[0] == "."):
        raise InvalidValueError(f'"{text}" is used as a factor, but a factor must be a number')
    return parse_double(text)
