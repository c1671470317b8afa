"""Rules of resource quota sets."""

import pytest

from gridengine.errors import InvalidValueError
from gridengine.syntax.rqs import Filter, parse_rule


@pytest.mark.statement("RQ-1", "RQ-3", "RQ-4")
def test_a_whole_rule() -> None:
    text = (
        "name a users {*} projects p1,p2 pes * queues !q1,q2 hosts {@lx_host,!h3} to virtual_free=4g,slots=$num_proc*2"
    )
    rule = parse_rule(text)
    assert rule.name == "a"
    assert rule.filters == {
        "users": Filter(("*",), (), True),
        "projects": Filter(("p1", "p2"), (), False),
        "pes": Filter(("*",), (), False),
        "queues": Filter(("q2",), ("q1",), False),
        "hosts": Filter(("@lx_host",), ("h3",), True),
    }
    assert rule.limits == {"virtual_free": "4g", "slots": "$num_proc*2"}
    assert str(rule) == text.replace("!q1,q2", "q2,!q1")
    assert parse_rule(str(rule)) == rule


@pytest.mark.statement("RQ-4")
def test_a_rule_excludes_all_projects_and_a_user() -> None:
    rule = parse_rule("users a,b,!c projects !* to slots=2")
    assert rule.filters["projects"] == Filter((), ("*",), False)
    assert rule.filters["users"] == Filter(("a", "b"), ("c",), False)


def test_filters_come_in_any_order_and_with_blanks() -> None:
    rule = parse_rule("hosts { h1 , h2 } users a to slots=1, mem=2G")
    assert str(rule) == "users a hosts {h1,h2} to slots=1,mem=2G"


@pytest.mark.statement("RQ-5")
def test_dynamic_limits_need_single_hosts() -> None:
    formula = parse_rule("hosts {*} to slots=$num_proc*2+1").dynamic_limit("slots")
    assert formula is not None and formula.evaluate({"num_proc": 2}) == 5
    assert parse_rule("hosts h1 to slots=$num_proc*2").dynamic_limit("slots")
    assert parse_rule("hosts h1 to slots=2").dynamic_limit("slots") is None
    for filters in ("", "hosts * ", "hosts h1,h2 ", "hosts @g ", "hosts !h1 ", "users {*} "):
        with pytest.raises(InvalidValueError, match="needs hosts in braces"):
            parse_rule(f"{filters}to slots=$num_proc*2")


@pytest.mark.statement("RQ-12")
@pytest.mark.parametrize(
    "text",
    [
        "",
        "users a",
        "users to slots=1",
        "foo a to slots=1",
        "to slots",
        "to slots=",
        "users {a to slots=2",
        "users a} to slots=2",
        "users a users b to slots=2",
        "to slots=2,slots=3",
        "users a, to slots=2",
        "to slots=1 hosts h1",
        "name to slots=1",
        "name 1a to slots=1",
        "users a b to slots=2",
    ],
)
def test_wrong_rules_are_refused(text: str) -> None:
    with pytest.raises(InvalidValueError):
        parse_rule(text)


@pytest.mark.statement("RQ-12")
def test_the_position_of_a_fault_is_reported() -> None:
    with pytest.raises(InvalidValueError, match=r'wrong at position 9 \("foo"\)'):
        parse_rule("users a foo b to slots=1")
