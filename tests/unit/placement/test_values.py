"""Typed values, relations and print forms."""

from __future__ import annotations

import pytest

from gridengine.config.complexes import value_of
from gridengine.errors import InvalidValueError
from gridengine.placement.demand import Demand
from gridengine.placement.placement_request import request_fault
from gridengine.placement.values import Value, format_value, reported_value, request_text, requested_amount, stricter, typed_value
from gridengine.state.configured.objects import ComplexEntry


def entry(kind: str, relop: str = "==", requestable: str = "YES", consumable: str = "NO") -> ComplexEntry:
    return ComplexEntry("attr", "a", kind, relop, requestable, consumable, "0", 0.0)


@pytest.mark.statement("CX-35", "ST-8")
@pytest.mark.parametrize(
    ("kind", "text", "in_qstat", "in_qhost"),
    [
        ("MEMORY", "23906.3M", "23.346G", "23.346G"),
        ("MEMORY", "0", "0.000", "0.000"),
        ("INT", "2", "2", "2.000000"),
        ("INT", "2.5", "2.500000", "2.500000"),
        ("DOUBLE", "0.092285", "0.092285", "0.092285"),
        ("BOOL", "TRUE", "1.000000", "1.000000"),
        ("TIME", "0:5:0", "00:05:00", "00:05:00"),
        ("TIME", "INFINITY", "infinity", "infinity"),
        ("STRING", "lx-amd64", "lx-amd64", "lx-amd64"),
    ],
)
def test_print_forms(kind: str, text: str, in_qstat: str, in_qhost: str) -> None:
    value = typed_value(kind, text)
    assert format_value(kind, value) == in_qstat
    assert format_value(kind, value, whole=False) == in_qhost


def test_negative_availability_is_printed() -> None:
    assert format_value("INT", -3.0) == "-3"
    assert format_value("MEMORY", -2.0 * 2**30) == "-2.000G"
    assert [format_value("TIME", seconds) for seconds in (-60.0, 0.0, 60.0)] == ["-00:01:00", "00:00:00", "00:01:00"]


@pytest.mark.statement("CX-7", "CX-24", "X-5")
@pytest.mark.parametrize(
    ("relop", "request_text", "suits"),
    [
        ("==", "5", [5]),
        ("!=", "5", [4, 6]),
        ("<", "5", [6]),
        ("<=", "5", [5, 6]),
        (">", "5", [4]),
        (">=", "5", [4, 5]),
    ],
)
def test_request_relation_value(relop: str, request_text: str, suits: list[int]) -> None:
    demand = Demand(entry("INT", relop), request_text)
    assert [value for value in (4, 5, 6) if demand.accepts(float(value))] == suits


@pytest.mark.statement("CX-24")
def test_ten_against_twenty() -> None:
    assert Demand(entry("INT", "<="), "10").accepts(20.0)
    assert not Demand(entry("INT", ">="), "10").accepts(20.0)


ARCHITECTURES = (
    "lx24-x86 lx24-amd64 lx22-x86 lx26-x86 lx25-x86 lx23-x86 sol-sparc sol-sparc64 sol-x86 sol-x64 lx2[4 6]-x86 aix51"
).split()


@pytest.mark.statement("CX-53", "CX-54", "X-6")
@pytest.mark.parametrize(
    ("expression", "matches"),
    [
        ("*x24*|sol*", "lx24-x86 lx24-amd64 sol-sparc sol-sparc64 sol-x86 sol-x64"),
        ("sol-x??", "sol-x86 sol-x64"),
        ("lx2[246]-x86", "lx24-x86 lx22-x86 lx26-x86"),
        ("lx2[4-6]-x86", "lx24-x86 lx26-x86 lx25-x86"),
        ("lx2[24-6]-x86", "lx24-x86 lx22-x86 lx26-x86 lx25-x86"),
        ("lx2[4|6]-x86", "lx2[4 6]-x86"),
    ],
)
def test_arch_examples_of_the_complex_page(expression: str, matches: str) -> None:
    demand = Demand(entry("STRING"), expression)
    assert [name for name in ARCHITECTURES if demand.accepts(name)] == matches.split()


@pytest.mark.statement("CX-54")
def test_arch_example_neither_nor() -> None:
    demand = Demand(entry("STRING"), "!lx24-x86&!sol-sparc")
    assert not demand.accepts("lx24-x86") and not demand.accepts("sol-sparc") and demand.accepts("aix51")


@pytest.mark.statement("CX-55", "CX-56", "CX-57", "CX-58")
@pytest.mark.parametrize(
    ("kind", "expression", "value", "expected"),
    [
        ("STRING", "Global", "Global", True),
        ("STRING", "global", "Global", False),
        ("CSTRING", "global", "GLOBAL", True),
        ("CSTRING", "xglobal", "GLOBAL", False),
        ("HOST", "N1", "n1", True),
        ("HOST", "n1", "n1.example.org", True),
        ("HOST", "!n1", "n1", False),
        ("STRING", "n1", "n1.example.org", False),
        ("HOST", "n1.other.org", "n1", False),
        ("RESTRING", ".lobal", "global", False),
        ("RESTRING", "a+", "aa", False),
        ("RESTRING", "linux|solaris", "solaris", True),
        ("RESTRING", "[linux|solaris]", "solaris]", True),
    ],
)
def test_string_types(kind: str, expression: str, value: Value, expected: bool) -> None:
    assert Demand(entry(kind), expression).accepts(value) is expected


@pytest.mark.statement("X-5")
def test_string_relation_not_equal_turns_the_answer_round() -> None:
    assert not Demand(entry("STRING", "!="), "a*").accepts("abc")
    assert Demand(entry("STRING", "!="), "a*").accepts("xyz")


@pytest.mark.statement("CX-18")
def test_reported_garbage_is_no_value() -> None:
    assert reported_value("DOUBLE", "many") is None
    assert reported_value("INT", "7.9") == 7 and reported_value("INT", "infinity") == float("inf")
    assert reported_value("MEMORY", "2G") == 2.0 * 2**30


@pytest.mark.statement("CX-31")
def test_stricter_means_less_capacity() -> None:
    assert stricter("<=", 1, 4) and not stricter("<=", 4, 1)
    assert stricter(">=", 4, 1) and not stricter(">=", 1, 4)
    assert not stricter("==", 1, 4) and not stricter("==", 4, 1)


@pytest.mark.statement("CX-42", "CX-44", "CX-45")
def test_faulty_requests_are_named() -> None:
    assert "not requestable" in request_fault(entry("INT", "<=", "NO"), "1", soft=False)
    assert "soft" in request_fault(entry("INT", "<=", "YES", "YES"), "1", soft=True)
    assert request_fault(entry("INT", "<=", "YES", "YES"), "-1", soft=False)
    assert request_fault(entry("INT"), "1.5", soft=False)
    assert request_fault(entry("INT"), "-INFINITY", soft=False)
    assert request_fault(entry("MEMORY", "<=", "YES", "YES"), "infinity", soft=False)
    assert not request_fault(entry("MEMORY"), "infinity", soft=False)
    assert request_fault(entry("MEMORY", "<="), "4Q", soft=False)
    assert request_fault(entry("STRING"), "a&(b", soft=False)
    assert "missing" in request_fault(entry("STRING"), "", soft=False)
    assert not request_fault(entry("INT", "<=", "YES", "YES"), "3", soft=False)
    assert not request_fault(entry("DOUBLE", "<="), "1e-3", soft=False)
    assert not request_fault(entry("INT", "<=", "YES", "YES"), "0x10", soft=False)
    assert not request_fault(entry("INT", "<=", "YES", "YES"), "0", soft=False)
    assert not request_fault(entry("INT", "<=", "YES", "YES"), "1/2", soft=False)
    assert not request_fault(entry("DOUBLE", "<=", "YES", "YES"), "0.5", soft=False)
    assert not request_fault(entry("BOOL"), "", soft=False)


@pytest.mark.statement("CX-4", "CX-24")
def test_placement_can_read_every_value_that_the_gate_accepts() -> None:
    for kind in ("INT", "DOUBLE", "TIME", "MEMORY", "BOOL"):
        for text in ("1", "0x10", "010", "1k", "2T", "1e3", "1:0:0", "INFINITY", "-3", "true", "yes"):
            try:
                value = value_of(kind, text)
            except InvalidValueError:
                continue
            assert typed_value(kind, text) == value


@pytest.mark.statement("CX-4")
def test_a_flag_without_a_value_is_set() -> None:
    assert [typed_value("BOOL", text) for text in ("", "TRUE", "0")] == [1, 1, 0]


@pytest.mark.statement("AR-126")
def test_only_of_a_consumable_an_amount_is_shared_by_slots() -> None:
    assert requested_amount(entry("MEMORY", "<=", consumable="YES"), "1G/4") == 2**28
    with pytest.raises(InvalidValueError):
        requested_amount(entry("MEMORY", "<="), "1G/4")


@pytest.mark.statement("ST-18")
@pytest.mark.parametrize(
    ("kind", "text", "shown"),
    [
        ("TIME", "1:0:0", "3600"), ("TIME", "90", "90"), ("TIME", "INFINITY", "INFINITY"), ("TIME", "infinity", "infinity"),
        ("MEMORY", "1G", "1G"), ("INT", "0x10", "0x10"), ("STRING", "1:0:0", "1:0:0"),
    ],
)
def test_a_requested_time_is_listed_in_seconds_the_others_as_given(kind: str, text: str, shown: str) -> None:
    assert request_text(kind, text) == shown
