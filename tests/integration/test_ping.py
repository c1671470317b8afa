"""qping as an ordinary user of an exec host runs it."""

from __future__ import annotations

import re

import pytest

from tests.integration.cells import TestbedCell

INFO = r"""\d\d/\d\d/\d{4} \d\d:\d\d:\d\d:
SIRM version:             0\.1
SIRM message id:          1
start time:               \d\d/\d\d/\d{4} \d\d:\d\d:\d\d \((\d+)\)
run time \[s\]:             \d+
messages in read buffer:  \d+
messages in write buffer: \d+
no\. of connected clients: \d+
status:                   0
info:                     (.*) \| OK
Monitor:                  disabled


"""


@pytest.mark.statement("QP-1")
def test_daemons_that_answer_and_those_that_do_not(testbed_cell: TestbedCell) -> None:
    def qping(*arguments: str) -> tuple[int, str, str]:
        done = testbed_cell.as_user("alice", "t1", "qping", *arguments)
        return done.returncode, done.stdout, done.stderr

    for place, part in ((("tm", "6444", "qmaster", "1"), "timer000: R"), (("t2", "6445", "execd", "1"), "sge_execd_process")):
        status, out, errors = qping("-info", *place)
        assert (status, errors) == (0, "")
        found = re.fullmatch(INFO, out)
        assert found and part in found[2], out
    assert qping("-info", "tm", "6444", "execd", "1")[0] == 1
    assert 'local endpoint "tm/qmaster/1" doesn\'t match requested endpoint "tm/execd/1"' in qping("tm", "6444", "execd", "1")[2]
    status, _, errors = qping("-info", "tm", "7000", "qmaster", "1")
    assert (status, errors) == (
        1,
        "got select error: Connection refused\nendpoint tm/qmaster/1 at port 7000: can't find connection\n",
    )
    assert qping("-info", "nohost", "6444", "qmaster", "1") == (1, "", "could not resolve hostname nohost\n")
    twice = testbed_cell.as_user("alice", "t1", "sh", "-c", "qping -i 1 tm 6444 qmaster 1 | head -n 2")
    lines = twice.stdout.splitlines()
    assert (len(lines), twice.stderr) == (2, "")
    assert all(re.fullmatch(r"\S+ \S+ endpoint tm/qmaster/1 at port 6444 is up for \d+ seconds", line) for line in lines)
