"""Resource maps: the units of a text, their print form, and the sentence about each fault."""

import pytest

from gridengine.errors import InvalidValueError
from gridengine.syntax.lists import join_pairs, split_pairs
from gridengine.syntax.object_file import format_object, parse
from gridengine.syntax.resource_map import MAX_UNITS, amount_text, canonical_map, format_map, parse_map

WRONG = {
    "": 'the amount of units is not a whole number: ""',
    "x": 'the amount of units is not a whole number: "x"',
    "-1": 'the amount of units is not a whole number: "-1"',
    "2.5": 'the amount of units is not a whole number: "2.5"',
    "10001": "the amount of units is over 10000: 10001",
    "2(0 1": '"2(0 1" is not of the form AMOUNT(UNIT UNIT ...)',
    "2(0 1)x": '"2(0 1)x" is not of the form AMOUNT(UNIT UNIT ...)',
    "2((0 1))": '"2((0 1))" is not of the form AMOUNT(UNIT UNIT ...)',
    "3(0 1)": "the amount is 3, and the list has 2: 3(0 1)",
    "3(0:2 1:2)": "the amount is 3, and the list has 4: 3(0:2 1:2)",
    "2()": "the amount is 2, and the list has 0: 2()",
    "2(0,1)": 'the character "," is not allowed in the name of a unit: "0,1"',
    "1($(id))": '"1($(id))" is not of the form AMOUNT(UNIT UNIT ...)',
    "1($HOME)": 'the character "$" is not allowed in the name of a unit: "$HOME"',
    "1(ä)": 'the character "ä" is not allowed in the name of a unit: "ä"',
    "1(-a)": 'the name of the unit "-a" must not begin with "-"',
    "1(:2)": 'the unit ":2" has no name',
    "1(a:0)": 'the unit "a" has no shares',
    "1(a:b)": 'the number of shares of "a" is not a whole number: "b"',
    "2(3-1)": 'the range "3-1" ends before it begins',
    "2(0-999999999)": f"a list may have up to {MAX_UNITS} units",
    "2(0-99999999999)": 'an end of the range "0-99999999999" is over 999999999: 99999999999',
}


@pytest.mark.parametrize(
    "text, shares",
    [
        ("0", {}),
        ("0()", {}),
        ("2", {"0": 1, "1": 1}),
        ("2(0 1)", {"0": 1, "1": 1}),
        ("4(0-3)", {"0": 1, "1": 1, "2": 1, "3": 1}),
        ("4(0:2 1:2)", {"0": 2, "1": 2}),
        ("4(0-1:2)", {"0": 2, "1": 2}),
        ("3(b a GPU-8932f937)", {"b": 1, "a": 1, "GPU-8932f937": 1}),
        ("1(gpu0-3)", {"gpu0-3": 1}),
    ],
)
def test_a_map_gives_the_shares_of_its_units_in_order(text: str, shares: dict[str, int]) -> None:
    assert list(parse_map(text).items()) == list(shares.items())
    assert amount_text(text) == str(sum(shares.values()))


@pytest.mark.parametrize("text", WRONG)
def test_a_wrong_map_is_refused_with_the_place_and_the_reason(text: str) -> None:
    with pytest.raises(InvalidValueError) as refused:
        parse_map(text)
    assert str(refused.value) == WRONG[text]


@pytest.mark.parametrize("text", ["0", "2(0 1)", "4(0-3)", "4(0:2 1:2)", "5(a 7 0-2)", "3(01 2 3)", "1(b)"])
def test_a_printed_map_is_read_as_the_same_map(text: str) -> None:
    assert format_map(parse_map(text)) == text


def test_units_without_a_free_share_are_not_printed() -> None:
    assert format_map({"0": 0, "1": 1, "2": 0, "a": 2}) == "3(1 a:2)"


def test_blanks_within_parentheses_divide_no_list_of_pairs() -> None:
    pairs = split_pairs("gpu=2(0   1 ),h_vmem=64G mic=1( a )")
    assert pairs == [("gpu", "2(0 1)"), ("h_vmem", "64G"), ("mic", "1(a)")]
    assert split_pairs(join_pairs(pairs)) == pairs


@pytest.mark.parametrize(
    "text, reason",
    [("gpu=2(0 1", '"gpu=2(0 1" has a "(" without a ")"'), ("gpu=(2)),x=(1", '"gpu=(2)),x=(1" has a ")" without a "("')],
)
def test_parentheses_that_do_not_match_are_refused(text: str, reason: str) -> None:
    with pytest.raises(InvalidValueError) as refused:
        split_pairs(text)
    assert str(refused.value) == reason


def test_a_long_map_is_the_same_after_a_file_of_broken_lines() -> None:
    names = " ".join(f"GPU-8932f937-d72c-{number:04}" for number in range(20, 40))
    text = f"slots=8,gpu=20({names}),mic=40(0-39)"
    printed = format_object("exec_host", {"hostname": "node1", "complex_values": text}, False)
    assert len(printed.splitlines()) > 5
    _, (_, read, _) = parse(printed)
    assert join_pairs(split_pairs(read)) == text


def test_a_unit_that_is_listed_again_has_more_shares_which_the_canonical_text_shows() -> None:
    assert parse_map("4(0 0 1 1)") == {"0": 2, "1": 2}
    assert canonical_map("4(0 0 1 1)") == "4(0:2 1:2)"
    assert canonical_map("4(0-2 1)") == "4(0 1:2 2)"
    assert canonical_map("3(0 1 2)") == "3(0 1 2)" and canonical_map("4") == "4", "other maps stay as written"
