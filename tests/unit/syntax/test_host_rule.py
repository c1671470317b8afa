"""Rules of host groups: grammar, printed form, and what they mean for a host (HG-12)."""

from __future__ import annotations

import pytest

from gridengine.errors import InvalidValueError
from gridengine.syntax.host_rule import HostRule
from gridengine.values.units import parse_double

HOST = {"arch": "lx-amd64", "num_proc": "8", "gpu": "2", "model": "a|b", "mem_total": "16G"}


def _value(name: str, text: str) -> float | str:
    if name in ("num_proc", "gpu"):
        return parse_double(text)
    return float(text.removesuffix("G")) if name == "mem_total" else text


@pytest.mark.statement("HG-12")
@pytest.mark.parametrize(
    ("rule", "holds"),
    [
        ("arch=lx-*", True),
        ("arch==lx-amd64", True),
        ("arch!=lx-*", False),
        ("arch!=sol-*", True),
        ("num_proc=8.0", True),
        ("num_proc!=8", False),
        ("num_proc<8", False),
        ("num_proc<=8", True),
        ("num_proc>7 & gpu>=2", True),
        ("mem_total>9G", True),
        ("nosuch=1 | gpu>1", True),
        ("nosuch=1", False),
        ("!nosuch=1", True),
        ("!(arch=lx-* & gpu>1)", False),
        ("gpu>5 | num_proc=8 & arch=sol-*", False),
        ("(gpu>5 | num_proc=8) & arch=lx*", True),
        ("num_proc>many", False),
        ('model="a\\|b" | model="a|x"', False),
    ],
)
def test_rule_matches_values_of_a_host(rule: str, holds: bool) -> None:
    assert HostRule(rule).holds(HOST, _value) is holds
    assert HostRule(str(HostRule(rule))).holds(HOST, _value) is holds, "its printed form means the same"


@pytest.mark.statement("HG-12")
@pytest.mark.parametrize(
    ("written", "printed"),
    [
        ("a=1|b=2&c=3", "a=1 | (b=2 & c=3)"),
        ("((a==1))", "a=1"),
        ('a="x y"&!b<2', 'a="x y" & !b<2'),
        ("(a=1|b=2)&(c=3)", "(a=1 | b=2) & c=3"),
    ],
)
def test_rules_are_printed_in_one_form(written: str, printed: str) -> None:
    assert str(HostRule(written)) == printed
    assert str(HostRule(printed)) == printed


@pytest.mark.statement("HG-12")
@pytest.mark.parametrize(
    "rule",
    ["", "a", "a=", "=1", "a=1 b=2", "(a=1", "a=1)", "a=1 &", "a<>1", 'a="x("', 'a=""', "!" * 101 + "a=1", "a:b=1"],
)
def test_invalid_rule_is_refused(rule: str) -> None:
    with pytest.raises(InvalidValueError, match="rule"):
        HostRule(rule)
