"""qconf beyond whole objects: access lists, quota sets at once, share tree nodes, searches, tuples, daemons and event clients."""

from __future__ import annotations

from pathlib import Path

import pytest

from gridengine.protocols.gdi.requests import Caller
from tests.harness import Cell
from tests.unit.clients.shell import Outcome, Shell

QUOTAS = """{
   name         one
   description  NONE
   enabled      TRUE
   limit        users {*} to slots=4
}
{
   name         two
   description  NONE
   enabled      TRUE
   limit        name big users {*} to slots=9
}
"""


def printed(outcome: Outcome) -> tuple[str, str, int]:
    return outcome.out, outcome.err, outcome.status


def queue(cell: Cell, attribute: str) -> str:
    text: str = cell.state.kind("cluster_queue")["all.q"][attribute]
    return text


def write(shell: Shell, name: str, text: str) -> Path:
    path = shell.cwd / name
    path.write_text(text)
    return path


@pytest.mark.statement("QF-26", "QF-36")
def test_users_of_access_lists(shell: Shell) -> None:
    added = 'added "alice" to access list "one"\nadded "bob" to access list "one"\n'
    assert printed(shell.as_root("qconf -au alice,bob one")) == (added, "", 0)
    assert printed(shell.as_root("qconf -au bob one")) == ("", '"bob" is already in access list "one"\n', 1)
    assert printed(shell.as_root("qconf -du bob one")) == ('deleted user "bob" from access list "one"\n', "", 0)
    assert printed(shell.as_root("qconf -du bob one")) == ("", 'user "bob" is not in access list "one"\n', 1)
    assert printed(shell.as_root("qconf -du bob two")) == ("", 'access list "two" doesn\'t exist\n', 1)
    assert shell("qconf -su one").lines[-1] == "entries alice"
    assert shell("qconf -au alice one").status == 1
    shell.as_root("qconf -ao alice")
    assert shell("qconf -au @users one").status == 0, "an operator may, too"
    assert shell("qconf -dul one").status == 1


@pytest.mark.statement("QF-29")
def test_quota_sets_at_once_and_one_by_one(shell: Shell, cell: Cell) -> None:
    write(shell, "quotas", QUOTAS)
    assert shell.as_root("qconf -Arqs quotas").lines == [
        f'root@master added "{name}" to resource quota set list' for name in ("one", "two")
    ]
    assert shell("qconf -srqsl").out == "one\ntwo\n"
    assert shell("qconf -srqs one,two").out == shell("qconf -srqs 'o*,t?o'").out == shell("qconf -srqs").out
    write(shell, "other", QUOTAS.replace("=4", "=5").replace("=9", "=10"))
    outcome = shell.as_root("qconf -Mrqs other two")
    assert printed(outcome) == ('root@master modified "two" in resource quota set list\n', "", 0)

    def limits() -> list[str]:
        return [cell.state.kind("resource_quota")[name]["limit"].split("=")[1] for name in ("one", "two")]

    assert limits() == ["4", "10"], "only the set named"
    outcome = shell.as_root("qconf -Mrqs other one,three")
    assert (outcome.err, outcome.status, limits()) == ('other does not describe "three"\n', 1, ["5", "10"])
    write(shell, "alone", QUOTAS[: QUOTAS.index("\n}") + 3])
    assert shell.as_root("qconf -Mrqs alone").status == 0
    assert shell("qconf -srqsl").out == "one\n", "without names the file is all that there is"
    write(shell, "wrong", QUOTAS.replace("=9", "=x"))
    refused = shell.as_root("qconf -Mrqs wrong")
    assert (refused.status, refused.out) == (1, ""), "nothing was removed, and nothing is said to have been"
    assert shell("qconf -srqsl").out == "one\n"


@pytest.mark.statement("QF-29", "QF-6", "QF-2")
def test_limits_of_a_rule(shell: Shell, cell: Cell) -> None:
    write(shell, "quotas", QUOTAS)
    shell.as_root("qconf -Arqs quotas")
    assert shell.as_root("qconf -mattr resource_quota limit slots=7 two/big").status == 0
    write(shell, "limit", "limit slots=6\n")
    assert shell.as_root("qconf -Mattr rqs limit one/1").status == 0
    texts = {name: text["limit"] for name, text in cell.state.kind("resource_quota").items()}
    assert texts == {"one": "users {*} to slots=6", "two": "name big users {*} to slots=7"}
    assert shell.as_root("qconf -mattr resource_quota limit slots=7 two/nosuch").status == 1


@pytest.mark.statement("QF-32")
def test_nodes_of_the_share_tree(shell: Shell, cell: Cell) -> None:
    for name in ("u1", "u2"):
        cell.add("user", name)
    cell.add("project", "p")
    outcome = shell.as_root("qconf -astnode /u1=10,p=30")
    assert printed(outcome) == ("setting \n/u1=10\nsetting \n/p=30\nmodified sharetree\n", "", 0)
    assert shell.as_root("qconf -astnode /p/u2=5").status == 0
    drawn = "Root=1\n   u1=10\n   p=30\n      u2=5\n"
    assert printed(shell("qconf -sst")) == (drawn, "", 0)
    assert printed(shell("qconf -bonsai")) == (drawn, "", 0)
    assert printed(shell("qconf -sstnode /")) == ("/=1\n/u1=10\n/p=30\n/p/u2=5\n", "", 0)
    assert printed(shell("qconf -rsstnode p")) == ("/p=30\n/p/u2=5\n", "", 0)
    outcome = shell("qconf -sstnode /nosuch,/u1")
    assert printed(outcome) == ("/u1=10\n", "Unable to locate /nosuch in sharetree\n", 1)
    assert shell.as_root("qconf -mstnode /u1=11").status == 0
    assert printed(shell.as_root("qconf -dstnode /p/u2")) == ("removing \n/p/u2\nmodified sharetree\n", "", 0)
    assert shell("qconf -sst").out == "Root=1\n   u1=11\n   p=30\n"
    write(shell, "tree", shell("qconf -sstree").out)
    assert shell.as_root("qconf -dstree").status == 0
    assert printed(shell.as_root("qconf -Astree tree")) == ("changed sharetree\n", "", 0)
    assert printed(shell.as_root("qconf -Mstree tree")) == ("changed sharetree\n", "", 0)
    assert shell("qconf -sst").out == "Root=1\n   u1=11\n   p=30\n"
    outcome = shell.as_root("qconf -mstnode /u1")
    assert outcome.status == 1
    assert outcome.err.endswith("no modifications to sharetree\n")


@pytest.mark.statement("QF-15")
def test_searching(shell: Shell, cell: Cell) -> None:
    cell.add("host_group", "@g", hostlist="h2 h3")
    cell.configure("cluster_queue", "all.q", slots="1,[@g=2],[h3=3]")
    assert shell("qconf -sobjl queue slots 1").out == "all.q\n"
    assert shell("qconf -sobjl queue_domain slots '*'").out == "all.q@@g\n"
    assert shell("qconf -sobjl queue_instance 'slo*' 3").out == "all.q@h3\n"
    assert printed(shell("qconf -sobjl queue slots 9")) == ("", "", 0)
    outcome = shell("qconf -sobjl calendar year NONE")
    assert (outcome.out, outcome.status) == ("", 1)
    assert '"calendar" cannot be searched' in outcome.err


@pytest.mark.statement("QF-16", "CQ-18", "CQ-19")
def test_detached_settings(shell: Shell) -> None:
    outcome = shell.as_root("qconf -mattr queue seq_no 7 all.q@h9")
    assert outcome.status == 0
    assert "h9" in outcome.err, "accepted with a warning"
    outcome = shell("qconf -sds")
    assert (outcome.err, outcome.status, len(outcome.lines)) == ("", 1, 1)
    assert "all.q" in outcome.out and "seq_no" in outcome.out and "h9" in outcome.out


@pytest.mark.statement("QF-8")
def test_purging(shell: Shell, cell: Cell) -> None:
    cell.add("host_group", "@g", hostlist="h2 h3")
    cell.configure("cluster_queue", "all.q", slots="1,[@g=2],[h3=3]", seq_no="0,[h3=8]", notify="0:0:60,[h3=5]")
    assert shell.as_root("qconf -purge queue slots,seq_no all.q@h3").status == 0
    assert (queue(cell, "slots"), queue(cell, "seq_no")) == ("1,[@g=2]", "0")
    assert "[h3=" in queue(cell, "notify")
    assert shell.as_root("qconf -purge queue '*' all.q@h3").status == 0
    assert "[" not in queue(cell, "notify")
    outcome = shell.as_root("qconf -purge queue slots all.q@h1")
    assert printed(outcome) == ("", 'Attribute name ("slots") and/or value ("h1") not found\n', 0)
    assert shell.as_root("qconf -purge queue slots all.q@@g").status == 0
    assert queue(cell, "slots") == "1"
    for line in ("queue slots all.q", "exechost complex_values h1"):
        assert shell.as_root(f"qconf -purge {line}").status == 1


@pytest.mark.statement("QF-7", "QF-5")
def test_lines_of_queues_replaced(shell: Shell, cell: Cell) -> None:
    assert shell.as_root("qconf -mqattr slots '3,[h1=5]' all.q").status == 0
    assert queue(cell, "slots") == "3,[h1=5]"
    shell.as_root("qconf -mqattr slots 4 all.q")
    assert shell.as_root("qconf -mqattr queue seq_no 2 all.q").status == 0
    write(shell, "lines", "slots 9\npriority 5\n")
    assert shell.as_root("qconf -Mqattr lines all.q").status == 0
    assert shell("qconf -sq all.q@h2").lines[2] == "seq_no                2"
    assert [cell.state.configs["all.q@h2"].slots, queue(cell, "priority")] == [9, "5"]
    assert shell.as_root("qconf -mqattr slots").err.startswith("error: -mqattr option must have argument")


@pytest.mark.statement("QF-1", "QF-3", "QF-4", "QF-5", "HG-10")
def test_attributes_by_file(shell: Shell, cell: Cell) -> None:
    write(shell, "bob", "owner_list bob\n")
    write(shell, "both", "owner_list alice bob\n")
    for option, owners in (
        ("-Aattr queue bob", ["bob"]),
        ("-Aattr queue both", ["alice", "bob"]),
        ("-Dattr queue bob", ["alice"]),
        ("-Dattr queue bob", ["alice"]),
        ("-Mattr queue both", ["alice", "bob"]),
        ("-Rattr queue bob", ["bob"]),
    ):
        assert shell.as_root(f"qconf {option} all.q").status == 0
        assert sorted(queue(cell, "owner_list").replace(",", " ").split()) == owners, option
    write(shell, "group", "hostlist h1\n")
    assert shell.as_root("qconf -Dattr hostgroup group @allhosts").status == 0
    assert shell("qconf -shgrp_resolved @allhosts").out == "h2 h3\n"
    write(shell, "empty", "# nothing\n")
    assert shell.as_root("qconf -Mattr queue empty all.q").err == "qconf: empty names no attribute\n"
    assert shell.as_root("qconf -Mattr queue missing all.q").err == "qconf: cannot read missing: No such file or directory\n"
    (shell.cwd / "noise").write_bytes(b"slots \xff\n")
    assert shell.as_root("qconf -Mattr queue noise all.q").err == "qconf: cannot read noise: not UTF-8 text\n"


@pytest.mark.statement("QS-4", "QF-39")
def test_instances_that_qselect_found(shell: Shell, cell: Cell) -> None:
    found = shell("qselect -q '*@h[12]'").out.replace("\n", " ")
    assert shell.as_root(f"qconf -mattr queue slots 7 {found}").status == 0
    assert {name: config.slots for name, config in cell.state.configs.items()} == {"all.q@h1": 7, "all.q@h2": 7, "all.q@h3": 4}


@pytest.mark.statement("HG-5", "HG-12")
def test_members_that_a_rule_found(shell: Shell, cell: Cell) -> None:
    cell.add("host_group", "@linux", hostlist="NONE", rule="arch=lx-* & !hostname=h2")
    cell.add("host_group", "@both", hostlist="@linux h2")
    assert shell("qconf -shgrp_resolved @both").out == "h2 h1 h3\n"
    assert shell("qconf -shgrp_tree @both").out == "@both\n   @linux\n      h1\n      h3\n   h2\n"
    assert "rule arch=lx-* & !hostname=h2" in shell("qconf -shgrp @linux").lines
    shell.as_root("qconf -rattr hostgroup hostlist NONE @both")
    assert shell("qconf -shgrp_resolved @both").out == ""


@pytest.mark.statement("EV-10", "QF-34")
def test_event_clients(shell: Shell) -> None:
    client = shell.event_clients.register("qevent", Caller("bob", 1002, "users", 100, "h2"), [])
    assert not isinstance(client, str)
    assert shell("qconf -secl").lines[3] == f"{client.id:8} {'qevent':<15} {'h2':<25}"
    assert shell(f"qconf -kec {client.id}").status == 1, "alice is no manager"
    outcome = shell.as_root(f"qconf -kec 999,{client.id}")
    assert outcome.err == "no event client known with id 999 to shutdown\n"
    assert outcome.out == f"sent shutdown notification to event client qevent with id {client.id} on host h2\n"
    assert (outcome.status, len(shell("qconf -secl").lines)) == (1, 3)
    shell.event_clients.register("qevent", Caller("bob", 1002, "users", 100, "h2"), [])
    assert shell.as_root("qconf -kec all").status == 0
    assert len(shell("qconf -secl").lines) == 3, "the scheduler stays"


@pytest.mark.statement("QF-34")
def test_parts_of_the_qmaster(shell: Shell) -> None:
    assert printed(shell.as_root("qconf -at scheduler")) == ("", "scheduler thread is already running\n", 0)
    for option in ("-at", "-kt"):
        assert printed(shell.as_root(f"qconf {option} jvm")) == ("", 'thread with name "jvm" is not supported\n', 1)


@pytest.mark.statement("QF-33")
def test_clearing_usage(shell: Shell, cell: Cell) -> None:
    cell.add("user", "alice")
    cell.add("user", "bob")
    both = 'root@master modified "alice" in user list\nroot@master modified "bob" in user list\n'
    assert printed(shell.as_root("qconf -clearusage")) == (both, "", 0)
    assert printed(shell.as_root("qconf -clearusage alice,bob")) == (both, "", 0)
    assert printed(shell.as_root("qconf -clearusage nosuch")) == ("", 'denied: user "nosuch" does not exist\n', 1)


@pytest.mark.statement("GD-2", "QF-4", "QF-8")
def test_attributes_of_a_file_change_together_or_not_at_all(shell: Shell, cell: Cell) -> None:
    write(shell, "good", "slots 11\nseq_no 12\n")
    assert printed(shell.as_root("qconf -Mattr queue good all.q")) == (
        'root@master modified "all.q" in cluster queue list\n',
        "",
        0,
    )
    for number, (text, token) in enumerate((("slots 1\nseq_no bad\n", '"seq_no"'), ("slots 1\nnosuch 3\n", '"nosuch"'))):
        before = dict(cell.state.kind("cluster_queue")["all.q"])
        outcome = shell.as_root(f"qconf -Mattr queue {write(shell, f'bad{number}', text)} all.q")
        assert (outcome.out, outcome.status) == ("", 1)
        assert token in outcome.err
        assert cell.state.kind("cluster_queue")["all.q"] == before
    revision = cell.state.revision
    shell.as_root("qconf -Mattr queue good all.q@h1")
    assert cell.state.revision == revision + 1
    missing = 'Attribute name ("notify") and/or value ("h1") not found\n'
    outcome = shell.as_root("qconf -purge queue slots,seq_no,notify all.q@h1")
    assert printed(outcome) == ('root@master modified "all.q" in cluster queue list\n', missing, 0)
    assert (queue(cell, "slots"), queue(cell, "seq_no")) == ("11", "12")
    assert "no attribute is named" in shell.as_root("qconf -purge queue , all.q@h1").err


@pytest.mark.statement("QF-4", "QF-3", "QC-13")
def test_types_are_replaced_by_every_verb(shell: Shell, cell: Cell) -> None:
    assert shell.as_root("qconf -mattr queue qtype INTERACTIVE all.q").status == 0
    assert queue(cell, "qtype") == "INTERACTIVE"
    assert shell.as_root("qconf -dattr queue qtype INTERACTIVE all.q").status == 0
    assert queue(cell, "qtype") == "INTERACTIVE", "no list, so nothing can be taken out"
    assert shell.as_root("qconf -mattr userset type DEPT arusers").status == 0
    assert shell("qconf -su arusers").lines[1] == "type    DEPT"
