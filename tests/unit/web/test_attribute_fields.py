"""Fields of attributes: each attribute of each model has a group, help and a control, and typed values stay as they were."""

from __future__ import annotations

from typing import Any

import pytest

from daemons.web.pages.attribute_fields import as_html, field_of, fields_of, named_kinds
from gridengine.config import KINDS
from gridengine.config.attribute_help import help_of
from gridengine.kinds import KIND
from tests.unit.web.followed import Followed

OBJECT_KINDS = [kind for kind in KINDS if not KIND[kind].bare]


@pytest.mark.statement("GU-2")
@pytest.mark.parametrize("kind", OBJECT_KINDS)
def test_each_attribute_of_a_kind_has_one_field_in_a_group_with_help(followed: Followed, kind: str) -> None:
    values = KINDS[kind].template("x").attributes()
    groups = fields_of(followed.cell.state, kind, values, {}, as_text=False)
    fields = [field for group in groups.values() for field in group]
    assert sorted(field.name for field in fields) == sorted(values)
    assert all(field.help for field in fields)
    assert {field.name: field.value for field in fields} == values
    assert all(group for group in groups)


def test_each_attribute_of_a_queue_has_a_form_of_values() -> None:
    forms = {name: attribute.form.name for name, attribute in KINDS["cluster_queue"].attribute_types().items()}
    assert forms.keys() == help_of("cluster_queue").keys()
    assert [name for name, form in forms.items() if form == "text"] == []
    assert {forms[name] for name in forms if name[:2] in ("s_", "h_")} == {"time", "memory"}


@pytest.mark.parametrize("kind", OBJECT_KINDS)
def test_the_constants_of_an_attribute_are_values_that_its_check_accepts(kind: str) -> None:
    for name, attribute in KINDS[kind].attribute_types().items():
        for constant in attribute.form.constants:
            assert attribute.check(constant).lower() == constant.lower(), (name, constant)


@pytest.mark.parametrize(
    ("name", "value", "control"),
    [
        ("rerun", "TRUE", "switch"),
        ("rerun", "TRUE,[h1=FALSE]", "line"),
        ("shell_start_mode", "unix_behavior", "select"),
        ("shell_start_mode", "no such mode", "line"),
        ("slots", "16,[h2=12]", "line"),
        ("pe_list", "a" * 70, "area"),
    ],
)
def test_a_control_shows_each_value_as_it_is(followed: Followed, name: str, value: str, control: str) -> None:
    field = field_of(followed.cell.state, "cluster_queue", name, value)
    assert (field.control, field.value) == (control, value)
    assert field_of(followed.cell.state, "cluster_queue", name, value, as_text=True).control in ("line", "area")


@pytest.mark.parametrize(
    ("kind", "name", "named"),
    [
        ("cluster_queue", "pe_list", ["parallel_environment"]),
        ("cluster_queue", "ckpt_list", ["checkpoint"]),
        ("cluster_queue", "calendar", ["calendar"]),
        ("cluster_queue", "user_lists", ["userset"]),
        ("cluster_queue", "xprojects", ["project"]),
        ("cluster_queue", "hostlist", ["exec_host", "host_group"]),
        ("cluster_queue", "complex_values", ["complex"]),
        ("cluster_queue", "subordinate_list", ["cluster_queue"]),
        ("cluster_queue", "slots", []),
        ("exec_host", "load_scaling", ["complex"]),
        ("configuration", "user_lists", ["userset"]),
        ("project", "acl", ["userset"]),
    ],
)
def test_objects_that_a_value_may_name_are_suggested(followed: Followed, kind: str, name: str, named: list[str]) -> None:
    assert sorted(named_kinds(kind, name)) == named
    options: Any = field_of(followed.cell.state, kind, name, "").options
    for other in named:
        names = set(followed.cell.state.kind(other)) - {"global", "template"}
        assert names <= set(options)


def test_help_is_html_with_code_and_without_markup_of_others() -> None:
    assert as_html("Times `<b>`, see [sge_conf](sge_conf.md).") == "Times <code>&lt;b&gt;</code>, see sge_conf."
