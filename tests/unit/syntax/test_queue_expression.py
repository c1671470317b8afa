"""Queue name expressions."""

import pytest

from gridengine.errors import InvalidValueError
from gridengine.syntax.queue_expression import QueueExpression, QueueExpressions

GROUPS = {"h1": {"@g1", "@all"}, "h2": {"@g2", "@all"}, "b1": set[str]()}
INSTANCES = [(queue, host) for queue in ("adam", "anna", "big_11", "big_12") for host in GROUPS]


def selected(text: str) -> list[str]:
    expressions = QueueExpressions.parse(text)
    return [f"{queue}@{host}" for queue, host in INSTANCES if expressions.matches(queue, host, GROUPS[host])]


@pytest.mark.statement("QN-1")
def test_cluster_queues() -> None:
    assert selected("anna") == ["anna@h1", "anna@h2", "anna@b1"]
    assert QueueExpression("a*").matches_queue("adam") and not QueueExpression("a*").matches_queue("big_11")


@pytest.mark.statement("QN-2", "QN-6")
def test_instances() -> None:
    assert selected("a*@h*") == ["adam@h1", "adam@h2", "anna@h1", "anna@h2"]
    assert selected("adam@H1") == ["adam@h1"]
    assert selected("adam@*") == ["adam@h1", "adam@h2", "adam@b1"]


@pytest.mark.statement("QN-3")
def test_domains() -> None:
    assert selected("a*@@g1") == ["adam@h1", "anna@h1"]
    assert selected("adam@@*") == ["adam@h1", "adam@h2"]


@pytest.mark.statement("QN-6")
@pytest.mark.parametrize("pattern", ["a*@?g1", "a*@*g1", "a*@*a*l*"])
def test_a_pattern_for_hosts_means_no_group(pattern: str) -> None:
    assert selected(pattern) == []


@pytest.mark.statement("QN-4")
def test_operators_in_each_part() -> None:
    assert selected("a*&!adam@h1") == ["anna@h1"]
    assert selected("adam@b*|h2") == ["adam@h2", "adam@b1"]
    assert selected("adam@@g1|g2") == ["adam@h1", "adam@h2"]
    assert selected("big_*1&!*2@h1") == ["big_11@h1"]


@pytest.mark.statement("QN-4", "QN-3")
def test_each_name_in_an_expression_of_groups_may_have_its_at_sign() -> None:
    assert selected("adam@@g1|@g2") == ["adam@h1", "adam@h2"]
    assert selected("adam@@(@g1|@x)&!@g2") == ["adam@h1"]


@pytest.mark.statement("QN-7")
def test_a_list_is_the_union() -> None:
    assert selected("anna@h1,adam@b1") == ["adam@b1", "anna@h1"]
    assert str(QueueExpressions.parse("a, b@h")) == "a,b@h"


@pytest.mark.parametrize("text", ["", ",", "@h1", "a@", "a@@", "a@@g@h", "a@h@g", "(a@h1"])
def test_wrong_expressions_are_refused(text: str) -> None:
    with pytest.raises(InvalidValueError):
        QueueExpressions.parse(text)
