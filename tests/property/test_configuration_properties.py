"""Configuration objects: a printed object reads the same, and no text raises anything but ConfigError."""

from string import ascii_lowercase, digits
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gridengine.config import KINDS, ConfigObject
from gridengine.errors import ConfigError
from gridengine.syntax.object_file import format_complex_table, format_object, parse_objects


def characters(of: str, least: int, most: int) -> st.SearchStrategy[str]:
    """Strings of these characters; one of a regular expression takes ten times as long to draw."""
    return st.text(of, min_size=least, max_size=most)


def no_keyword(name: str) -> bool:
    return name not in ("none", "template", "global", "unknown", "default", "all")


FIRST = characters(ascii_lowercase, 1, 1)
NAMES = st.tuples(FIRST, characters(f"{ascii_lowercase}{digits}._-", 0, 11)).map("".join).filter(no_keyword)
DOMAINS = st.one_of(st.just(""), characters(ascii_lowercase, 1, 5).map(".".__add__))
HOSTS = st.tuples(FIRST, characters(ascii_lowercase + digits, 0, 8), DOMAINS).map("".join).filter(no_keyword)
NUMBERS = st.integers(0, 9999999).map(str)
TIMES = st.one_of(NUMBERS, st.sampled_from(["INFINITY", "1::1", "24:0:10", "0x10"]))
FINITE_TIMES = st.one_of(NUMBERS, st.sampled_from(["::5", "00:00:60"]))
MEMORY = st.builds(lambda number, suffix: f"{number}{suffix}", NUMBERS, st.sampled_from(["", "k", "K", "M", "G", "T"]))
BOOLEANS = st.sampled_from(["TRUE", "FALSE", "true", "0", "y"])
COMMANDS = st.one_of(
    st.just("NONE"),
    st.lists(characters("".join(map(chr, {*range(33, 127)} - {*b"$\\[]"})), 1, 30), max_size=9)
    .map(lambda arguments: " ".join(["/bin/x", *arguments]))
    # a comma at the end begins another value
    .filter(lambda text: not text.endswith(",")),
)


def lists(names: st.SearchStrategy[str], separator: str = " ") -> st.SearchStrategy[str]:
    return st.one_of(st.just("NONE"), st.lists(names, min_size=1, max_size=30, unique=True).map(separator.join))


PAIRS = st.one_of(
    st.just("NONE"),
    st.dictionaries(NAMES, NUMBERS, min_size=1, max_size=20).map(
        lambda pairs: ",".join(f"{name}={value}" for name, value in pairs.items())
    ),
)
IDENTIFIERS = st.one_of(HOSTS, NAMES.map(lambda name: f"@{name}"))


def overridden(values: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    tuples = st.dictionaries(IDENTIFIERS, values, max_size=6)
    return st.builds(
        lambda default, found: ",".join([default, *(f"[{name}={value}]" for name, value in found.items())]),
        values,
        tuples,
    )


VALUES: dict[str, dict[str, st.SearchStrategy[str]]] = {
    "cluster_queue": {
        "qname": NAMES,
        "hostlist": lists(IDENTIFIERS),
        "seq_no": overridden(NUMBERS),
        "load_thresholds": overridden(PAIRS),
        "qtype": overridden(st.sampled_from(["NONE", "BATCH", "interactive batch"])),
        "pe_list": overridden(lists(NAMES)),
        "rerun": overridden(BOOLEANS),
        "prolog": overridden(COMMANDS),
        "notify": overridden(FINITE_TIMES),
        "user_lists": overridden(lists(NAMES, ",")),
        "complex_values": overridden(PAIRS),
        "h_rt": overridden(TIMES),
        "h_vmem": overridden(MEMORY),
        "subordinate_list": overridden(
            st.one_of(
                st.just("NONE"),
                st.lists(NAMES, min_size=1, max_size=4, unique=True).map(lambda names: f"slots=3(S{',S'.join(names)})"),
            )
        ),
    },
    "host_group": {"group_name": NAMES.map(lambda name: f"@{name}"), "hostlist": lists(IDENTIFIERS)},
    "exec_host": {"hostname": HOSTS, "complex_values": PAIRS, "load_scaling": PAIRS, "report_variables": lists(NAMES)},
    "parallel_environment": {
        "pe_name": NAMES,
        "slots": NUMBERS,
        "start_proc_args": COMMANDS,
        "user_lists": lists(NAMES),
    },
    "checkpoint": {"ckpt_name": NAMES, "ckpt_command": COMMANDS, "when": st.sampled_from(["s", "xs", "mxr", "none"])},
    "calendar": {
        "calendar_name": NAMES,
        "week": st.lists(
            st.sampled_from(["mon-fri=6-20", "sat-mon", "12-11=on", "tue=0-24=suspended"]), max_size=12
        ).map(lambda parts: " ".join(parts) or "NONE"),
        "year": st.lists(st.dates().filter(lambda day: 1970 <= day.year <= 2037), max_size=20).map(
            lambda days: ",".join(f"{day.day}.{day.month}.{day.year}" for day in days) or "NONE"
        ),
    },
    "userset": {"name": NAMES, "entries": lists(IDENTIFIERS, ",")},
    "user": {"name": NAMES, "fshare": NUMBERS, "default_project": NAMES},
    "project": {"name": NAMES, "acl": lists(NAMES), "oticket": NUMBERS},
    "scheduler": {
        "load_formula": st.lists(NAMES.filter(lambda name: "-" not in name), min_size=1).map("+".join),
        "weight_user": NUMBERS,
        "job_load_adjustments": PAIRS,
    },
    "configuration": {
        "prolog": COMMANDS,
        "user_lists": lists(NAMES),
        "qmaster_params": PAIRS,
        "max_u_jobs": NUMBERS,
    },
    "resource_quota": {
        "name": NAMES,
        "description": st.lists(NAMES, max_size=20).map(lambda arguments: f'"{" ".join(arguments)}"' if arguments else "NONE"),
        "limit": st.lists(
            st.builds(
                lambda users, hosts, limit: f"users {users} hosts {{{hosts}}} to {limit}",
                st.lists(NAMES, min_size=1, max_size=9, unique=True).map(",".join),
                st.lists(IDENTIFIERS, min_size=1, max_size=9, unique=True).map(",!".join),
                PAIRS.filter(lambda text: text != "NONE"),
            ),
            min_size=1,
            max_size=4,
        ).map("\n".join),
    },
}


@st.composite
def objects(draw: st.DrawFn, kind: str) -> ConfigObject:
    """A valid object of this kind, most of its attributes drawn."""
    model = KINDS[kind]
    attributes: dict[str, Any] = dict(model.template().attributes())
    for attribute, values in VALUES[kind].items():
        attributes[attribute] = draw(values)
    return model.from_attributes(attributes)


@pytest.mark.statement("OB-2", "CQ-27", "QF-27")
@pytest.mark.parametrize("kind", VALUES)
@settings(max_examples=40, deadline=None)
@given(data=st.data(), single_line=st.booleans())
def test_printed_value_reads_the_same(kind: str, data: st.DataObject, single_line: bool) -> None:
    made = data.draw(objects(kind))
    text = format_object(kind, made.attributes(), single_line=single_line)
    assert all(
        len(line) <= 80 or ", " in line or " " not in line[40:80] for line in text.split("\n") if not single_line
    )
    (entries,) = parse_objects(kind, text)
    again = KINDS[kind].parse(entries)
    assert again.attributes() == made.attributes()
    assert KINDS[kind].from_attributes(made.attributes()).attributes() == made.attributes()
    assert format_object(kind, again.attributes(), single_line=single_line) == text


@pytest.mark.statement("CX-1", "OB-2")
@settings(max_examples=40, deadline=None)
@given(
    rows=st.dictionaries(
        NAMES,
        st.sampled_from(["INT <= YES YES 1", "STRING == NO NO NONE", "BOOL EXCL YES YES 0", "TIME > FORCED NO 0:0:0"]),
        max_size=9,
    )
)
def test_the_complex_table_reads_the_same(rows: dict[str, str]) -> None:
    source = "\n".join(f"{name} {name} {columns} 0" for name, columns in rows.items())
    made = [KINDS["complex"].parse(row) for row in parse_objects("complex", source)]
    table = format_complex_table(entry.attributes() for entry in made)
    assert [KINDS["complex"].parse(row) for row in parse_objects("complex", table)] == made


def mutated(text: str, cuts: list[tuple[int, int, str]]) -> str:
    for place, length, put in cuts:
        start = place % (len(text) + 1)
        text = text[:start] + put + text[start + length :]
    return text


SOURCES = {
    kind: format_object(kind, model.template("@a" if kind == "host_group" else "a").attributes())
    for kind, model in KINDS.items()
    if kind not in ("admin_host", "submit_host", "manager", "operator")
}


@pytest.mark.statement("QF-38")
@pytest.mark.parametrize("kind", SOURCES)
@settings(max_examples=80, deadline=None)
@given(
    cuts=st.lists(
        st.tuples(
            st.integers(0, 5000),
            st.integers(0, 20),
            st.one_of(
                st.text(max_size=8), st.sampled_from("[ ] , = ( ) { } \\ \n # @ ! & | : $ - NONE 0x \x00".split(" "))
            ),
        ),
        min_size=1,
        max_size=4,
    )
)
def test_mutated_files_give_an_object_or_name_what_is_wrong(kind: str, cuts: list[tuple[int, int, str]]) -> None:
    text = mutated(SOURCES[kind], cuts)
    try:
        for entries in parse_objects(kind, text):
            made = KINDS[kind].parse(entries)
            assert KINDS[kind].from_attributes(made.attributes()).attributes() == made.attributes()
            assert made.references() is not None
    except ConfigError as error:
        assert error.kind == kind
        assert error.reason and "Error" not in error.reason and "Traceback" not in error.reason


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_any_value_of_any_attribute_is_taken_or_refused_by_name(kind: str, data: st.DataObject) -> None:
    model = KINDS[kind]
    attributes = dict(model.template().attributes())
    attribute = data.draw(st.sampled_from(list(model.model_fields)))
    attributes[attribute] = data.draw(st.one_of(st.text(max_size=30), st.text("ab@[]=,()!:$\\ 0-9.\n", max_size=40)))
    try:
        made = model.from_attributes(attributes)
    except ConfigError as error:
        assert error.reason
        return
    assert model.from_attributes(made.attributes()).attributes() == made.attributes()
    (again,) = parse_objects(kind, format_object(kind, made.attributes()))
    assert model.parse(again).attributes() == made.attributes()
