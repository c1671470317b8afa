"""Sessions side by side and in sequence, of one user and of two, and more sessions than the configuration allows."""

from __future__ import annotations

import pytest

from tests import needs
from tests.integration.cells import DemoCell, eventually
from tests.integration.drmaa.programs import Programs


@pytest.mark.statement("DM-1")
def test_a_second_session_of_a_process_begins_without_the_jobs_of_the_first(programs: Programs) -> None:
    printed = programs.python("""
first, over = s.contact, s.runJob(shell("exit 4"))
s.exit()
tell([tried(s.runJob, None)[0], tried(s.wait, over, 0)[0]])
s.initialize()
tell([s.contact != first, tried(s.wait, "DRMAA_JOB_IDS_SESSION_ANY", 0)[0], s.wait(over, FOREVER).exitStatus])
tell(s.wait(s.runJob(shell("exit 5")), FOREVER).exitStatus)
""")
    none = "NoActiveSessionException"
    assert printed == [[none, none], [True, "InvalidJobException", 4], 5]


@pytest.mark.statement("DM-1")
def test_two_processes_in_one_session_both_learn_of_the_end(programs: Programs) -> None:
    cell = programs.cell
    gate = cell.work / "both"
    waits = "tell(s.contact)\nsys.stdin.readline()\ntell(s.wait('DRMAA_JOB_IDS_SESSION_ANY', FOREVER).exitStatus)"
    first = programs.start(f"s.runJob(shell('while [ ! -e {gate} ]; do sleep 0.1; done; exit 6'))\n{waits}")
    assert first.stdout is not None
    contact = first.stdout.readline().strip().strip('"')
    second = programs.start(waits, CONTACT=contact)
    assert second.stdout is not None and contact in second.stdout.readline()
    gate.touch()
    assert [program.communicate("\n", timeout=120)[0] for program in (first, second)] == ["6\n", "6\n"]


@needs.root
@pytest.mark.statement("DM-1", "DM-3")
def test_a_user_may_neither_wait_for_nor_end_a_job_of_another_user(programs: Programs) -> None:
    cell = programs.cell
    number = cell.must("qsub", "-terse", "-b", "y", "-h", "-o", "/dev/null", "-j", "y", "true").strip()
    printed = programs.python(
        f"""
tell(tried(s.wait, "{number}", 60)[0])
tell(tried(s.synchronize, ["{number}"], 60, True)[0])
tell(tried(s.jobStatus, "{number}"))
for verb in ("hold", "release", "terminate"):
    tell(tried(s.control, "{number}", verb)[0])
""",
        user="nobody",
    )
    assert cell.must("qstat", "-u", "*").split().count(number) == 1, "nothing has happened to it"
    cell.must("qdel", number)
    invalid = "InvalidJobException"
    assert printed[:2] == [invalid, invalid], printed
    assert printed[3:] == ["AuthorizationException"] * 3, printed
    eventually("it is gone", lambda: number not in cell.must("qstat", "-u", "*").split())


def allow_sessions(cell: DemoCell, parameters: str) -> None:
    """Set qmaster_params of the global configuration."""
    lines = [line for line in cell.must("qconf", "-sconf").splitlines() if not line.startswith(("#", "qmaster_params"))]
    written = cell.work / "global"
    written.write_text("\n".join([*lines, f"qmaster_params {parameters}", ""]))
    cell.must("qconf", "-Mconf", str(written))


@pytest.mark.statement("DM-4")
def test_sessions_beyond_the_limit_are_refused_and_can_wait_later(programs: Programs) -> None:
    cell = programs.cell
    allow_sessions(cell, "MAX_DYN_EC=0")
    try:
        program = programs.start("""
number = s.runJob(shell("exit 3"))
tell(tried(s.wait, number, FOREVER))
sys.stdin.readline()
tell(s.wait(number, FOREVER).exitStatus)
""")
        assert program.stdout is not None
        refused = program.stdout.readline()
    finally:
        allow_sessions(cell, "none")
    assert "as many sessions as MAX_DYN_EC allows" in refused, refused
    out, err = program.communicate("\n", timeout=120)
    assert (out, err) == ("3\n", "")
