"""The cell of several hosts: brought up by the documented commands, and an ordinary user works on it."""

from __future__ import annotations

import pytest

from tests.integration.cells import eventually


@pytest.mark.statement("GC-5", "IN-2")
def test_a_user_runs_a_job_from_an_exec_host_on_another(testbed_cell):
    for host in ("t2", "t3"):
        done = testbed_cell.as_user(
            "alice", "t1", "qsub", "-sync", "y", "-terse", "-l", f"h={host}",
            "-b", "y", "-j", "y", "-o", "/var/tmp", "hostname",
        )
        assert done.returncode == 0, done.stderr
        job = done.stdout.split()[0]
        records = []

        def recorded(job: str = job, records: list[str] = records) -> bool:
            records[:] = testbed_cell.as_user("alice", "t1", "qacct", "-j", job).stdout.splitlines()
            return bool(records)

        eventually("the accounting record is there", recorded)
        fields = dict(line.split(None, 1) for line in records if len(line.split(None, 1)) == 2)
        assert fields["hostname"].strip() == host and fields["owner"].strip() == "alice"
        testbed_cell.on("t1", "sh", "-c", f"rm -f /var/tmp/hostname.o{job}")


def test_root_is_a_manager_and_alice_is_not(testbed_cell):
    assert testbed_cell.on("tm", "qconf", "-sm").stdout.split() == ["root"]
    assert testbed_cell.as_user("alice", "t1", "qmod", "-d", "all.q").returncode != 0


def test_every_host_has_50_slots(testbed_cell):
    lines = testbed_cell.on("tm", "qstat", "-f").stdout.splitlines()
    slots = {row[0]: row[2] for row in map(str.split, lines) if row and row[0].startswith("all.q@")}
    assert {name: text.split("/")[2] for name, text in slots.items()} == {f"all.q@t{n}": "50" for n in (1, 2, 3)}
