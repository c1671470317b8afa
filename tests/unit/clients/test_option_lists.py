"""Options of the listing commands with several arguments, and given more than once (O)."""

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
