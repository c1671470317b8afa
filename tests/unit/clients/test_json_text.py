"""JSON by the accelerator is the JSON of the standard library."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridengine import json_text

TEXT = st.text(st.characters(exclude_categories=["Cs"]))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner) | st.dictionaries(TEXT, inner),
    max_leaves=20,
)


@given(VALUES)
def test_both_ways(value: object) -> None:
    assert json_text.FAST
    encoded = json_text.encode(value)
    assert json.loads(encoded) == value
    assert json_text.decode(json.dumps(value, ensure_ascii=False).encode()) == value


@pytest.mark.parametrize("text", [b"", b"{", b"nothing", b'{"a":}', b"\xff"])
def test_texts_that_are_no_json(text: bytes) -> None:
    with pytest.raises(ValueError):
        json_text.decode(text)


def test_values_without_a_json_form() -> None:
    with pytest.raises(TypeError, match="set has no JSON form"):
        json_text.encode({"a": {1}})
    with pytest.raises(ValueError):
        json_text.encode(float("nan"))
