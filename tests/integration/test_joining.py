"""A bare host joins by a token, runs a job, is drained and removed, as docs/operations.md says, on a disk of its own."""

from __future__ import annotations

import fcntl
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.cells import TEST_PREFIX, TESTBED, Done, TestbedCell, eventually, run

BARE = "bare1"
ROOT = "/opt/local/cells"
"""A directory on its own disk: the host sees no file of the cell."""
TOKEN = "/run/gridengine/test/ray/qmaster.token"
"""The token of the master's Ray node, which restarts with a new token when a host is removed."""


@pytest.fixture
def bare(testbed_cell: TestbedCell) -> Iterator[TestbedCell]:
    assert run([str(TESTBED / "hosts"), "up", BARE]).returncode == 0
    try:
        yield testbed_cell
    finally:
        testbed_cell.on(testbed_cell.master, "gridengine", "host", "remove", "--yes", BARE)
        run([str(TESTBED / "hosts"), "kill", BARE])
        forget(BARE)
        run(["rm", "-rf", f"/var/lib/testbed/{BARE}"])


def forget(*names: str) -> None:
    """Remove hosts from the test bed's list, in which hosts of other cells are looked up and added meanwhile."""
    place = Path("/run/testbed")
    with (place / "lock").open("a") as one_at_a_time, (place / "hosts").open("r+") as hosts:
        fcntl.flock(one_at_a_time, fcntl.LOCK_EX)
        kept = [line for line in hosts if line.split()[1] not in names]
        hosts.seek(0)  # it is written in place, over what was there: it is everybody's /etc/hosts, and never empty
        hosts.write("".join(kept))
        hosts.truncate()


def joins(cell: TestbedCell, host: str, token: str, *options: str) -> Done:
    """The output of `gridengine join` on a host, which receives the token on standard input as from `gridengine token join"""
    return cell.on(host, "gridengine", "join", cell.master, "--token", "-", *options, input=token, stdin=None)


def there(cell: TestbedCell, *command: str) -> str:
    """The output of a command on the bare host, with its own copy of the cell; the command must succeed."""
    done = cell.on(BARE, "env", f"SGE_ROOT={ROOT}", *command)
    assert done.returncode == 0, (command, done.stdout, done.stderr)
    return done.stdout


def at_master(cell: TestbedCell, *command: str) -> str:
    done = cell.on(cell.master, *command)
    assert done.returncode == 0, (command, done.stdout, done.stderr)
    return done.stdout


def row(cell: TestbedCell, *options: str) -> str:
    """The state of the bare host's instance in qstat -f."""
    found = re.search(rf"^all\.q@{BARE} .*\n(\t.*\n)*", at_master(cell, "qstat", "-f", *options), re.MULTILINE)
    return found[0] if found else ""


def test_a_bare_host_joins_runs_a_job_is_drained_and_goes(bare: TestbedCell) -> None:
    token = at_master(bare, "gridengine", "token", "join", "--hours", "0.5").strip()
    refused = joins(bare, "t1", token, "--name", BARE, "--root", "/opt/local/nothing")
    assert refused.returncode == 1 and "asks: correct the names" in refused.stderr
    seen = bare.on(BARE, "gridengine", "join", bare.master, "--token", token)
    assert seen.returncode == 1 and "every user of this host can see the command line" in seen.stderr
    done = joins(bare, BARE, token, "--root", ROOT)
    assert done.returncode == 0 and f"next: . {ROOT}/test/common/settings.sh && gridengine start" in done.stdout, done.stderr
    there(bare, "gridengine", "start")
    eventually("it takes jobs", lambda: len(row(bare).split()) == 5)
    # its copy of the cell's files is old: it follows the master by itself
    common = f"{ROOT}/test/common"
    stale = f"cd {common}; echo {BARE} > act_qmaster; echo old > qtask; printf 'a\\nb\\n' > shadow_masters"
    there(bare, "sh", "-c", stale)
    eventually("it follows", lambda: there(bare, "cat", f"{common}/act_qmaster").strip() == bare.master)
    there(bare, "sh", "-c", f"test ! -e {common}/shadow_masters -a ! -e {common}/qtask")
    job = bare.as_user("alice", "t1", "qsub", "-sync", "y", "-b", "y", "-o", "/dev/null", "-l", f"h={BARE}", "hostname")
    assert "exited with exit code 0" in job.stdout, job.stdout + job.stderr
    assert BARE in there(bare, "qhost", "-h", BARE), "its own commands find the master by its gateway"

    again = joins(bare, BARE, at_master(bare, "gridengine", "token", "join", BARE).strip(), "--root", ROOT)
    assert "&& gridengine stop && gridengine start" in again.stdout, "the daemon that runs has keys that are void now"
    there(bare, "gridengine", "stop")
    assert f"{BARE} has joined" in there(bare, "gridengine", "start")

    at_master(bare, "gridengine", "host", "drain", BARE, "--reason", "new disk")
    job = bare.as_user("alice", "t1", "qsub", "-terse", "-b", "y", "-o", "/dev/null", "-l", f"h={BARE}", "hostname")
    waiting = job.stdout.strip()
    explained = row(bare, "-explain", "d")
    assert explained.split()[5] == "d" and re.search(r"host drained by root@tm since .*: new disk", explained), explained
    eventually("it is said", lambda: "its host is drained: new disk" in at_master(bare, "qexplain", waiting))
    at_master(bare, "gridengine", "host", "resume", BARE)
    eventually("the job has run", lambda: bare.as_user("alice", "t1", "qacct", "-j", waiting).returncode == 0)

    shown = bare.on(bare.master, "gridengine", "host", "remove", BARE)
    assert shown.returncode == 1 and "exec host" in shown.stdout and 'host group "@allhosts"' in shown.stdout
    rays = at_master(bare, "cat", TOKEN)
    at_master(bare, "gridengine", "host", "remove", "--yes", BARE)
    eventually("the master has a new token", lambda: bare.on(bare.master, "cat", TOKEN).stdout not in ("", rays))
    eventually("and answers", lambda: bare.on(bare.master, "qconf", "-sel").returncode == 0)
    listings = (("qconf", "-sel"), ("qconf", "-sh"), ("qconf", "-shgrp", "@allhosts"), ("gridengine", "host", "list"))
    assert [BARE in at_master(bare, *listing) for listing in listings] == [False] * 4
    eventually("its daemon has ended", lambda: bare.on(BARE, "pgrep", "-f", "sge_execd").returncode == 1)
    known = [line.split() for line in at_master(bare, "gridengine", "token", "list").splitlines()]
    assert [fields[-1] for fields in known] == [BARE, BARE], known
    for fields in known:
        at_master(bare, "gridengine", "token", "revoke", fields[0])
    late = joins(bare, BARE, token, "--root", ROOT)
    assert late.returncode == 1 and "does not accept this host" in late.stderr
    job = bare.as_user("alice", "t1", "qsub", "-sync", "y", "-b", "y", "-o", "/dev/null", "hostname")
    assert "exited with exit code 0" in job.stdout, "the others take jobs again"


def take_over(cell: TestbedCell, host: str, root: str, other: str, others_root: str) -> None:
    """A host takes over; then the other host has its name in its own directory."""
    eventually("all is there", lambda: cell.on(cell.master, "gridengine", "shadow", "show").returncode == 0)
    moved = cell.on(host, "env", f"SGE_ROOT={root}", "gridengine", "shadow", "take-over")
    assert moved.returncode == 0, moved.stderr
    eventually("it follows", lambda: cell.on(other, "cat", f"{others_root}/test/common/act_qmaster").stdout.strip() == host)


def submits_by_pages(cell: TestbedCell) -> bool:
    """Whether the web server of the master, which is no exec host, is believed: a job of a user by REST."""
    token = cell.as_user("alice", cell.master, "gridengine", "web", "--token").stdout.strip()
    headers = ("-H", f"Authorization: Bearer {token}", "-H", "Content-Type: application/json")
    body = ("-d", '{"script_file": "/bin/true", "binary": true}')
    url = "http://localhost:8646/api/v1/jobs"
    done = cell.as_user("alice", cell.master, "curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", *headers, *body, url)
    return done.stdout.startswith("2")


@pytest.mark.statement("SH-2")
def test_a_former_shadow_with_old_files_serves_beside_no_other_master(bare: TestbedCell) -> None:
    """Both hosts have a common directory of their own, and nothing is copied by hand."""
    token = at_master(bare, "gridengine", "token", "join", "--hours", "0.5").strip()
    done = joins(bare, BARE, token, "--root", ROOT)
    assert done.returncode == 0, done.stderr
    there(bare, "gridengine", "start")
    common = f"{ROOT}/test/common"
    try:
        at_master(bare, "gridengine", "web")
        assert submits_by_pages(bare)
        at_master(bare, "gridengine", "shadow", "add", BARE)
        eventually("it knows that it may be the master", lambda: bare.on(BARE, "grep", BARE, f"{common}/shadow_masters").stdout)
        there(bare, "gridengine", "start")
        eventually("the pages are believed", lambda: submits_by_pages(bare))
        at_master(bare, "gridengine", "web", "--stop")
        at_master(bare, "gridengine", "web")
        eventually("and those that start now", lambda: submits_by_pages(bare))
        at_master(bare, "gridengine", "web", "--stop")
        take_over(bare, BARE, ROOT, bare.master, str(TEST_PREFIX / "cells"))
        take_over(bare, bare.master, str(TEST_PREFIX / "cells"), BARE, ROOT)
        assert re.search(f"master host +{bare.master}", there(bare, "gridengine", "status"))
    finally:
        removed = bare.on(bare.master, "gridengine", "shadow", "remove", BARE)
    assert removed.returncode == 0, removed.stderr
    there(bare, "gridengine", "stop")
    there(bare, "sh", "-c", f"cd {common}; echo {BARE} > act_qmaster; rm -f shadow_masters")
    refused = bare.on(BARE, "env", f"SGE_ROOT={ROOT}", "gridengine", "start")
    assert refused.returncode == 1, refused.stdout
    assert f"host {bare.master} serves as the master of this cell" in refused.stderr, refused.stderr
    there(bare, "sh", "-c", f"echo {bare.master} > {common}/act_qmaster")
    there(bare, "gridengine", "start")
    eventually("it takes jobs", lambda: len(row(bare).split()) == 5)
