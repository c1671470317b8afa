"""No attribute of any kind of object is refused in the words of a library."""

from __future__ import annotations

import re

import pytest

from gridengine.config import KINDS
from gridengine.errors import ConfigError, InvalidValueError

LIBRARIES = re.compile(r"value error|input should|field required|errno|pydantic|assertion|traceback", re.IGNORECASE)
WRONG = ("abc", "-1", "", "x y", "a=b=c", "\x01", "9" * 30, "nan", "@", "[h=1", "/a b", "$x")


@pytest.mark.statement("CQ-34", "CX-13")
@pytest.mark.parametrize("kind", sorted(KINDS))
def test_refusals_have_our_own_texts(kind: str) -> None:
    model = KINDS[kind]
    template = model.template("x").attributes()
    refusals = 0
    for attribute in template:
        without = {name: text for name, text in template.items() if name != attribute}
        for attributes in (without, {**template, "nosuch": "1"}, *({**template, attribute: text} for text in WRONG)):
            try:
                model.from_attributes(attributes)
            except (ConfigError, InvalidValueError) as refusal:
                refusals += 1
                assert not LIBRARIES.search(str(refusal)), (attribute, str(refusal))
    assert refusals or kind == "configuration", "what is optional there is left out"
