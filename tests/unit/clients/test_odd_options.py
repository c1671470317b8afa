"""Odd options and values, each compared with the real 8.1.9 (O)."""

from __future__ import annotations

import pytest

from tests.harness import Cell
from tests.unit.clients.shell import Shell


@pytest.mark.statement("ST-3", "QS-2", "QH-4")
@pytest.mark.parametrize(
    ("given", "joined"),
    [
        ("qstat -f -q all.q@h1 all.q@h2", "qstat -f -q all.q@h1,all.q@h2"),
        ("qstat -u alice bob -s p", "qstat -u alice,bob -s p"),
        ("qstat -F slots arch -q all.q@h1", "qstat -F slots,arch -q all.q@h1"),
        ("qstat -f -l slots=1 h=h1", "qstat -f -l slots=1,h=h1"),
        ("qstat -g c d", "qstat -g cd"),
        ("qselect -l slots=1 h=h1", "qselect -l slots=1,h=h1"),
        ("qselect -pe mpi mpi", "qselect -pe mpi"),
        ("qhost -h h1 h2 -q", "qhost -h h1,h2 -q"),
        ("qhost -F slots arch", "qhost -F slots,arch"),
        ("qquota -u alice bob", "qquota -u alice,bob"),
        ("qstat -s r -s p", "qstat -s p"),
        ("qstat -s r p", "qstat -s p"),
        ("qstat -F slots -F arch", "qstat -F arch"),
        ("qstat -j 1 -j 2", "qstat -j 2"),
    ],
)
def test_arguments_are_a_list_and_the_last_option_counts(shell: Shell, given: str, joined: str) -> None:
    shell("qsub -h -b y -N one sleep 9")
    shell("qsub -b y -N two sleep 9")
    one, other = shell(given), shell(joined)
    assert (one.out, one.err, one.status) == (other.out, other.err, 0)


@pytest.mark.statement("ST-3", "ST-28", "QS-5")
@pytest.mark.parametrize(
    ("command", "status", "lines"),
    [
        ("qstat -q all.q -qs E", 0, 0),
        ("qstat -f -q all.q -qs E", 0, 0),
        ("qstat -f -q all.q -l arch=nosuch", 0, 0),
        ("qstat -g c -q all.q -qs E", 0, 2),
        ("qstat -f -q all.q -qs E -xml", 0, 7),
        ("qstat -f -q nosuch", 1, 0),
        ("qstat -g c -q nosuch", 1, 0),
        ("qstat -f -l h=nosuch", 1, 0),
        ("qselect -q all.q -qs E", 1, 0),
    ],
)
def test_qstat_fails_for_an_unknown_name_alone(shell: Shell, command: str, status: int, lines: int) -> None:
    outcome = shell(command)
    assert (outcome.status, len(outcome.lines)) == (status, lines), outcome


@pytest.mark.statement("QS-2")
@pytest.mark.parametrize(
    ("users", "listed"), [("alice", "yes"), ("alice,bob", ""), ("al*", "yes"), ("*", "yes"), ("bob", ""), ("b*", "")]
)
def test_all_users_have_access_and_a_pattern_is_each_entry_that_matches(
    shell: Shell, cell: Cell, users: str, listed: str
) -> None:
    cell.add("userset", "some", type="ACL", entries="alice")
    cell.configure("cluster_queue", "all.q", user_lists="some")
    assert bool(shell(f"qselect -U {users}").out) == bool(listed)


@pytest.mark.statement("ST-18", "ST-24")
def test_two_counts_of_slots_are_listed(shell: Shell) -> None:
    shell("qsub -h -b y -pe mpi 2-3,5-8,10-11 sleep 9")
    assert "range: 2,3,5-8,10,11" in shell("qstat -j 1").out
    assert "       Requested PE:     mpi 2,3,5-8,10,11" in shell("qstat -r").lines


@pytest.mark.statement("QI-2")
def test_state_codes_of_an_instance_are_in_order(shell: Shell) -> None:
    shell.as_root("qmod -d all.q@h1")
    shell.as_root("qmod -s all.q@h1")
    assert shell("qstat -f -q all.q@h1").lines[2].split()[-1] == "ds"


@pytest.mark.statement("QF-1", "QF-4")
@pytest.mark.parametrize("attribute", ["hostlist", "pe_list", "projects", "complex_values"])
def test_an_empty_value_empties_no_list(shell: Shell, cell: Cell, attribute: str) -> None:
    """As of the unset variable of a script."""
    before = dict(cell.state.kind("cluster_queue")["all.q"])
    outcome = shell.as_root(f"qconf -rattr queue {attribute} '' all.q")
    assert outcome.status == 1 and "a value is expected" in outcome.err
    assert dict(cell.state.kind("cluster_queue")["all.q"]) == before


@pytest.mark.statement("QF-5")
def test_a_file_has_an_attribute_once(shell: Shell, cell: Cell) -> None:
    (shell.cwd / "changes").write_text("slots 14\nslots 15\n")
    outcome = shell.as_root("qconf -Mattr queue changes all.q")
    assert outcome.status == 1 and 'attribute "slots" is given more than once' in outcome.err
    assert cell.state.kind("cluster_queue")["all.q"]["slots"] == "4"


@pytest.mark.statement("SO-14")
@pytest.mark.parametrize("queue", ["all.q@h1", "*@h1", "@allhosts"])
def test_a_request_for_a_queue_names_no_instance(shell: Shell, queue: str) -> None:
    outcome = shell(f"qsub -b y -l q={queue} sleep 9")
    assert outcome.status == 1 and "which -q takes" in outcome.err
    assert shell("qsub -b y -l q=all.q sleep 9").status == 0


@pytest.mark.statement("SB-1")
def test_arguments_behind_dashes_are_those_of_a_script_from_the_standard_input(shell: Shell) -> None:
    """As in 8.1.9; a program takes its name from there, too."""
    assert '("STDIN")' in shell("qsub -- a -x b", stdin="echo $*\n").out
    assert (shell.submitted["script"], shell.submitted["args"]) == ("echo $*\n", ["a", "-x", "b"])
    assert "script_file:                STDIN" in shell("qsub -verify -- a", stdin="echo\n").out
    refused = shell("qsub --", stdin="echo\n")
    assert refused.status == 2 and "must be followed by job arguments" in refused.err
    assert '("true")' in shell("qsub -b y -- true -x").out
    assert shell.submitted["args"] == ["-x"]


@pytest.mark.statement("RQ-1")
def test_tabs_divide_the_parts_of_a_rule(shell: Shell, cell: Cell) -> None:
    text = "{\nname\tfew\ndescription\ta\tb\nenabled\tTRUE\nlimit\tusers\talice\tqueues\tall.q\tto slots=2\n}\n"
    (shell.cwd / "set").write_text(text)
    assert shell.as_root("qconf -Arqs set").status == 0
    kept = cell.state.kind("resource_quota")["few"]
    assert (kept["description"], kept["limit"]) == ("a b", "users alice queues all.q to slots=2")


@pytest.mark.statement("IA-1")
@pytest.mark.parametrize(("command", "status"), [("qsub", 7), ("qrsh", 1), ("qlogin", 1), ("qsh", 1)])
def test_a_wrong_value_has_no_code_that_a_command_on_a_host_may_have(shell: Shell, command: str, status: int) -> None:
    outcome = shell(f"{command} -p abc")
    assert outcome.status == status and 'invalid priority "abc"' in outcome.err


@pytest.mark.statement("TI-1")
@pytest.mark.parametrize("operands", ["", "h1"])
def test_a_slave_task_needs_a_host_and_a_command(shell: Shell, operands: str) -> None:
    outcome = shell(f"qrsh -inherit {operands}")
    assert outcome.status == 1 and "a host is expected, and a command" in outcome.err
    assert not shell.asked


@pytest.mark.statement("ST-18")
def test_the_reservation_of_a_job_is_shown_before_its_tasks(shell: Shell) -> None:
    shell.as_root("qconf -au alice arusers")
    shell("qrsub -d 3600 -l h=h1")
    shell("qsub -h -b y -ar 1 -t 1-3 -ac a=b sleep 9")
    labels = [line.partition(":")[0] for line in shell("qstat -j 1").lines]
    assert labels.index("ar_id") < labels.index("job-array tasks") < labels.index("context")


@pytest.mark.statement("ST-25")
def test_the_title_of_finished_jobs_is_that_of_the_original(shell: Shell) -> None:
    shell("qsub -h -b y -N gone true")
    shell("qdel gone")
    title = next(line for line in shell("qstat -f -s z").lines if "FINISHED" in line)
    assert title == " --  FINISHED JOBS  -  FINISHED JOBS  -  FINISHED JOBS  -  FINISHED JOBS  --  "
