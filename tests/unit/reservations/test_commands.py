"""qrsub, qrdel and qrstat as a user meets them: options, texts, exit codes, layouts."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from lxml import etree

from tests.unit.clients.shell import Outcome, Shell
from tests.unit.reservations.conftest import ReservingCell
from tests.unit.reservations.outcomes import granted, refused

START = time.mktime((2027, 1, 11, 10, 0, 0, 0, 0, -1))
"""11 January 2027 at 10:00: the day before the day of the specification's examples."""
SCHEMA = etree.XMLSchema(etree.parse(str(Path(__file__).parents[2] / "data" / "qrstat.xsd")))
RULE = "-" * 90


@pytest.fixture
def shell(cell: ReservingCell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> Shell:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    cell.now = time.mktime((2027, 1, 11, 10, 0, 0, 0, 0, -1))
    monkeypatch.setattr("clients.qrsub.time.time", lambda: cell.now)
    return Shell(cell, tmp_path, monkeypatch, capsys)


# --- qrsub ---------------------------------------------------------------------------------------------


@pytest.mark.statement("AR-3", "AR-4", "AR-5", "AR-7", "AR-2", "AR-107", "X-16")
@pytest.mark.parametrize(
    ("options", "times"),
    [
        ("-a 01121200 -d 1:1:1", "01/12/2027 12:00:00  01/12/2027 13:01:01  01:01:01"),
        ("-a 2701121200.30 -d 3600", "01/12/2027 12:00:30  01/12/2027 13:00:30  01:00:00"),
        ("-a 202701121200 -e 202701130600", "01/12/2027 12:00:00  01/13/2027 06:00:00  18:00:00"),
        ("-e 202701130000 -d 1000", "01/12/2027 23:43:20  01/13/2027 00:00:00  00:16:40"),
        ("-d ::10", "01/11/2027 10:00:00  01/11/2027 10:00:10  00:00:10"),
        ("-e 01121200", "01/11/2027 10:00:00  01/12/2027 12:00:00  26:00:00"),
        ("-a 01121200 -e 01121300 -d 3600", "01/12/2027 12:00:00  01/12/2027 13:00:00  01:00:00"),
    ],
)
def test_any_two_of_start_end_and_duration_fix_the_third(shell: Shell, options: str, times: str) -> None:
    assert granted(shell(f"qrsub {options}")) == 1
    header, rule, line = shell("qrstat").lines
    assert header == "ar-id   name       owner        state start at             end at               duration"
    assert rule == RULE
    assert line[:36] == f"      1            alice        {'r' if times.startswith('01/11') else 'w'}   "
    assert line.endswith(times)


@pytest.mark.statement("AR-1", "AR-3", "AR-4", "AR-5", "AR-6", "AR-10", "AR-12", "AR-16", "AR-22", "AR-23", "AR-27")
@pytest.mark.parametrize(
    ("options", "text"),
    [
        ("-a 01121200", 'missing value for "end time or duration" in advance reservation request'),
        ("-d 0", 'missing value for "end time or duration" in advance reservation request'),
        ("-a 20270112 -d 10", 'qrsub: Wrong date/time format "20270112" specified to -a option'),
        ("-e 1 -d 10", 'qrsub: Wrong date/time format "1" specified to -e option'),
        ("-d 01-01-01", 'qrsub: Wrong time format "01-01-01" specified to -d option'),
        ("-d 10:0", 'qrsub: Wrong time format "10:0" specified to -d option'),
        ("-d infinity", "qrsub: -d: a reservation must have an end"),
        ("-a 01121200 -e 01121300 -d 7200", "difference between end and start time does not correspond to duration"),
        ("-a 202601010000 -d 10", "start time is in the past"),
        ("-e 202601010000", "end time is in the past"),
        ("-e 202601010000 -d 10", "start time is in the past"),
        ("-a 01131200 -e 01121200", "start time is later than end time"),
        ("-d 10 -he maybe", 'qrsub: invalid option argument "-he maybe"'),
        ("-d 10 -m s", 'qrsub: Wrong mail options list format "s" specified to -m option'),
        ("-d 10 -N 1a", 'denied: "1a" is not a valid object name (cannot start with a digit)'),
        ("-d 10 -A a:b", 'denied: "a:b" is not a valid object name (must not contain :)'),
        ("-d 10 -u alice,!carol", "error: carol is not known as a user"),
        ("-d 10 -u *", "error: * is not known as a user"),
        ("-d 10 -w p", 'qrsub: invalid option argument "-w p"'),
        ("-d 10 -u @nope", 'Userset "nope" does not exist'),
        ("-d 10 -l nope=1", 'unknown resource "nope"'),
        ("-d 10 -l h=nohost", 'can\'t resolve hostname "nohost"'),
        ("-d 10 -q nope.q", 'Job was rejected because job requests unknown queue "nope.q"'),
        ("-d 10 -pe nope 1", 'job rejected: the requested parallel environment "nope" does not exist'),
        ("-d 10 -dl 01121200", 'qrsub: invalid option argument "-dl"'),
        ("-d", "qrsub: -d option must have argument"),
    ],
)
def test_invalid_commands_are_reported_and_reserve_nothing(shell: Shell, options: str, text: str) -> None:
    shell.unknown_users = {"carol", "*"}
    assert refused(shell(f"qrsub {options}")).startswith(text)
    assert shell("qrstat -u '*'") == Outcome("", "", 0)


@pytest.mark.statement("AR-23")
@pytest.mark.parametrize("arguments", ["", "-d 10 stray", "-d 10 -zz"])
def test_a_malformed_call_gets_the_usage(shell: Shell, arguments: str) -> None:
    error = refused(shell(f"qrsub {arguments}"))
    assert error.splitlines()[1] == 'usage: qrsub [options]; "qrsub -help" lists the options'


@pytest.mark.statement("AR-24")
def test_default_files_come_before_the_command_line(shell: Shell) -> None:
    (shell.common / "sge_ar_request").write_text("# of the cell\n-d 100 -A cell\n-q all.q@h1\n")
    (shell.home / ".sge_ar_request").write_text("-A mine -q all.q@h2\n")
    granted(shell("qrsub -N x"))
    assert shell.asked[-1][1] == {"duration": 100.0, "account": "mine", "hard_queues": ["all.q@h1", "all.q@h2"], "name": "x"}
    granted(shell("qrsub -d 50 -q all.q@h3"))
    assert shell.asked[-1][1] == {"duration": 50.0, "account": "mine", "hard_queues": ["all.q@h3"]}
    (shell.home / ".sge_ar_request").write_text("\n-x\n")
    assert '.sge_ar_request, line 2: invalid option argument "-x"\n' in refused(shell("qrsub -d 50"))


@pytest.mark.statement("AR-29", "AR-30", "AR-26", "AR-106")
def test_reserving_is_for_members_of_arusers_operators_and_managers(shell: Shell, cell: ReservingCell) -> None:
    shell.user = "bob"
    text = 'denied: "bob" must be manager, operator or in userset "arusers"'
    assert refused(shell("qrsub -d 10")) == text
    assert refused(shell("qrdel 1")) == text
    cell.admin("change_users", verb="add", users=["@users"], lists=["arusers"])
    granted(shell("qrsub -d 10"))
    cell.admin("change_users", verb="delete", users=["@users"], lists=["arusers"])
    cell.admin("config_add", kind="operator", name="bob")
    granted(shell("qrsub -d 10"))
    granted(shell.as_root("qrsub -d 10"))
    assert cell.ask("reserve", "root", "h9", duration=10).answers[0][1].endswith("is neither submit nor admin host")


@pytest.mark.statement("AR-31", "X-10")
def test_the_limit_of_reservations_exits_25(shell: Shell, cell: ReservingCell) -> None:
    cell.configure("configuration", "global", max_advance_reservations="2")
    granted(shell("qrsub -d 10"))
    granted(shell("qrsub -d 10"))
    outcome = shell("qrsub -d 10")
    assert outcome.status == 25
    assert outcome.err == "denied: the limit of 2 advance reservations (max_advance_reservations) is reached\n"
    cell.wait(10)
    assert not cell.state.reservations
    granted(shell("qrsub -d 10"))
    granted(shell("qrsub -d 10"))
    assert shell("qrsub -d 10").status == 25, "those that are over do not count, others do"
    cell.configure("configuration", "global", max_advance_reservations="0")
    granted(shell("qrsub -d 10"))


@pytest.mark.statement("AR-31")
def test_no_host_has_a_limit_of_its_own(cell: ReservingCell) -> None:
    answer = cell.add("configuration", "h1", max_advance_reservations="1")
    assert answer.status == 1
    assert "only the global configuration may set it" in answer.answers[0][1]


@pytest.mark.statement("AR-17", "AR-18")
def test_w_v_prints_a_report(shell: Shell) -> None:
    outcome = shell("qrsub -w v -d 100 -l h=h2")
    assert outcome.status == 0 and outcome.lines[-1] == "verification: found suitable queue(s)"
    outcome = shell("qrsub -w v -d 100 -pe mpi 300")
    assert outcome.status == 1
    assert outcome.lines == [
        'Your reservation cannot run in PE "mpi" because it only offers 12 slots',
        "verification: no suitable queues",
    ]


@pytest.mark.statement("X-8", "AR-36", "AR-40", "AR-41", "AR-107")
def test_the_examples_of_the_specification(shell: Shell, cell: ReservingCell) -> None:
    cell.names = ["host1", "host2", "host3"]
    cell.restart()
    shell.cell = cell
    for name in cell.names:
        cell.add("exec_host", name, hostname=name)
        cell.admin("config_add", kind="submit_host", name=name)
        from gridengine.protocols.delivery import Load
        from tests.harness import LOAD

        cell.report(name, Load(cell.now, {**LOAD, "arch": "sol-sparc64"}, full=True, incarnation="1"))
    cell.configure("host_group", "@allhosts", hostlist="host1 host2 host3")
    assert granted(shell('qrsub -q all.q -l "h=host1|host2|host3" -u alice -a 01121200 -d 1:0:0')) == 1
    assert granted(shell('qrsub -q "*@host1,*@host2,*@host3" -u $user -a 01121200 -d 1:0:0')) == 2
    cell.add("parallel_environment", "alloc_pe_slots", pe_name="alloc_pe_slots", slots="99", allocation_rule="$pe_slots")
    cell.configure("cluster_queue", "all.q", pe_list="alloc_pe_slots")
    assert granted(shell("qrsub -pe alloc_pe_slots 4 -l a=sol-sparc64 -u alice -a 01121200 -d 1:0:0")) == 3
    cell.configure("cluster_queue", "all.q", slots="4,[host1=1],[host2=1]") and shell("qrdel 1,2,3")
    cell.configure("cluster_queue", "all.q", slots="1")
    cell.submit(hard=["hostname=host1"])
    cell.cycle()
    assert refused(shell("qrsub -a 01121200 -d 0:30:0 -u alice -h host1")).startswith("advance_reservation: no suitable queues")
    granted(shell("qrsub -a 01121200 -d 0:30:0 -u alice -h host2"))
    outcome = shell("qsub -w e -l h=host2 -b y sleep")
    assert (outcome.status, outcome.err.splitlines()[0]) == (1, "Unable to run job: error: no suitable queues")
    cell.admin("change_users", verb="add", users=["user3"], lists=["denied_users"])
    cell.configure("cluster_queue", "all.q", xuser_lists="denied_users")
    assert "no suitable queues" in refused(shell("qrsub -u user1,user2,user3 -q all.q -a 01151200 -d 60"))
    granted(shell("qrsub -u user1,user2 -q all.q -a 01151200 -d 60"))


# --- qrstat ----------------------------------------------------------------------------------------------


def whole(shell: Shell, cell: ReservingCell) -> int:
    """A reservation with everything."""
    cell.add("checkpoint", "ck", ckpt_name="ck")
    cell.configure("cluster_queue", "all.q", ckpt_list="ck")
    options = "-pe mpi 3-4 -N par -u alice,!bob,@arusers -he y -masterq all.q@h1 -m a -M a@b,c -ckpt ck -A acct"
    return granted(shell(f"qrsub -a 01121200 -d 100000 {options} -l 'a=lx-amd64, h_rt=60'"))


@pytest.mark.statement("AR-109", "AR-8", "AR-11", "AR-13", "AR-21", "AR-46")
def test_details_follow_the_original(shell: Shell, cell: ReservingCell) -> None:
    number = whole(shell, cell)
    assert shell(f"qrstat -ar {number}").lines == [
        "-" * 80,
        "id                             1",
        "name                           par",
        "owner                          alice",
        "state                          w",
        "start_time                     01/12/2027 12:00:00",
        "end_time                       01/13/2027 15:46:40",
        "duration                       27:46:40",
        "submission_time                01/11/2027 10:00:00",
        "group                          users",
        "account                        acct",
        "resource_list                  arch=lx-amd64, h_rt=60",
        "error_handling                 true",
        "granted_slots_list             all.q@h1=4",
        "granted_parallel_environment   mpi slots 3,4",
        "master hard queue_list         all.q@h1",
        "checkpoint_name                ck",
        "mail_options                   a",
        "mail_list                      a@b,c@NONE",
        "acl_list                       alice,@arusers",
        "xacl_list                      bob",
    ]


@pytest.mark.statement("AR-8")
def test_the_account_is_sge_unless_it_is_named(shell: Shell, cell: ReservingCell) -> None:
    granted(shell("qrsub -d 10"))
    granted(shell("qrsub -d 10 -A mine"))
    for number, account in ((1, "sge"), (2, "mine")):
        assert f"account                        {account}" in shell(f"qrstat -ar {number}").lines


@pytest.mark.statement("AR-3", "AR-10", "AR-15")
@pytest.mark.parametrize(
    ("options", "text"),
    [
        ("-d 10 -he x", 'qrsub: invalid option argument "-he x", it must be y[es] or n[o]'),
        ("-d 10 -now x", 'qrsub: invalid option argument "-now x", it must be y[es] or n[o]'),
        ("-d 10 -heal x", 'qrsub: invalid option argument "-heal x", it must be y[es] or n[o]'),
        ("-d 10 -idle x", 'qrsub: Wrong time format "x" specified to -idle option'),
        ("-d 10 -latest 13", 'qrsub: Wrong date/time format "13" specified to -latest option: '),
        ("-d 10 -e 02301200", 'qrsub: Wrong date/time format "02301200" specified to -e option: '),
        ("-d 10 -find 0", 'qrsub: invalid number of windows "0", it must be an integer from 1 to 100'),
    ],
)
def test_a_refusal_names_the_option_and_what_it_may_be(shell: Shell, options: str, text: str) -> None:
    assert refused(shell(f"qrsub {options}")).startswith(text)


@pytest.mark.statement("AR-46", "AR-19")
@pytest.mark.parametrize(("asked", "shown"), [("2", "2"), ("2-3", "2,3"), ("2-4", "2-4"), ("-3", "1-3"), ("4-", "4-9999999")])
def test_the_range_of_slots_as_the_original_shows_it(shell: Shell, asked: str, shown: str) -> None:
    granted(shell(f"qrsub -d 100 -pe mpi {asked}"))
    assert f"granted_parallel_environment   mpi slots {shown}" in shell("qrstat -ar 1").lines


@pytest.mark.statement("AR-59", "AR-112")
def test_explain_names_the_faults(shell: Shell, cell: ReservingCell) -> None:
    granted(shell("qrsub -d 100 -l h=h1"))
    shell.as_root("qmod -d all.q@h1")
    cell.tick()
    text = "reserved queue all.q@h1 is disabled"
    assert shell("qrstat -explain").lines[3] == f"       {text}"
    assert len(shell("qrstat").lines) == 3
    assert f"message                        {text}" in shell("qrstat -ar 1").lines
    shell.as_root("qmod -s all.q@h1")
    cell.tick()
    texts = [text, "reserved queue all.q@h1 is suspended"]
    assert sorted(line.strip() for line in shell("qrstat -explain").lines[3:]) == sorted(texts), "a line each"


@pytest.mark.statement("AR-108", "AR-110", "AR-111", "AR-107")
def test_qrstat_shows_the_reservations_of_the_named_users_or_ids(shell: Shell, cell: ReservingCell) -> None:
    assert shell("qrstat") == Outcome("", "", 0)
    granted(shell("qrsub -d 100 -N mine"))
    shell.user = "bob"
    assert shell("qrstat") == Outcome("", "", 0)
    ids = lambda line: [row.split()[0] for row in shell(line).lines[2:]]  # noqa: E731
    assert ids("qrstat -u '*'") == ids("qrstat -u alice") == ids("qrstat -u bob,al*") == ["1"]
    assert ids("qrstat -u $user") == []
    assert shell("qrstat -ar 1").lines[1] == "id                             1"
    assert shell("qrstat -ar mi*").lines[1] == "id                             1"
    assert shell("qrstat -u bob -ar 1").lines[1] == "id                             1", "an id is shown to anybody who names it"
    assert refused(shell("qrstat -u bob -ar mi*")).endswith("mi*")
    assert shell("qrstat -ar 77,78") == Outcome("", "Following advance reservations do not exist:\n77, 78\n", 1)
    outcome = shell("qrstat -ar 77,1")
    assert (outcome.status, len(outcome.lines)) == (0, 12)
    assert refused(shell("qrstat -ar")).startswith("qrstat: -ar option must have argument\n")


@pytest.mark.statement("AR-113", "AR-114", "X-16")
def test_xml_is_valid_by_the_schema_of_the_specification(shell: Shell, cell: ReservingCell) -> None:
    for options in ("", "-explain"):
        granted(shell("qrsub -d 100000 -N 'a<b>&c' -A '<&>'"))
        document = etree.fromstring(shell(f"qrstat -xml {options}").out.encode())
        SCHEMA.assertValid(document)
    whole(shell, cell)
    for name in ("h1", "h2", "h3"):
        shell.as_root(f"qmod -d all.q@{name}")
    cell.tick()
    document = etree.fromstring(shell("qrstat -ar 1,2,3 -xml").out.encode())
    SCHEMA.assertValid(document)
    assert [e.text for e in document.findall("ar_summary/duration")] == ["100000"] * 3
    assert [e.text for e in document.findall("ar_summary/name")] == ["a<b>&c", "a<b>&c", "par"]
    assert document.findall("ar_summary/message")[0].text == "reserved queue all.q@h1 is disabled"
    assert document.find("ar_summary[3]/granted_parallel_environment/slots").text == "4"
    SCHEMA.assertValid(etree.fromstring(shell("qrstat -xml -u bob").out.encode()))


def test_json_has_what_the_details_have(shell: Shell, cell: ReservingCell) -> None:
    whole(shell, cell)
    (found,) = json.loads(shell("qrstat -json").out)["reservations"]
    assert (found["ar_id"], found["name"], found["granted"], found["allowed"]) == (
        1,
        "par",
        [{"queue_instance": "all.q@h1", "slots": 4}],
        ["alice", "@arusers"],
    )


@pytest.mark.statement("AR-115", "AR-116")
def test_default_file_and_help_of_qrstat(shell: Shell) -> None:
    granted(shell("qrsub -d 100"))
    (shell.common / "sge_qrstat").write_text("-u bob\n")
    assert shell("qrstat").out == ""
    (shell.home / ".sge_qrstat").write_text("-u alice\n-xml\n")
    assert "<owner>alice</owner>" in shell("qrstat").out
    for command in ("qrsub", "qrdel", "qrstat"):
        outcome = shell(f"{command} -help")
        assert outcome.status == 0
        assert outcome.lines[1].startswith(f"usage: {command} [options]")


@pytest.mark.statement("AR-38")
def test_reserved_slots_are_in_qstat(shell: Shell, cell: ReservingCell) -> None:
    number = granted(shell("qrsub -d 100 -pe smp 3 -q all.q@h2"))
    granted(shell("qrsub -a 01121200 -d 100 -q all.q@h3"))
    cell.submit(ar=number)
    cell.cycle()
    slots = {line.split()[0]: line.split()[2] for line in shell("qstat -f").lines if line.startswith("all.q@")}
    assert slots == {"all.q@h1": "0/0/4", "all.q@h2": "3/1/4", "all.q@h3": "0/0/4"}
    assert shell("qstat -g c").lines[2].split()[2:6] == ["1", "3", "11", "12"]
    assert "qc:slots=4" in shell("qstat -F slots -q all.q@h2").out, "AR-92: nothing changed outside"


# --- qrdel -----------------------------------------------------------------------------------------------


@pytest.mark.statement("AR-101", "AR-102", "AR-103", "AR-106", "AR-104")
def test_qrdel_by_id_name_pattern_and_user(shell: Shell, cell: ReservingCell) -> None:
    cell.admin("change_users", verb="add", users=["bob"], lists=["arusers"])
    for name in ("one", "two", "three"):
        granted(shell(f"qrsub -d 100 -N {name}"))
    shell.user = "bob"
    granted(shell("qrsub -d 100 -N two"))
    assert refused(shell("qrdel 1")) == 'bob - you do not have the necessary privileges to delete the advance_reservation "1"'
    assert shell("qrdel two") == Outcome("bob has deleted advance_reservation 4\n", "", 0)
    assert refused(shell("qrdel two")) == 'denied: advance_reservation "two" does not exist'
    shell.user = "alice"
    assert shell("qrdel 3,1").lines == [f"alice has deleted advance_reservation {number}" for number in (3, 1)]
    assert refused(shell("qrdel 77")) == 'denied: advance_reservation "77" does not exist'
    assert refused(shell("qrdel 0")) == "You have to specify a username or advance_reservation ids"
    assert refused(shell("qrdel -u bob")) == "There is no advance_reservation registered for the following users: bob"
    assert refused(shell("qrdel -u bob 2")) == 'denied: advance_reservation "2" does not exist'
    assert refused(shell.as_root("qrdel t*")) == 'denied: advance_reservation "t*" does not exist', "a manager's own by name"
    assert shell.as_root("qrdel -u alice t*").status == 0
    assert shell("qrdel -u '*'").status == 1, "all of everybody are for operators"
    number = granted(shell("qrsub -d 100"))
    assert shell(f"qrdel -u '*' {number}").out == f"alice has deleted advance_reservation {number}\n"
    number = granted(shell("qrsub -d 100"))
    cell.submit(ar=number)
    cell.cycle()
    assert shell("qrdel '*'").out == f"alice has registered the advance_reservation {number} for deletion\n"
    assert shell("qrdel -f '*'").out == f"alice has deleted advance_reservation {number}\n"
    granted(shell("qrsub -d 100"))
    assert refused(shell("qrdel -u '*'")).startswith('denied: "alice" must be manager or operator'), "not even one's own"
    assert len(cell.state.reservations) == 1
    assert shell.as_root("qrdel -u '*'").status == 0
    assert not cell.state.reservations
    assert "usage: qrdel" in refused(shell("qrdel"))


@pytest.mark.statement("X-18")
def test_a_master_queue_without_a_pe_is_a_warning_for_a_reservation_and_refused_for_a_job(shell: Shell) -> None:
    outcome = shell("qrsub -d 100 -masterq all.q")
    assert outcome.status == 0
    assert outcome.err == "warning: -masterq has no effect without a parallel environment (-pe)\n"
    assert shell("qsub -b y -masterq all.q true").status != 0
