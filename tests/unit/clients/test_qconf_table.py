"""The table of functions for the verbs of qconf: each row has a function, and each verb of an option a row."""

from __future__ import annotations

from functools import reduce
from typing import Any

import pytest

from clients import configure, qconf
from gridengine.options.configuration import CONFIGURATION_OPTIONS


@pytest.mark.parametrize("verb", qconf.HANDLERS)
def test_each_row_calls_a_function_that_exists(verb: str) -> None:
    package, *names = qconf.HANDLERS[verb].__code__.co_names
    if package == "configure" and len(names) == 1:  # a name is there once: configure.show.show
        names *= 2
    assert callable(reduce(getattr, names, getattr(qconf, package)))


def test_each_verb_of_an_option_has_a_row_and_no_row_is_left_over() -> None:
    target: dict[str, Any] = {}
    for option in CONFIGURATION_OPTIONS:
        option.apply(target, ["x", "y", "z"], "")
    verbs = {verb for verb, kind, _ in target["actions"] if kind not in ("attribute", "attribute_file")}
    assert verbs == set(qconf.HANDLERS)


def test_a_module_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'sharetree'"):
        getattr(configure, "sharetree")  # noqa: B009
