"""A fault in the shape of a request is reported in words for people."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
import pytest

from gridengine.protocols.gdi.shape_faults import shape_fault


class Sample(msgspec.Struct, forbid_unknown_fields=True):
    number: Annotated[int, msgspec.Meta(ge=-5, le=5)]
    names: Annotated[list[Annotated[str, msgspec.Meta(max_length=3)]], msgspec.Meta(max_length=2)] = []
    flag: bool = False


@pytest.mark.statement("GD-10")
@pytest.mark.parametrize(
    ("body", "text"),
    [
        ({}, 'the field "number" is missing'),
        ({"number": 1, "x": 2}, 'there is no field "x"'),
        ({"number": "a"}, "number: a whole number is expected, not a text"),
        ({"number": 9}, "number: a whole number of at most 5 is expected"),
        ({"number": -9}, "number: a whole number of at least -5 is expected"),
        ({"number": 1, "names": ["abcd"]}, "names[0]: a text of at most 3 characters is expected"),
        ({"number": 1, "names": ["a", "b", "c"]}, "names: a list of at most 2 items is expected"),
        ({"number": 1, "flag": "yes"}, "flag: true or false is expected, not a text"),
        ([], "an object is expected, not a list"),
    ],
)
def test_each_fault_names_place_and_reason(body: Any, text: str) -> None:
    with pytest.raises(msgspec.ValidationError) as raised:
        msgspec.json.decode(msgspec.json.encode(body), type=Sample)
    assert shape_fault(raised.value) == text


@pytest.mark.statement("GD-10")
@pytest.mark.parametrize(("body", "text"), [(b"{", "the request is cut off"), (b"nonsense", "the request is no JSON: ")])
def test_a_body_that_is_no_json_is_reported_as_such(body: bytes, text: str) -> None:
    with pytest.raises(msgspec.DecodeError) as raised:
        msgspec.json.decode(body, type=Sample)
    assert shape_fault(raised.value).startswith(text)


def test_messages_of_our_own_stay() -> None:
    assert shape_fault("targets may hold at most 5 names") == "targets may hold at most 5 names"
