"""Hosts, groups, users, projects, usersets, PEs, checkpoints, calendars, quota sets, share tree."""

import pytest

from gridengine.config import KINDS
from gridengine.config.access import Userset, check_departments
from gridengine.config.share_tree import ShareTreeObject
from gridengine.errors import ConfigError
from gridengine.syntax.object_file import format_object, parse, parse_objects


def read(kind: str, text: str) -> str:
    """The output of qconf after the object was added from this text."""
    (entries,) = parse_objects(kind, text)
    return format_object(kind, KINDS[kind].parse(entries).attributes())


def changed(kind: str, name: str, attribute: str, text: str) -> str:
    """The printed value of one attribute; all other attributes are as in the template."""
    model = KINDS[kind]
    attributes = {**model.template(name).attributes(), attribute: text}
    return model.from_attributes(attributes).attributes()[attribute]


def refused(kind: str, name: str, attribute: str, text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        changed(kind, name, attribute, text)
    assert caught.value.attribute == attribute


TEMPLATES = {
    "user": "name template\noticket 0\nfshare 0\ndelete_time 0\ndefault_project NONE\n",
    "project": "name template\noticket 0\nfshare 0\nacl NONE\nxacl NONE\n",
    "host_group": "group_name template\nhostlist NONE\n",
    "exec_host": """hostname              template
load_scaling          NONE
complex_values        NONE
user_lists            NONE
xuser_lists           NONE
projects              NONE
xprojects             NONE
usage_scaling         NONE
report_variables      NONE
""",
    "parallel_environment": """pe_name            template
slots              0
user_lists         NONE
xuser_lists        NONE
start_proc_args    NONE
stop_proc_args     NONE
allocation_rule    $pe_slots
control_slaves     FALSE
job_is_first_task  TRUE
urgency_slots      min
accounting_summary FALSE
qsort_args         NONE
""",
    "checkpoint": """ckpt_name          template
interface          userdefined
ckpt_command       none
migr_command       none
restart_command    none
clean_command      none
ckpt_dir           /tmp
signal             none
when               sx
""",
    "calendar": "calendar_name    template\nyear             NONE\nweek             NONE\n",
    "userset": "name    template\ntype    ACL\nfshare  0\noticket 0\nentries NONE\n",
    "resource_quota": """{
   name         template
   description  NONE
   enabled      FALSE
   limit        to slots=0
}
""",
    "share_tree": "id=0\nname=template\ntype=0\nshares=0\nchildnodes=NONE\n",
}


@pytest.mark.statement("PE-1", "CK-1", "US-1", "US-2", "US-3", "CA-1", "RQ-1", "HG-1")
@pytest.mark.parametrize("kind", TEMPLATES)
def test_templates_are_those_that_qconf_opens(kind: str) -> None:
    assert format_object(kind, KINDS[kind].template().attributes()) == TEMPLATES[kind]


@pytest.mark.statement("HG-1", "HG-2", "X-1")
def test_host_groups() -> None:
    text = "group_name @bigMachines\nhostlist @solaris64 @solaris32 fangorn,Balrog fangorn\n"
    assert read("host_group", text) == "group_name @bigMachines\nhostlist @solaris64 @solaris32 fangorn balrog\n"
    assert read("host_group", "group_name @a\nhostname h1\n") == "group_name @a\nhostlist h1\n"
    group = KINDS["host_group"].parse(parse(text))
    assert ("host_group", "@solaris64") in group.references() and ("exec_host", "fangorn") in group.references()
    refused("host_group", "@a", "group_name", "big")
    refused("host_group", "@a", "hostlist", "a/b")
    with pytest.raises(ConfigError, match='"hostlist": the attribute is missing'):
        read("host_group", "group_name @a\n")


@pytest.mark.statement("LS-5", "LS-9")
def test_execution_hosts() -> None:
    assert changed("exec_host", "g3", "load_scaling", "np_load_avg=2") == "np_load_avg=2.000000"
    assert changed("exec_host", "g3", "complex_values", "slots=4, mem_free=4G") == "slots=4,mem_free=4G"
    assert changed("exec_host", "g3", "usage_scaling", "cpu=1,mem=0.5") == "cpu=1.000000,mem=0.500000"
    assert changed("exec_host", "g3", "report_variables", "cpu np_load_avg") == "cpu,np_load_avg"
    assert KINDS["exec_host"].template("global").object_name == "global"
    assert changed("exec_host", "global", "complex_values", "lic=5") == "lic=5"
    for attribute, text in (
        ("load_scaling", "np_load_avg=abc"),
        ("usage_scaling", "foo=2"),
        ("complex_values", "slots"),
        ("complex_values", "slots=4,slots=5"),
        ("hostname", "template"),
    ):
        refused("exec_host", "g3", attribute, text)
    with pytest.raises(ConfigError, match='attribute "load_values": the attribute is unknown'):
        read("exec_host", "hostname g3\nload_values a=1\n")


@pytest.mark.statement("QF-24", "QF-25")
def test_bare_names() -> None:
    assert KINDS["admin_host"].parse([("name", "G1", 0)]).attributes() == {"name": "g1"}
    assert KINDS["manager"].parse([("name", "alice", 0)]).object_name == "alice"
    with pytest.raises(ConfigError):
        KINDS["submit_host"].parse([("name", "a b", 0)])


@pytest.mark.statement("US-3")
def test_usersets() -> None:
    text = "name a\ntype dept,acl\nfshare 3\noticket 4\nentries bob,@staff carol\n"
    assert read("userset", text) == "name    a\ntype    ACL DEPT\nfshare  3\noticket 4\nentries bob,@staff,carol\n"
    userset = Userset.parse(parse(text))
    assert userset.holds("bob", "x") and userset.holds("x", "staff")
    assert not userset.holds("staff", "bob") and not userset.holds("x", "x")
    refused("userset", "a", "type", "FOO")
    refused("userset", "a", "fshare", "-1")
    refused("userset", "a", "entries", "a/b")
    for attribute in ("fshare", "oticket"):
        refused("userset", "a", attribute, "3")  # the template is no department
    with pytest.raises(ConfigError, match='"fshare": the attribute is missing'):
        read("userset", "name a\ntype ACL\n")


@pytest.mark.statement("US-4")
def test_a_user_is_in_one_department_only() -> None:
    def userset(name: str, kind: str, entries: str) -> Userset:
        return Userset.from_attributes({"name": name, "type": kind, "fshare": "0", "oticket": "0", "entries": entries})

    first = userset("d1", "DEPT", "alice,@staff")
    check_departments([first, userset("d2", "DEPT", "bob"), userset("a", "ACL", "alice")])
    with pytest.raises(ConfigError, match='"alice" is already in the department "d1"'):
        check_departments([first, userset("d2", "ACL DEPT", "alice")])
    assert userset("defaultdepartment", "DEPT", "NONE").is_department
    with pytest.raises(ConfigError, match="must not list users"):
        userset("defaultdepartment", "DEPT", "alice")


@pytest.mark.statement("US-1", "US-2")
def test_users_and_projects() -> None:
    assert changed("user", "a", "default_project", "p1") == "p1"
    user = KINDS["user"].from_attributes({**KINDS["user"].template("a").attributes(), "default_project": "p1"})
    assert user.references() == [("project", "p1")]
    assert changed("project", "p", "acl", "a,b") == "a b"
    refused("user", "a", "oticket", "abc")
    refused("user", "a", "name", "a@b")
    refused("project", "p", "name", "All")
    with pytest.raises(ConfigError, match="line 2: .*given twice"):
        KINDS["user"].parse(parse("name a\nname b\n"))


@pytest.mark.statement("PE-1", "PE-3", "PE-4", "PE-5", "PE-6", "PE-11", "PE-12", "PE-13", "CQ-37")
def test_parallel_environments() -> None:
    kind = "parallel_environment"
    for attribute, text, printed in (
        ("slots", "0", "0"),
        ("allocation_rule", "4", "4"),
        ("allocation_rule", "$fill_up", "$fill_up"),
        ("allocation_rule", "$round_robin", "$round_robin"),
        ("urgency_slots", "MAX", "max"),
        ("urgency_slots", "7", "7"),
        ("control_slaves", "true", "TRUE"),
        ("start_proc_args", "none", "NONE"),
        (
            "start_proc_args",
            "root@/bin/true $pe_hostfile $pe_slots $host",
            "root@/bin/true $pe_hostfile $pe_slots $host",
        ),
        ("user_lists", "a b", "a b"),
        ("qsort_args", "/lib  func arg", "/lib func arg"),
    ):
        assert changed(kind, "p", attribute, text) == printed
    for attribute, text in (
        ("slots", "-1"),
        ("slots", "10000000"),
        ("allocation_rule", "foo"),
        ("allocation_rule", "0"),
        ("allocation_rule", "-1"),
        ("allocation_rule", "$FILL_UP"),
        ("urgency_slots", "foo"),
        ("control_slaves", "maybe"),
        ("start_proc_args", "bin/true"),
        ("start_proc_args", "/bin/true $foo"),
        ("start_proc_args", ""),
        ("pe_name", "a b"),
    ):
        refused(kind, "p", attribute, text)
    with pytest.raises(ConfigError, match='attribute "queue_list": the attribute is unknown'):
        KINDS[kind].parse(parse("pe_name p\nqueue_list all\n"))


@pytest.mark.statement("CK-1", "CK-2", "CK-3", "X-15", "CQ-37")
def test_checkpointing_interfaces() -> None:
    for attribute, text, printed in (
        ("interface", "APPLICATION-LEVEL", "APPLICATION-LEVEL"),
        ("interface", "hibernator", "hibernator"),
        ("ckpt_command", "/bin/c $ckpt_dir $ckpt_signal $job_pid", "/bin/c $ckpt_dir $ckpt_signal $job_pid"),
        ("clean_command", "NONE", "NONE"),
        ("signal", "none", "none"),
        ("signal", "USR1", "USR1"),
        ("signal", "12", "12"),
        ("when", "sx", "xs"),
        ("when", "msxr", "xsmr"),
    ):
        assert changed("checkpoint", "c", attribute, text) == printed
    for attribute, text in (
        ("interface", "foo"),
        ("clean_command", "$foo"),
        ("ckpt_command", "/bin/c $foo"),
        ("signal", "FOO"),
        ("when", "xq"),
        ("ckpt_dir", "tmp"),
    ):
        refused("checkpoint", "c", attribute, text)
    with pytest.raises(ConfigError, match="queue_list"):
        KINDS["checkpoint"].parse(parse("ckpt_name c\nqueue_list all\n"))


@pytest.mark.statement("CA-1")
def test_calendars() -> None:
    assert changed("calendar", "c", "week", "mon-fri=20-6   sat-sun") == "mon-fri=20-6 sat-sun"
    refused("calendar", "c", "week", "mon-mon")
    refused("calendar", "c", "year", "1.1.1969=on")


@pytest.mark.statement("RQ-1", "RQ-12", "HG-9")
def test_quota_sets() -> None:
    text = """{
   name         max_u_slots
   description  "All users max use of 100 slots"
   enabled      TRUE
   limit        name a users {user1,user2} hosts {@lx} to virtual_free=6g
   limit        to slots=100
}
"""
    assert read("resource_quota", text) == text
    assert read("resource_quota", "{\nname a\nlimit to slots=1\n}\n") == TEMPLATES["resource_quota"].replace(
        "template", "a"
    ).replace("slots=0", "slots=1")
    quota = KINDS["resource_quota"].parse(parse_objects("resource_quota", text)[0])
    assert set(quota.references()) == {("complex", "virtual_free"), ("complex", "slots"), ("host_group", "@lx")}
    assert ("host_group", "@lx") not in quota.requirements()
    for written, kept in (("hello  world", "hello world"), ('" none "', "NONE"), ('"a" b', '"a" b')):
        assert changed("resource_quota", "a", "description", written) == kept


@pytest.mark.statement("RQ-12")
@pytest.mark.parametrize(
    ("line", "attribute"),
    [
        ("limit users a", "limit"),
        ("limit foo a to slots=1", "limit"),
        ("enabled foo\nlimit to slots=1", "enabled"),
        ("foo bar\nlimit to slots=1", "foo"),
        ("limit name x to slots=1\nlimit name x to slots=2", "limit"),
    ],
)
def test_wrong_quota_sets_give_line_and_reason(line: str, attribute: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read("resource_quota", f"{{\nname a\n{line}\n}}\n")
    assert (caught.value.attribute, caught.value.line, caught.value.name) == (attribute, 3, "a")


@pytest.mark.statement("RQ-12")
def test_quota_sets_need_name_and_rule() -> None:
    for text in ("{\nname a\n}\n", "{\nlimit to slots=1\n}\n"):
        with pytest.raises(ConfigError, match="missing"):
            read("resource_quota", text)


@pytest.mark.statement("PR-6", "QF-32")
def test_the_share_tree() -> None:
    text = (
        "id=0\nname=Root\ntype=0\nshares=1\nchildnodes=1,2,3\nid=1\nname=P1\ntype=1\nshares=50\nchildnodes=NONE\n"
        "id=2\nname=bob\ntype=0\nshares=50\nchildnodes=NONE\nid=3\nname=default\ntype=0\nshares=10\nchildnodes=NONE\n"
    )
    assert read("share_tree", text) == text
    tree = ShareTreeObject.parse(parse_objects("share_tree", text)[0])
    assert tree.references() == [("project", "P1"), ("user", "bob")]
    assert ShareTreeObject.from_attributes(tree.attributes()) == tree == ShareTreeObject.of(tree.root)
    with pytest.raises(ConfigError, match="line 1: share tree: "):
        read("share_tree", "id=0\nname=a\ntype=0\nshares=1\nid=0\n")


@pytest.mark.statement("US-3")
def test_a_userset_in_acl_and_in_xacl_of_a_project_is_refused() -> None:
    plain = KINDS["project"].template("p").attributes()
    with pytest.raises(ConfigError, match='the userset "b" is in acl and in xacl'):
        KINDS["project"].from_attributes({**plain, "acl": "a,b", "xacl": "b"})
    assert KINDS["project"].from_attributes({**plain, "acl": "a", "xacl": "b"})


@pytest.mark.statement("QF-32")
@pytest.mark.parametrize(
    ("first", "second", "twice"),
    [("0", "0", "the share tree"), ("1", "0", ""), ("1", "1", "")],
)
def test_a_user_is_at_one_place_of_the_share_tree(first: str, second: str, twice: str) -> None:
    """`default` below two nodes, which are users' nodes (0) or projects (1)."""
    nodes = [("Root", "0", "1,2"), ("a", first, "3"), ("b", second, "4"), ("default", "0", "NONE"), ("default", "0", "NONE")]
    lines = [f"id={n}\nname={name}\ntype={kind}\nshares=1\nchildnodes={below}" for n, (name, kind, below) in enumerate(nodes)]
    if twice:
        with pytest.raises(ConfigError, match=f'the user "default" is twice in {twice}'):
            KINDS["share_tree"].from_attributes({"nodes": "\n".join(lines)})
    else:
        assert KINDS["share_tree"].from_attributes({"nodes": "\n".join(lines)})
