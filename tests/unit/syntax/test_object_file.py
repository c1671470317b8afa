"""Configuration files: reading, columns and line breaking; expected texts are those of the real 8.1.9."""

import pytest

from gridengine.errors import ConfigError
from gridengine.syntax.object_file import (
    format_complex_table,
    format_object,
    parse,
    parse_complex_table,
    parse_objects,
    parse_quota_sets,
    parse_share_tree,
)


@pytest.mark.statement("CQ-26", "OB-1")
def test_a_backslash_continues_a_line() -> None:
    text = "group_name @a\nhostlist g1 g2 \\\n   g3 \\  \n\tg4\n"
    assert parse(text) == [("group_name", "@a", 1), ("hostlist", "g1 g2 g3 g4", 2)]


def test_comments_empty_lines_and_missing_values() -> None:
    text = "# a comment\n\n  # another\nprolog /x#y #z\nepilog\n\n"
    assert parse(text) == [("prolog", "/x#y #z", 4), ("epilog", "", 5)]


def test_a_backslash_on_the_last_line_does_no_harm() -> None:
    assert parse("hostlist g1 \\") == [("hostlist", "g1", 1)]
    assert parse("hostlist g1 \\\n\\\n  g2\nx y") == [("hostlist", "g1 g2", 1), ("x", "y", 4)]


@pytest.mark.statement("CQ-27", "HG-1")
def test_a_host_group_of_forty_members() -> None:
    members = [f"@sygroup{number:02d}" for number in range(1, 41)]
    attributes = {"group_name": "@syall", "hostlist": " ".join(members)}
    lines = format_object("host_group", attributes).split("\n")
    assert lines[:3] == [
        "group_name @syall",
        "hostlist @sygroup01 @sygroup02 @sygroup03 @sygroup04 @sygroup05 @sygroup06 \\",
        "         @sygroup07 @sygroup08 @sygroup09 @sygroup10 @sygroup11 @sygroup12 \\",
    ]
    assert lines[-2:] == ["         @sygroup37 @sygroup38 @sygroup39 @sygroup40", ""]
    assert format_object("host_group", attributes, single_line=True).split("\n")[1] == "hostlist " + " ".join(members)


@pytest.mark.statement("CQ-27", "QC-42")
def test_a_queue_with_overrides() -> None:
    attributes = {
        "qname": "syq",
        "seq_no": "0," + ",".join(f"[@sygroup{number:02d}={number}]" for number in range(1, 7)),
        "load_thresholds": "np_load_avg=1.75,load_short=2,mem_free=1G,swap_used=2G,virtual_free=3G,load_long=4,"
        "[@sygroup01=np_load_avg=2.0,load_short=3],[g1=np_load_avg=3]",
        "prolog": "/usr/bin/very/long/path/to/prolog/script with some arguments $job_id $job_name $host $queue and "
        "more "
        "arguments",
        "user_lists": "arusers deadlineusers,[@sygroup01=arusers deadlineusers],[g1=arusers deadlineusers]",
    }
    assert (
        format_object("cluster_queue", attributes)
        == r"""qname                 syq
seq_no                0,[@sygroup01=1],[@sygroup02=2],[@sygroup03=3], \
                      [@sygroup04=4],[@sygroup05=5],[@sygroup06=6]
load_thresholds       np_load_avg=1.75,load_short=2,mem_free=1G,swap_used=2G, \
                      virtual_free=3G,load_long=4,[@sygroup01=np_load_avg=2.0, \
                      load_short=3],[g1=np_load_avg=3]
prolog                /usr/bin/very/long/path/to/prolog/script with some \
                      arguments $job_id $job_name $host $queue and more \
                      arguments
user_lists            arusers deadlineusers,[@sygroup01=arusers \
                      deadlineusers],[g1=arusers deadlineusers]
"""
    )


@pytest.mark.statement("CQ-27")
@pytest.mark.parametrize(
    ("value", "printed"),
    [
        ("/" + "x" * 49 + " 2345678", ["/" + "x" * 49 + " 2345678"]),
        ("/" + "x" * 50 + " 2345678", ["/" + "x" * 50 + " \\", "2345678"]),
        ("/" + "x" * 50 + ",2345678", ["/" + "x" * 50 + ", \\", "2345678"]),
        ("/" + "y" * 100, ["/" + "y" * 100]),
        ("/" + "z" * 100 + " abc", ["/" + "z" * 100 + " \\", "abc"]),
        ("/" + "x" * 53 + ",2 345 678", ["/" + "x" * 53 + ",2 \\", "345 678"]),
        ("/" + "x" * 54 + ",2 345 678", ["/" + "x" * 54 + ", \\", "2 345 678"]),
    ],
)
def test_where_lines_break(value: str, printed: list[str]) -> None:
    text = format_object("cluster_queue", {"prolog": value})
    assert text == "prolog" + " " * 16 + f"\n{' ' * 22}".join(printed) + "\n"
    assert parse(text) == [("prolog", value, 1)]


@pytest.mark.statement("OB-2")
@pytest.mark.parametrize(
    "value", ["a, b  c,d " * 20 + "e", "a,b," * 40 + "c", "/x  y " * 30 + "z", "a" * 70 + " , b " * 9 + "c"]
)
def test_printed_value_reads_the_same(value: str) -> None:
    assert parse(format_object("cluster_queue", {"prolog": value})) == [("prolog", value, 1)]


@pytest.mark.parametrize(
    ("kind", "attribute", "head"),
    [
        ("cluster_queue", "slots", "slots" + " " * 17),
        ("parallel_environment", "accounting_summary", "accounting_summary "),
        ("scheduler", "params", "params" + " " * 28),
        ("configuration", "mailer", "mailer" + " " * 23),
        ("exec_host", "hostname", "hostname" + " " * 14),
        ("userset", "name", "name    "),
        ("checkpoint", "when", "when" + " " * 15),
        ("calendar", "week", "week" + " " * 13),
        ("project", "acl", "acl "),
        ("user", "fshare", "fshare "),
    ],
)
def test_the_name_column_of_each_kind(kind: str, attribute: str, head: str) -> None:
    assert format_object(kind, {attribute: "x"}).split("\n")[0] == head + "x"


@pytest.mark.statement("GC-1")
def test_a_configuration_names_its_host_and_ends_in_an_empty_line() -> None:
    text = format_object("configuration", {"mailer": "/bin/mail"}, name="g3")
    assert text == "#g3:\nmailer                       /bin/mail\n\n"
    assert parse(text) == [("mailer", "/bin/mail", 2)]


@pytest.mark.statement("CX-1")
def test_the_complex_table() -> None:
    columns = "name shortcut type relop requestable consumable default urgency".split()
    rows = [
        dict(zip(columns, line.split(), strict=True))
        for line in (
            "arch a STRING == YES NO NONE 0",
            "syveryveryverylongcomplexattributename syveryverylongshortcut RESTRING == FORCED NO NONE 1234567",
            "syc1 sc1 BOOL EXCL YES YES 0 0",
        )
    ]
    text = format_complex_table(rows)
    head, line, *entries = text.split("\n")[:-2]
    assert head.endswith("type        relop   requestable consumable default  urgency    ") and line == f"#{'-' * 130}"
    assert [" ".join(entry.split(" ", 1)[1].split()) for entry in entries[:1]] == ["a STRING == YES NO NONE 0"]
    assert [entry.index(token) for entry, token in zip(entries, ("STRING", "RESTRING", "BOOL"), strict=True)] == [68] * 3
    assert [entry.index(token) for entry, token in zip(entries, ("YES", "FORCED", "YES"), strict=True)] == [88] * 3
    assert [{name: value for name, value, _ in row} for row in parse_complex_table(text)] == rows


@pytest.mark.statement("CX-1")
def test_a_complex_line_with_other_than_eight_columns_is_refused() -> None:
    with pytest.raises(ConfigError, match='line 2: complex "t_a": the line has 6') as caught:
        parse_complex_table("# c\nt_a t_a INT <= YES NO\n")
    assert caught.value.line == 2


@pytest.mark.statement("RQ-1")
def test_quota_sets() -> None:
    text = """{
   name         syr2
   description  NONE
   enabled      FALSE
   limit        name a users {user1,user2} hosts {@lx_host} to virtual_free=6g
   limit        users {*} projects p1,p2 pes * queues q2,!q1 hosts {@lx_host} \\
   to virtual_free=4g,slots=$num_proc*2
   limit        to slots=3
}
"""
    (block,) = parse_quota_sets(text)
    assert [entry[0] for entry in block] == ["name", "description", "enabled", "limit", "limit", "limit"]
    assert block[-1] == ("limit", "to slots=3", 8)
    attributes = {name: value for name, value, _ in block if name != "limit"}
    attributes["limit"] = "\n".join(value for name, value, _ in block if name == "limit")
    assert format_object("resource_quota", attributes) == text


@pytest.mark.statement("RQ-12")
@pytest.mark.parametrize(("text", "line"), [("name a\nlimit to slots=1\n", 1), ("\n{\nname a\nlimit to slots=1\n", 2)])
def test_quota_sets_without_braces_are_refused(text: str, line: int) -> None:
    with pytest.raises(ConfigError, match="[{}]") as caught:
        parse_quota_sets(text)
    assert caught.value.line == line


def test_share_tree_lines() -> None:
    assert parse_share_tree("id=0\nname=Root\n") == [("id", "0", 1), ("name", "Root", 2)]
    with pytest.raises(ConfigError, match="attribute=value"):
        parse_share_tree("id 0\n")


def test_objects_by_kind() -> None:
    assert len(parse_objects("resource_quota", "{\nname a\n}\n{\nname b\n}\n")) == 2
    assert parse_objects("user", "name x\n") == [[("name", "x", 1)]]
    assert len(parse_objects("complex", "a a INT <= YES NO 0 0\nb b INT <= YES NO 0 0\n")) == 2
