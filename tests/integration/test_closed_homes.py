"""Jobs in homes that root cannot enter, as on a file server with `root_squash`: the daemons of one host run as root without the
rights by which root reads and writes the files of others (CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.integration import debian
from tests.integration.cells import TestbedCell

#: minutes long: `make sites`
pytestmark = pytest.mark.apart

HOST = "t3"
SQUASHED = ("setpriv", "--bounding-set", "-dac_override,-dac_read_search")
HOME = "/home/ge-test-closed"


@pytest.fixture
def home(testbed_cell: TestbedCell) -> Iterator[str]:
    """A directory of alice with mode 0700, and a host whose root cannot enter it."""
    debian.need("setpriv")
    cell = testbed_cell
    cell.on("tm", "sh", "-c", f"mkdir -p {HOME}/work {HOME}/bin && chown -R alice: {HOME} && chmod 700 {HOME}")
    cell.on(HOST, "gridengine", "stop")
    done = cell.on(HOST, *SQUASHED, "gridengine", "start")
    assert done.returncode == 0, done.stderr
    try:
        yield HOME
    finally:
        cell.on("tm", "qdel", "-f", "-u", "*")
        cell.on(HOST, "gridengine", "stop")
        cell.start(HOST)
        cell.on("tm", "rm", "-rf", HOME)


def run_there(cell: TestbedCell, text: str) -> str:
    """Run a shell text as alice in the closed home, on the host, and return its output."""
    done = cell.as_user("alice", HOST, "env", f"HOME={HOME}", "sh", "-ec", f"cd {HOME}/work\n{text}")
    assert done.returncode == 0, f"{text}: exit {done.returncode}: {done.stdout}{done.stderr}"
    return done.stdout


def test_root_of_the_host_cannot_enter_the_home(testbed_cell: TestbedCell, home: str) -> None:
    refused = testbed_cell.on(HOST, *SQUASHED, "ls", home)
    assert refused.returncode and "Permission denied" in refused.stderr
    daemons = testbed_cell.on(HOST, "sh", "-c", "grep -h CapEff /proc/[0-9]*/status | sort -u").stdout
    effective = [int(line.split()[1], 16) for line in daemons.splitlines()]
    assert any(bits and not bits & 0b110 for bits in effective), "the daemons lack CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH"


@pytest.mark.statement("SO-12")
def test_files_that_a_job_names_are_read_and_written_as_its_owner(testbed_cell: TestbedCell, home: str) -> None:
    submit = f"qsub -sync y -q all.q@{HOST}"
    text = f"""
        echo given > in
        printf 'cat; pwd; echo problem >&2\\n' > job.sh
        echo '-N named' > .sge_request
        {submit} -cwd -i in -o out -e err job.sh >/dev/null
        rm .sge_request
        mkdir many
        {submit} -cwd -t 1-2 -j y -o many -N each job.sh >/dev/null
        printf '#!/bin/sh\\necho own program, $1\\n' > ../bin/program; chmod 700 ../bin/program
        {submit} -wd {home}/work -b y -j y -o {home}/work/binary {home}/bin/program first >/dev/null
        {submit} -cwd -S {home}/bin/program -j y -o shell job.sh >/dev/null
        cat out err; ls many | wc -l; cat binary; wc -l < shell; qstat -u '*' | wc -l
    """
    lines = ["given", f"{home}/work", "problem", "2", "own program, first", "1", "0"]
    assert run_there(testbed_cell, text).splitlines() == lines


def test_sessions_run_in_the_home(testbed_cell: TestbedCell, home: str) -> None:
    text = f"echo kept > file; qrsh -cwd -q all.q@{HOST} 'cat file; pwd'"
    assert run_there(testbed_cell, text).split() == ["kept", f"{home}/work"]


def test_methods_of_the_owner_run_from_the_home_and_write_into_the_output(testbed_cell: TestbedCell, home: str) -> None:
    run_there(testbed_cell, "printf '#!/bin/sh\\necho prolog as $(id -un)\\n' > prolog; chmod 700 prolog")
    queue = ("qconf", "-rattr", "queue")
    testbed_cell.on("tm", *queue, "prolog", f"alice@{home}/work/prolog", f"all.q@{HOST}")
    try:
        text = f"qsub -sync y -q all.q@{HOST} -cwd -b y -j y -o out echo job >/dev/null; cat out"
        assert run_there(testbed_cell, text).splitlines() == ["prolog as alice", "job"]
    finally:
        testbed_cell.on("tm", "qconf", "-purge", "queue", "prolog", f"all.q@{HOST}")
