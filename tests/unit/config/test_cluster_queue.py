"""The cluster queue: attributes, checks, references. The expected verdicts come from queue_conf(5) and the real 8.1.9."""

import pytest

from gridengine.config import KINDS
from gridengine.config.cluster_queue import ClusterQueue, check_slot_trees
from gridengine.errors import ConfigError
from gridengine.syntax.object_file import Entry, format_object

TEMPLATE = """qname                 template
hostlist              NONE
seq_no                0
load_thresholds       np_load_avg=1.75
suspend_thresholds    NONE
nsuspend              1
suspend_interval      00:05:00
priority              0
min_cpu_interval      00:05:00
processors            UNDEFINED
qtype                 BATCH INTERACTIVE
ckpt_list             NONE
pe_list               make smp mpi
rerun                 FALSE
slots                 1
tmpdir                /tmp
shell                 /bin/sh
prolog                NONE
epilog                NONE
shell_start_mode      posix_compliant
starter_method        NONE
suspend_method        NONE
resume_method         NONE
terminate_method      NONE
notify                00:00:60
owner_list            NONE
user_lists            NONE
xuser_lists           NONE
subordinate_list      NONE
complex_values        NONE
projects              NONE
xprojects             NONE
calendar              NONE
initial_state         default
s_rt                  INFINITY
h_rt                  INFINITY
s_cpu                 INFINITY
h_cpu                 INFINITY
s_fsize               INFINITY
h_fsize               INFINITY
s_data                INFINITY
h_data                INFINITY
s_stack               INFINITY
h_stack               INFINITY
s_core                INFINITY
h_core                INFINITY
s_rss                 INFINITY
h_rss                 INFINITY
s_vmem                INFINITY
h_vmem                INFINITY
"""


def entries(**changes: str | None) -> list[Entry]:
    """The template's lines for a queue x.q; a change to None leaves the attribute out."""
    values: dict[str, str | None] = {**ClusterQueue.template("x.q").attributes(), **changes}
    return [(name, value, line) for line, (name, value) in enumerate(values.items(), 1) if value is not None]


def value(attribute: str, text: str) -> str:
    return ClusterQueue.parse(entries(**{attribute: text})).attributes()[attribute]


@pytest.mark.statement("QC-42", "QC-43", "QF-12")
def test_the_template() -> None:
    assert format_object("cluster_queue", KINDS["cluster_queue"].template().attributes()) == TEMPLATE
    assert len(KINDS["cluster_queue"].model_fields) == 50


@pytest.mark.statement("QC-3", "QC-7", "QC-8", "QC-10", "QC-11", "QC-12", "QC-13", "QC-17", "QC-18", "QC-19", "QC-20")
@pytest.mark.statement(
    "QC-21", "QC-22", "QC-23", "QC-25", "QC-26", "QC-27", "QC-29", "QC-30", "QC-33", "QC-38", "QC-39"
)
@pytest.mark.parametrize(
    ("attribute", "text", "printed"),
    [
        ("qtype", "batch", "BATCH"),
        ("qtype", "interactive,batch", "BATCH INTERACTIVE"),
        ("qtype", "none", "NONE"),
        ("qtype", "BATCH,[g1=INTERACTIVE],[g2=BATCH,INTERACTIVE]", "BATCH,[g1=INTERACTIVE],[g2=BATCH INTERACTIVE]"),
        ("hostlist", "g2,g1", "g2 g1"),
        ("hostlist", "g3 @allhosts", "g3 @allhosts"),
        ("hostlist", "none", "NONE"),
        ("seq_no", "0, [g1=1] , [g2=2]", "0,[g1=1],[g2=2]"),
        ("seq_no", "0x10", "16"),
        ("seq_no", "0,[linux=2]", "0,[linux=2]"),
        ("slots", "007", "7"),
        ("slots", "9999999", "9999999"),
        ("slots", "0", "0"),
        ("priority", "-20", "-20"),
        ("priority", "20", "20"),
        ("rerun", "y", "TRUE"),
        ("rerun", "false", "FALSE"),
        ("shell_start_mode", "UNIX_BEHAVIOR", "unix_behavior"),
        ("shell_start_mode", "script_from_stdin", "script_from_stdin"),
        ("initial_state", "DISABLED", "disabled"),
        ("notify", "::5", "::5"),
        ("notify", "010", "010"),
        ("h_rt", "24:0:0", "24:0:0"),
        ("s_rt", "0x10,[g1=1::1],[g2=3600]", "0x10,[g1=1::1],[g2=3600]"),
        ("h_vmem", "1.5G", "1.5G"),
        ("h_vmem", "4G,[g1=0x100k],[g2=010M]", "4G,[g1=0x100k],[g2=010M]"),
        ("suspend_method", "SIGTSTP", "SIGTSTP"),
        ("terminate_method", "15", "15"),
        ("resume_method", "/bin/x $job_id $job_pid $sge_root", "/bin/x $job_id $job_pid $sge_root"),
        ("starter_method", "/bin/starter", "/bin/starter"),
        ("prolog", "root@/bin/x $fs_stdin_path", "root@/bin/x $fs_stdin_path"),
        ("epilog", "none", "NONE"),
        ("processors", "1-4,8", "1-4,8"),
        ("owner_list", "alice,bob carol", "alice bob carol"),
        ("pe_list", "smp,make", "smp make"),
        ("pe_list", "make,[g1=smp mpi],[@b=make,smp]", "make,[@b=make smp],[g1=smp mpi]"),
        ("user_lists", "a b,[@g=a  b] , [g1=a,b]", "a b,[@g=a b],[g1=a b]"),
        ("subordinate_list", "all.q=5,b.q", "all.q=5, b.q"),
        ("subordinate_list", "slots=2(b.q:1)", "slots=2(b.q:1:sr)"),
        ("load_thresholds", "np_load_avg=1 load_avg=2", "np_load_avg=1,load_avg=2"),
        ("load_thresholds", "health=false", "health=false"),
        ("complex_values", "slots=4,mem_free=4G,[g1=slots=2,arch=foo]", "slots=4,mem_free=4G,[g1=slots=2,arch=foo]"),
        ("calendar", "night,[g1=NONE]", "night,[g1=NONE]"),
    ],
)
def test_values_that_are_accepted(attribute: str, text: str, printed: str) -> None:
    assert value(attribute, text) == printed
    assert value(attribute, printed) == printed


@pytest.mark.statement("QC-10", "QC-12", "QC-13", "QC-18", "QC-27", "QC-38", "QC-39", "CX-45", "CQ-8", "CQ-11", "CQ-36")
@pytest.mark.statement("SU-6", "SU-17")
@pytest.mark.parametrize(
    ("attribute", "text"),
    [
        ("qname", "sy@x"),
        ("qname", "a b"),
        ("qtype", "PARALLEL"),
        ("qtype", "BATCH CHECKPOINTING"),
        ("qtype", "foo"),
        ("hostlist", "g1 g1"),
        ("hostlist", "@a,@a"),
        ("hostlist", "a/b"),
        ("seq_no", "1.5"),
        ("seq_no", "-1"),
        ("seq_no", "0,"),
        ("seq_no", "[g1=1]"),
        ("seq_no", "0,[g1=1],[g1=2]"),
        ("seq_no", "0,[g1=x]"),
        ("seq_no", "4294967296"),
        ("slots", "10000000"),
        ("slots", "-1"),
        ("slots", ""),
        ("priority", "21"),
        ("priority", "foo"),
        ("nsuspend", "-1"),
        ("rerun", "maybe"),
        ("shell", "NONE"),
        ("shell", "sh"),
        ("tmpdir", "foo"),
        ("shell_start_mode", "raw_exec"),
        ("initial_state", "foo"),
        ("notify", "abc"),
        ("notify", "1:2"),
        ("notify", "INFINITY"),
        ("suspend_interval", "NONE"),
        ("h_rt", "-5"),
        ("h_vmem", "1P"),
        ("h_vmem", "G"),
        ("h_vmem", "-1"),
        ("suspend_method", "SIGFOO"),
        ("suspend_method", "999"),
        ("suspend_method", "relative/path"),
        ("suspend_method", "/bin/x $foo"),
        ("starter_method", "foo"),
        ("prolog", "relative"),
        ("prolog", "/bin/x $foo"),
        ("prolog", "/bin/x $job_pid"),
        ("epilog", "/bin/x $job_pid"),
        ("processors", "foo"),
        ("subordinate_list", "x.q"),
        ("subordinate_list", "slots=2(x.q)"),
        ("subordinate_list", "slots=2(b.q:1:xx)"),
        ("subordinate_list", "NONE,[g1=b.q=-1]"),
        ("load_thresholds", "np_load_avg"),
        ("load_thresholds", "np_load_avg="),
        ("load_thresholds", "np_load_avg=1=2"),
        ("complex_values", "mem_free=1G,"),
    ],
)
def test_values_that_are_refused(attribute: str, text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        value(attribute, text)
    assert caught.value.attribute == attribute
    assert caught.value.reason
    assert caught.value.line == [name for name, _, _ in entries()].index(attribute) + 1
    assert f'"{attribute}"' in str(caught.value)


@pytest.mark.statement("CQ-37")
@pytest.mark.parametrize("attribute", ["complex_list", "queue_list", "foo"])
def test_unknown_attributes_are_refused(attribute: str) -> None:
    with pytest.raises(ConfigError, match="unknown") as caught:
        ClusterQueue.parse([*entries(), (attribute, "NONE", 99)])
    assert (caught.value.attribute, caught.value.line) == (attribute, 99)


def test_missing_and_doubled_attributes_are_refused() -> None:
    with pytest.raises(ConfigError, match='attribute "slots": the attribute is missing'):
        ClusterQueue.parse(entries(slots=None))
    assert ClusterQueue.parse(entries(slots=None), complete=False).slots == "1"
    with pytest.raises(ConfigError, match="line 99: .*the attribute is given twice"):
        ClusterQueue.parse([*entries(), ("slots", "1", 99)])


@pytest.mark.statement("X-1", "QC-2")
def test_the_old_name_of_the_host_list_is_accepted_with_a_warning() -> None:
    warnings: list[str] = []
    queue = ClusterQueue.parse([*entries(hostlist=None), ("hostname", "@linux @solaris", 7)], warnings=warnings)
    assert queue.hostlist == "@linux @solaris"
    assert len(warnings) == 1 and "hostlist" in warnings[0]
    assert "hostname" not in queue.attributes()


@pytest.mark.statement("CQ-20", "CQ-22", "CQ-23")
def test_the_accepted_examples_of_the_specification() -> None:
    assert value("seq_no", "0,[solaris1=1],[linux=2]") == "0,[linux=2],[solaris1=1]"
    text = "NONE,[@linux=mathlab_users],[linux1=mathlab_users mpi_users]"
    assert value("user_lists", text) == text
    text = "NONE,[@linux=mathlab_users],[@linuxsolaris=mathlab_users mpi_users]"
    assert value("user_lists", text) == text


@pytest.mark.statement("CQ-33", "CQ-38", "QC-15", "QC-16", "QC-31", "QC-32", "QC-34", "QC-37", "HG-9")
def test_references() -> None:
    queue = ClusterQueue.parse(
        entries(
            hostlist="h1 @g",
            load_thresholds="np_load_avg=1,[h1=mem_free=1G]",
            pe_list="make,[@other=smp]",
            ckpt_list="ck",
            user_lists="acl1",
            xuser_lists="acl2",
            projects="p1",
            xprojects="p2",
            calendar="night",
            complex_values="slots=1",
            subordinate_list="low.q=1",
        )
    )
    assert set(queue.references()) == {
        ("exec_host", "h1"),
        ("host_group", "@g"),
        ("complex", "np_load_avg"),
        ("complex", "mem_free"),
        ("parallel_environment", "make"),
        ("parallel_environment", "smp"),
        ("host_group", "@other"),
        ("checkpoint", "ck"),
        ("userset", "acl1"),
        ("userset", "acl2"),
        ("project", "p1"),
        ("project", "p2"),
        ("calendar", "night"),
        ("complex", "slots"),
        ("cluster_queue", "low.q"),
    }
    assert queue.requirements() == queue.references()


@pytest.mark.statement("SU-18")
def test_slot_wise_subordination_is_a_tree() -> None:
    check_slot_trees({"a": "slots=2(b,c)", "b": "slots=2(d)", "x": "d=1", "d": "NONE"})
    with pytest.raises(ConfigError, match='"d" is already a slot-wise subordinate of "b"'):
        check_slot_trees({"b": "slots=2(d)", "c": "slots=2(d)"})
    with pytest.raises(ConfigError, match="subordinate of itself"):
        check_slot_trees({"a": "slots=2(b)", "b": "slots=2(c)", "c": "slots=1(a)"})


def test_a_value_cannot_smuggle_in_another_line() -> None:
    for text in ("/tmp\nslots 5", "/tmp\\", "/tmp\x00"):
        with pytest.raises(ConfigError):
            value("tmpdir", text)
