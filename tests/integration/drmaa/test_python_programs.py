"""Programs that use the package `drmaa`, which binds every call of the standard: attributes of jobs, and their ends."""

from __future__ import annotations

import os
import pwd
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from tests.integration.drmaa.programs import Programs


@pytest.mark.statement("DM-1")
def test_a_session_and_its_attributes(programs: Programs) -> None:
    answers = programs.python("""
tell([list(s.version), s.drmsInfo, s.drmaaImplementation, s.contact, tried(s.initialize)[0]])
s.exit()
tell([s.drmsInfo, s.contact, tried(s.exit)[0]])
""")
    (version, system, implementation, contact, again), after = answers
    assert (version, system, implementation, again) == ([1, 0], "SGE 8.1.9", "SGE 8.1.9", "AlreadyActiveSessionException")
    assert contact.startswith("session=") and after == ["SGE 8.1.9", "", "NoActiveSessionException"]


@pytest.mark.statement("DM-1")
def test_how_jobs_end(programs: Programs) -> None:
    printed = programs.python("""
made = {
    "well": shell("exit 0"), "badly": shell("exit 3"), "killed": shell("kill -9 $$"), "segv": shell("ulimit -c 0; kill -SEGV $$"),
    "core": shell("ulimit -c unlimited; kill -ABRT $$", workingDirectory=os.getcwd()),
    "none": job("/no/such/program"), "nowhere": job("/bin/true", outputPath=":/no/such/file"),
    "script": job("/bin/true", workingDirectory="/no/such/directory"),
}
numbers = {name: s.runJob(template) for name, template in made.items()}
for name, number in numbers.items():
    end = s.wait(number, FOREVER)
    tell([name, end.exitStatus, end.hasSignal, end.terminatedSignal, end.wasAborted, s.jobStatus(number)])
    assert {"cpu", "maxvmem", "ru_wallclock", "acct_cpu", "signal", "start_time"} < end.resourceUsage.keys(), end.resourceUsage
    assert end.jobId == number and tried(s.wait, number, 0)[0] == "InvalidJobException"
""")
    assert {name: rest for name, *rest in printed} == {
        "well": [0, False, "", False, "done"],
        "badly": [3, False, "", False, "done"],
        "killed": [0, True, "SIGKILL", False, "failed"],
        "segv": [0, True, "SIGSEGV", False, "failed"],
        "core": [0, True, "SIGABRT", False, "failed"],
        "none": [0, False, "", True, "failed"],
        "nowhere": [0, False, "", True, "failed"],
        "script": [0, False, "", True, "failed"],
    }


@pytest.mark.statement("DM-1", "DM-3")
def test_a_job_is_held_released_suspended_resumed_and_ended(programs: Programs) -> None:
    printed = programs.python("""
def until(number, state):
    while s.jobStatus(number) != state:
        time.sleep(0.05)
    return state
number = s.runJob(job("/bin/sleep", "600", jobSubmissionState="drmaa_hold"))
tell([s.jobStatus(number), tried(s.control, number, "suspend")[0], tried(s.control, number, "resume")[0]])
tell(tried(s.wait, number, 0)[0])
s.control(number, "release")
until(number, "running")
s.control(number, "suspend")
until(number, "user_suspended")
s.control(number, "resume")
until(number, "running")
s.control(number, "terminate")
end = s.wait(number, FOREVER)
tell([end.hasSignal, end.terminatedSignal, tried(s.control, number, "terminate")[0]])
waits = s.runJob(job("/bin/true", jobSubmissionState="drmaa_hold"))
s.control("DRMAA_JOB_IDS_SESSION_ALL", "terminate")
end = s.wait(waits, FOREVER)
tell([end.wasAborted, end.resourceUsage, tried(s.control, "9999998", "hold")[0], tried(s.jobStatus, "9999998")[0]])
""")
    invalid = "InvalidJobException"
    inconsistent = ["SuspendInconsistentStateException", "ResumeInconsistentStateException"]
    killed, never_ran = [True, "SIGKILL", invalid], [True, {}, invalid, invalid]
    assert printed == [["user_on_hold", *inconsistent], "ExitTimeoutException", killed, never_ran]


@pytest.mark.statement("DM-1")
def test_a_bulk_is_synchronized_with_and_waited_for(programs: Programs) -> None:
    printed = programs.python("""
numbers = s.runBulkJobs(shell("exit $SGE_TASK_ID"), 2, 8, 3)
s.synchronize(numbers, FOREVER, False)
tell([number.partition(".")[2] for number in numbers])
tell([s.wait(number, 0).exitStatus for number in numbers])
more = s.runBulkJobs(job("/bin/true"), 1, 4, 1) + [s.runJob(job("/bin/true"))]
s.synchronize(["DRMAA_JOB_IDS_SESSION_ALL"], FOREVER, True)
tell([tried(s.wait, number, 0)[0] for number in [*more, "DRMAA_JOB_IDS_SESSION_ANY"]])
mine = {s.runJob(job("/bin/true")) for _ in range(5)}
tell(mine == {s.wait("DRMAA_JOB_IDS_SESSION_ANY", FOREVER).jobId for _ in mine})
""")
    assert printed == [["2", "5", "8"], [2, 5, 8], ["InvalidJobException"] * 6, True]


@pytest.mark.statement("DM-2")
def test_a_job_has_the_attributes_of_its_template(programs: Programs, at_home: Path) -> None:
    name = at_home.name
    (at_home / "in").write_text("typed")
    programs.python(f"""
script = 'echo "$A|$B|$PWD|$1|$2"; echo wrong >&2; cat'
made = job("/bin/sh", "-c", script, "x", "a b", "c,'d")
made.jobEnvironment = {{"A": "1,2 = 3", "B": "ü"}}
made.workingDirectory = "$drmaa_hd_ph$/{name}"
made.inputPath, made.outputPath, made.errorPath = ":$drmaa_hd_ph$/{name}/in", ":$drmaa_wd_ph$/out", ":$drmaa_wd_ph$/err"
made.joinFiles, made.jobName = False, "named"
s.wait(s.runJob(made), FOREVER)
bulk = shell("echo $SGE_TASK_ID", outputPath=":$drmaa_wd_ph$/$drmaa_incr_ph$.out", workingDirectory="{name}")
s.synchronize(s.runBulkJobs(bulk, 3, 4, 1), FOREVER, True)
""")
    assert (at_home / "out").read_text() == f"1,2 = 3|ü|{at_home}|a b|c,'d\ntyped"
    assert (at_home / "err").read_text() == "wrong\n"
    assert [(at_home / f"{task}.out").read_text() for task in (3, 4)] == ["3\n", "4\n"]


@pytest.fixture
def at_home() -> Iterator[Path]:
    """A directory below the home directory that jobs have."""
    with TemporaryDirectory(prefix="ge-test-", dir=pwd.getpwuid(os.getuid()).pw_dir) as directory:
        yield Path(directory)


@pytest.mark.statement("DM-2")
def test_options_come_from_files_category_native_specification_and_attributes(programs: Programs, tmp_path: Path) -> None:
    cell = programs.cell
    (cell.common / "sge_request").write_text("-A weak -ac a=file -p -1 -m a\n")
    (cell.common / "qtask").write_text("big.cat -A category -ac b=category -p -2\n")
    (tmp_path / "more").write_text("-ac c=more -p -3\n")
    (tmp_path / "run.sh").write_text("#!/bin/sh\n#$ -ac d=script -A script\nexit 4\n")
    try:
        printed = programs.python(
            f"""
made = job("/bin/true", jobCategory="big.cat", nativeSpecification="-@ {tmp_path}/more -v X=1,HOME -N weak", jobName="strong")
made.jobSubmissionState, made.email, made.blockEmail = "drmaa_hold", ["a@b", "c@d"], True
tell(s.runJob(made))
made = job("{tmp_path}/run.sh", nativeSpecification="-b n -h")
tell(s.runJob(made))
s.control("DRMAA_JOB_IDS_SESSION_ALL", "hold")
"""
        )
        first, second = (_detail(cell.must("qstat", "-j", number)) for number in printed)
    finally:
        for name in ("sge_request", "qtask"):
            (cell.common / name).unlink()
        cell.command("qdel", *printed)
    assert (first["job_name"], first["account"], first["priority"], first["mail_list"]) == ("strong", "category", "-3", "a@b,c@d")
    assert first["context"] == "a=file,b=category,c=more" and "mail_options" not in first and "X=1" in first["env_list"]
    assert (second["account"], second["context"], second["script_file"]) == ("script", "a=file,d=script", f"{tmp_path}/run.sh")


def _detail(text: str) -> dict[str, Any]:
    return {line.partition(":")[0]: line.partition(":")[2].strip() for line in text.splitlines()}


@pytest.mark.statement("DM-2")
def test_faults_have_the_commands_own_text(programs: Programs) -> None:
    denied = "DeniedByDrmException"
    printed = programs.python("""
for native in ("-zz", "-p x", "-q nosuch", "-l nosuch=1", "-@ /no/such/file", "-b n", "-jsv /a", "-- x"):
    tell(tried(s.runJob, job("/no/such.sh", nativeSpecification=native)))
tell(tried(s.runJob, job("/bin/true", jobCategory="none.cat")))
""")
    texts = [text.partition(": ")[2] for _, text in printed]
    assert [kind for kind, _ in printed] == [denied] * len(printed)
    assert texts[:2] == ['invalid option argument "-zz"', 'invalid priority "x", it must be an integer from -1023 to 1024']
    assert texts[2] == 'Job was rejected because job requests unknown queue "nosuch"'
    assert 'unknown resource "nosuch"' in texts[3] and texts[4] == "cannot read /no/such/file: No such file or directory"
    assert texts[5] == "the script /no/such.sh cannot be read: No such file or directory"
    assert texts[6].startswith("a library starts no verifier (-jsv /a)") and texts[7] == '"x" is no option'
    assert texts[8] == 'unknown job category "none.cat"'


@pytest.mark.statement("DM-2")
def test_cwd_counts_as_in_the_library_of_8_1_9(programs: Programs, tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    printed = programs.python(f"""
os.chdir("{tmp_path}")
number = s.runJob(shell('[ "$PWD" = "{tmp_path}" ]', nativeSpecification="-cwd -N 'open"))
tell(s.wait(number, FOREVER).exitStatus)
""")
    assert printed == 0


@pytest.mark.statement("DM-2")
def test_an_error_may_hold_a_job_where_the_program_wants_that(programs: Programs) -> None:
    printed = programs.python(
        """
number = s.runJob(job("/bin/true", outputPath=":/no/such/file"))
while s.jobStatus(number) != "failed":
    time.sleep(0.05)
tell(tried(s.wait, number, 0)[0])
s.control(number, "terminate")
tell(s.wait(number, FOREVER).wasAborted)
""",
        SGE_DRMAA_ALLOW_JOB_ERROR_STATE="1",
    )
    assert printed == ["ExitTimeoutException", True]
