"""An empty argument, as of a script whose variable is not set, never means everything (exit codes of O)."""

from __future__ import annotations

import pytest

from tests.unit.clients.shell import Shell

COMMANDS = (
    "qstat -q", "qstat -u", "qstat -l", "qstat -s", "qstat -U", "qstat -pe", "qstat -f -q", "qhost -h", "qhost -u", "qhost -l",
    "qselect -q", "qselect -l", "qselect -pe", "qselect -U", "qselect -qs", "qquota -u", "qquota -q", "qacct -j", "qacct -o",
    "qacct -q", "qacct -h", "qacct -l", "qrstat -ar", "qconf -se", "qconf -shgrp", "qconf -scal", "qconf -sp",
    "qdel", "qdel -u", "qhold -u", "qrls -u", "qrdel", "qrdel -u", "qmod -d", "qmod -sj", "qmod -cq", "qmod -f -sq",
    "qconf -dq", "qconf -de", "qconf -as", "qconf -am", "qconf -kej", "qconf -cq", "qconf -dhgrp",
)


@pytest.mark.parametrize("command", [f"{command} ''" for command in COMMANDS] + ["qselect -q ','", "qmod -d ', '"])
def test_an_empty_argument_is_refused_and_no_request_is_sent(busy: Shell, command: str) -> None:
    asked = len(busy.asked)
    answer = busy.as_root(command)
    assert (answer.status, answer.out) == (7 if command.startswith(("qhold", "qrls")) else 1, "")
    assert answer.err and len(busy.asked) == asked


@pytest.mark.parametrize("command", ["qstat -F", "qhost -F", "qstat -j"])
def test_where_nothing_may_be_named_it_is_as_if_nothing_was(busy: Shell, command: str) -> None:
    assert busy(f"{command} ''").out == busy(command).out != ""


@pytest.mark.statement("SO-4")
def test_an_empty_account_is_the_default_one(shell: Shell) -> None:
    shell("qsub -h -b y -A mine -A '' sleep 1")
    assert "account:                    sge\n" in shell("qstat -j 1").out
