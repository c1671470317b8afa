"""Names, lists of names and pairs, resource requests, subordinate lists, load formulas."""

import pytest

from gridengine.errors import InvalidValueError
from gridengine.syntax.lists import (
    check_group_name,
    check_host_name,
    check_object_name,
    join_pairs,
    split_names,
    split_pairs,
)
from gridengine.syntax.load_formula import parse_dynamic_limit, parse_load_formula
from gridengine.syntax.request_list import format_requests, parse_requests
from gridengine.syntax.subordinate import parse_subordinates


@pytest.mark.statement("CQ-36")
def test_object_names() -> None:
    for name in ("all.q", "a" * 512, "x-y_z+1", "1#", "q*"):
        assert check_object_name(name) == name
    for name in ["", "a" * 513, "a b", "none", "NONE", "a\tb", "ä", ".a", "#1", *(f"a{char}b" for char in "/:'\\[]{}|()@%,\"")]:
        with pytest.raises(InvalidValueError):
            check_object_name(name)


@pytest.mark.statement("HG-2")
def test_group_and_host_names() -> None:
    assert check_group_name("@big") == "@big"
    assert check_host_name("Node1.Example.org") == "node1.example.org"
    for name in ("big", "@", "@a@b", "@a b"):
        with pytest.raises(InvalidValueError):
            check_group_name(name)
    for name in ("", "a b", "global", "template", "-a", "a/b", "@a", "h*"):
        with pytest.raises(InvalidValueError):
            check_host_name(name)


@pytest.mark.statement("CQ-5")
def test_lists_of_names_and_pairs() -> None:
    assert split_names("a,b  c , d") == ("a", "b", "c", "d")
    assert split_names("none") == ()
    assert split_pairs("slots=4, mem_free=4G  a=b") == [("slots", "4"), ("mem_free", "4G"), ("a", "b")]
    assert join_pairs([]) == "NONE" and join_pairs([("a", "1"), ("b", "")]) == "a=1,b"
    for text in ("a", "a=", "=1", "a=1=2", "a=1,a=2"):
        with pytest.raises(InvalidValueError):
            split_pairs(text)


def test_requests() -> None:
    assert parse_requests("a=b,c=d") == [("a", "b"), ("c", "d")]
    assert parse_requests("exclusive,mem=1G,mem=2G") == [("exclusive", "TRUE"), ("mem", "2G")]
    assert parse_requests("arch=\"lx*|sol*\",x='a,b'") == [("arch", "lx*|sol*"), ("x", "a,b")]
    assert parse_requests("a=b=c") == [("a", "b=c")]
    assert parse_requests("") == []
    assert parse_requests(", a=1 b=2,,c='3 4',") == [("a", "1"), ("b", "2"), ("c", "3 4")]
    for text in ("a=", "=b", "a =1", 'a="b'):
        with pytest.raises(InvalidValueError):
            parse_requests(text)
    pairs = [("x", "a,b"), ("y", "it's"), ("z", "1")]
    assert parse_requests(format_requests(pairs)) == pairs


@pytest.mark.statement("SU-1")
def test_queue_wise_subordination() -> None:
    found = parse_subordinates("low=5,other")
    assert [(entry.queue, entry.threshold) for entry in found.queues] == [("low", 5), ("other", 0)]
    assert not found.slots
    assert str(found) == "low=5, other"
    assert str(parse_subordinates("all.q syq2=3")) == "all.q syq2=3"
    assert str(parse_subordinates("NONE")) == "NONE"


@pytest.mark.statement("SU-7", "SU-8", "SU-9", "SU-10", "SU-11")
@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("slots=2(B.q)", "slots=2(B.q:0:sr)"),
        ("slots=2(B.q:1, C.q:2)", "slots=2(B.q:1:sr, C.q:2:sr)"),
        ("slots=2(B.q:1:lr)", "slots=2(B.q:1:lr)"),
        ("slots=2( B.q:lr )", "slots=2(B.q:0:lr)"),
        ("slots=2(B.q::lr)", "slots=2(B.q:0:lr)"),
    ],
)
def test_slot_wise_subordination(text: str, printed: str) -> None:
    found = parse_subordinates(text)
    assert found.slots == 2
    assert str(found) == printed
    assert parse_subordinates(printed) == found


@pytest.mark.statement("SU-17")
@pytest.mark.parametrize(
    "text",
    [
        "slots=2(B.q",
        "slots=2(B.q:1:xx)",
        "slots=2(B.q:-1)",
        "slots=-2(B.q)",
        "slots=0(B.q)",
        "slots=2()",
        "slots=2",
        "slots=2(B.q),foo",
        "slots=2(B.q,B.q)",
        "slots=2((B.q))",
        "foo=2(B.q)",
        "B.q=-1",
        "B.q=0",
        "B.q=x",
        "B.q=5,B.q=4",
        "B.q=",
        "slots=2(B.q:1:sr:x)",
    ],
)
def test_malformed_subordinate_lists_are_refused(text: str) -> None:
    with pytest.raises(InvalidValueError):
        parse_subordinates(text)


@pytest.mark.statement("LS-7")
def test_load_formulas() -> None:
    formula = parse_load_formula("np_load_avg*2+slots-0.5-mem_used*1e-3")
    assert formula.names() == ["np_load_avg", "slots", "mem_used"]
    assert formula.evaluate({"np_load_avg": 1.5, "slots": 4, "mem_used": 1000}) == pytest.approx(5.5)
    assert parse_load_formula("2").evaluate({}) == 2
    assert parse_load_formula("-slots+9").evaluate({"slots": 4}) == 5
    assert parse_load_formula("+slots").evaluate({"slots": 4}) == 4
    assert str(formula) == "np_load_avg*2+slots-0.5-mem_used*1e-3"
    assert parse_load_formula("-slots+2").evaluate({"slots": 5}) == -3
    wrong = ("none", "", "-", "--slots", "load_avg - 2*load_avg", "np_load_avg*x", "2*np_load_avg", "a+", "+-a", "a**2", "a*2*3")
    for text in wrong:
        with pytest.raises(InvalidValueError):
            parse_load_formula(text)


@pytest.mark.statement("RQ-5")
def test_dynamic_limits() -> None:
    formula = parse_dynamic_limit("$num_proc*2+1")
    assert formula.evaluate({"num_proc": 4}) == 9
    for text in ("num_proc*2", "$num_proc*$slots", "--$num_proc", "$"):
        with pytest.raises(InvalidValueError):
            parse_dynamic_limit(text)
