"""qsub: sources of options, requests, outputs, exit codes."""

from __future__ import annotations

import signal

import pytest

from tests.harness import Cell
from tests.unit.clients.shell import Shell

SCRIPT = """#!/bin/sh
#$ -N embedded -l h_rt=10
#$ -soft -l mem_free=1G
#$-j y
#$ -l h_cpu=5 -b y  # a remark
sleep 1
"""


@pytest.fixture
def script(shell: Shell) -> str:
    (shell.cwd / "job.sh").write_text(SCRIPT)
    return "job.sh"


@pytest.mark.statement("SB-6", "SO-37")
def test_the_line_that_programs_parse(shell: Shell) -> None:
    assert shell("qsub -b y -N x true").out == 'Your job 1 ("x") has been submitted\n'
    assert shell("qsub -b y -t 1-9:2 -N x true").out == 'Your job-array 2.1-9:2 ("x") has been submitted\n'
    assert shell("qsub -b y -terse true").out == "3\n"
    assert shell("qsub -b y -terse -t 4 true").out == "4.4-4:1\n"


@pytest.mark.statement("SB-2", "SO-5", "SO-14")
def test_options_in_the_script(shell: Shell, script: str) -> None:
    assert shell(f"qsub {script} a -N b").out == 'Your job 1 ("embedded") has been submitted\n'
    sent = shell.submitted
    assert sent["script"] == SCRIPT
    assert sent["script_file"] == "job.sh"
    assert sent["args"] == ["a", "-N", "b"]
    assert sent["merge"] is True
    assert "binary" not in sent, "-b has no meaning inside a script"
    # -soft holds until the end of its line
    assert (sent["hard"], sent["soft"]) == (["h_rt=10", "h_cpu=5"], ["mem_free=1G"])


@pytest.mark.statement("SB-2", "SO-9")
def test_another_prefix_or_none(shell: Shell, script: str) -> None:
    shell(f"qsub -C '' {script}")
    assert "merge" not in shell.submitted
    (shell.cwd / "p.sh").write_text("#P -N pp\n#$ -N dd\n")
    assert '("pp")' in shell("qsub -C '#P' p.sh").out


@pytest.mark.statement("SO-37")
def test_terse_in_the_script_counts(shell: Shell) -> None:
    (shell.cwd / "t.sh").write_text("#$ -terse\n")
    assert shell("qsub t.sh").out == "1\n"


@pytest.mark.statement("SB-3")
def test_option_files_may_name_others(shell: Shell) -> None:
    (shell.cwd / "one").write_text("-N one\n-@ two -js 1\n")
    (shell.cwd / "two").write_text("-js 2 -A two\n")
    shell("qsub -b y -@ one true")
    assert (shell.submitted["name"], shell.submitted["account"], shell.submitted["job_share"]) == ("one", "two", 1)
    (shell.cwd / "two").write_text("\n-@ one\n")
    outcome = shell("qsub -b y -@ one true")
    assert outcome.status == 2 and outcome.err.startswith("qsub: two, line 2: -@ one: the file names itself")


@pytest.mark.statement("SB-10")
def test_path_aliases_of_the_cell_and_of_the_user(shell: Shell) -> None:
    shell("qsub -b y -cwd true")
    assert "path_aliases" not in shell.submitted
    (shell.common / "sge_aliases").write_text(f"{shell.cwd.parent} * * /mnt\n")
    (shell.home / ".sge_aliases").write_text("/mnt nosuch * /a\n/mnt * g1 /b\n")
    shell("qsub -b y -cwd true")
    assert shell.submitted["path_aliases"] == [[str(shell.cwd.parent), "*", "/mnt"], ["/mnt", "g1", "/b"]]
    assert [list(alias) for alias in shell.cell.state.jobs[2].path_aliases] == shell.submitted["path_aliases"]
    shell("qsub -b y true")
    assert "path_aliases" not in shell.submitted
    assert shell("qalter -wd /elsewhere 2").status == 0 and not shell.cell.state.jobs[2].path_aliases
    (shell.home / ".sge_aliases").write_text("/mnt nosuch\n")
    assert shell("qsub -b y -cwd true").err.startswith(f"qsub: {shell.home}/.sge_aliases, line 1: ")
    assert len(shell.cell.state.jobs) == 3


@pytest.mark.statement("SB-1", "SB-3")
def test_a_bad_option_is_reported_before_a_script_is_read(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", None)
    assert shell("qsub -R job.sh").err.splitlines()[0] == 'qsub: "job.sh" is neither y[es] nor n[o]'
    assert shell("qsub -b y ''").err == "qsub: command required for a binary job\n"


@pytest.mark.statement("SO-18", "SO-39", "SO-30")
def test_empty_items_of_lists_are_passed_over(shell: Shell) -> None:
    shell("qsub -b YES -R No -l ,h_rt=5,,mem_free=1G, -v A=1,,B=2, -q all.q, -M a@b,,c true")
    sent = shell.submitted
    assert (sent["hard"], sent["hard_queues"], sent["mail_list"]) == (["h_rt=5", "mem_free=1G"], ["all.q"], ["a@b", "c"])
    assert (sent["environment"]["A"], sent["environment"]["B"], sent["reserve"]) == ("1", "2", False)
    assert shell("qsub -b y -q , true").status == shell("qsub -b y -ac =1 true").status == 7


@pytest.mark.statement("SB-3")
def test_every_source_in_its_order(shell: Shell) -> None:
    (shell.common / "sge_request").write_text("# all\n-A cell -P_is_no_option\n".replace(" -P_is_no_option", "") + "-p -1\n")
    (shell.home / ".sge_request").write_text("-A home -p -2\n")
    (shell.cwd / ".sge_request").write_text("-A directory -p -3 -js 3\n")
    (shell.cwd / ".sge_request").chmod(0o644)
    (shell.cwd / "more").write_text("-js 6 -A option_file\n")
    (shell.cwd / "s.sh").write_text("#$ -A script -p -4 -js 4\n")
    shell("qsub -p -5 s.sh")
    assert (shell.submitted["account"], shell.submitted["priority"], shell.submitted["job_share"]) == ("script", -5, 4)
    shell("qsub -@ more s.sh")
    assert (shell.submitted["account"], shell.submitted["job_share"]) == ("option_file", 6)
    shell("qsub -b y true")
    assert (shell.submitted["account"], shell.submitted["priority"]) == ("directory", -3)


@pytest.mark.statement("SB-4")
def test_clear_on_the_command_line(shell: Shell, script: str) -> None:
    (shell.home / ".sge_request").write_text("-A home\n")
    shell(f"qsub -clear -N kept {script}")
    assert shell.submitted["name"] == "kept"
    assert not {"account", "hard", "merge"} & shell.submitted.keys()


@pytest.mark.statement("SB-5")
def test_a_fault_is_reported_with_file_and_line(shell: Shell) -> None:
    path = shell.home / ".sge_request"
    path.write_text("-A x\n\n-display h:0 -p zero\n")
    outcome = shell("qsub -b y true")
    assert (outcome.out, outcome.status) == ("", 7)
    assert outcome.err.startswith(f'qsub: {path}, line 3: invalid priority "zero"')
    path.unlink()
    (shell.cwd / "bad.sh").write_text("#!/bin/sh\n#$ -zz\n")
    outcome = shell("qsub bad.sh")
    assert (outcome.err.splitlines()[0], outcome.status) == ('qsub: bad.sh, line 2: invalid option argument "-zz"', 2)
    assert not shell.asked, "nothing is sent"


@pytest.mark.statement("SB-1")
@pytest.mark.parametrize("line", ["qsub", "qsub -"])
def test_a_script_from_the_standard_input(shell: Shell, line: str) -> None:
    assert '("STDIN")' in shell(line, stdin="sleep 1\n").out
    assert shell.submitted["script"] == "sleep 1\n"
    assert '("named")' in shell(line, stdin="#$ -N named\n").out


def test_no_script_at_all(shell: Shell) -> None:
    outcome = shell("qsub nofile")
    text = "Unable to read script file because of error: error opening nofile: No such file or directory\n"
    assert (outcome.out, outcome.err, outcome.status) == ("", text, 14)
    assert shell("qsub -b y").status == 2


def test_a_script_that_is_no_text_arrives_as_it_is(shell: Shell) -> None:
    import base64

    (shell.cwd / "b.sh").write_bytes(b"#!/bin/sh\n#$ -N latin\necho \xe4\n")
    assert '("latin")' in shell("qsub b.sh").out
    assert shell.submitted["script_encoding"] == "base64"
    assert base64.b64decode(shell.submitted["script"]) == b"#!/bin/sh\n#$ -N latin\necho \xe4\n"


@pytest.mark.statement("EN-3")
def test_where_the_job_comes_from(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAIL", "/var/mail/alice")
    monkeypatch.setenv("HOST", "myhost")
    shell("qsub -b y -v A=1 /bin/echo 'a b' '' \"it's\"")
    sent = shell.submitted
    environment = sent["environment"]
    assert environment["SGE_O_WORKDIR"] == str(shell.cwd) == sent["submit_cwd"]
    assert environment["SGE_O_HOME"] == str(shell.home) == sent["home"]
    assert (environment["SGE_O_MAIL"], environment["SGE_O_HOST"]) == ("/var/mail/alice", "myhost")
    assert environment["SGE_O_LOGNAME"] == "alice"
    assert (environment["A"], sent["environment_names"]) == ("1", ["A"])
    assert (sent["script_file"], sent["args"], sent["binary"]) == ("/bin/echo", ["a b", "", "it's"], True)


@pytest.mark.statement("SB-7")
def test_a_refusal(shell: Shell, cell: Cell) -> None:
    outcome = shell("qsub -q nosuch -b y true")
    assert outcome.out == ""
    assert outcome.err == 'Unable to run job: Job was rejected because job requests unknown queue "nosuch"\nExiting.\n'
    assert outcome.status == 1
    cell.configure("configuration", "global", max_u_jobs="1")
    shell("qsub -h -b y true")
    assert shell("qsub -b y true").status == 25


@pytest.mark.statement("SO-41")
def test_verification_submits_nothing(shell: Shell, cell: Cell) -> None:
    outcome = shell("qsub -w v -b y true")
    assert (outcome.out, outcome.status) == ("verification: found suitable queue(s)\n", 0)
    assert not cell.state.jobs


@pytest.mark.statement("SO-40")
def test_the_would_be_job(shell: Shell) -> None:
    outcome = shell("qsub -verify -b y -N v -l h_rt=5 -pe smp 2 -t 1-3 -v A=1,B -q x.q /bin/sleep 1")
    assert outcome.status == 0
    assert not shell.asked
    for line in (
        "job_number:                 unassigned",
        "hard resource_list:         h_rt=5",
        "job_name:                   v",
        "hard_queue_list:            x.q",
        "env_list:                   A=1,B=NONE",
        "job_args:                   1",
        "parallel environment:  smp range: 2",
        "job-array tasks:            1-3:1",
        "job_type:                   binary",
    ):
        assert line in outcome.lines
    assert any(line.startswith("mail_list:                  alice@") for line in outcome.lines)
    (shell.cwd / "job.sh").write_text("#!/bin/sh\ntrue\n")
    assert shell("qsub -verify job.sh").out.endswith("script_size:                15\nscript_ptr:\n#!/bin/sh\ntrue\n")


@pytest.mark.statement("SO-34")
@pytest.mark.parametrize(
    ("records", "text", "status"),
    [
        ([{"task_id": 1, "exit_status": 4, "failed": 0}], "Job 1 exited with exit code 4.\n", 4),
        ([{"task_id": 1, "exit_status": 0, "failed": 0}], "Job 1 exited with exit code 0.\n", 0),
        ([{"task_id": 1, "exit_status": 137, "failed": 100}], "Job 1 received signal SIGKILL.\n", 1),
        ([{"task_id": 1, "exit_status": 143, "failed": 0, "signal": 15}], "Job 1 received signal SIGTERM.\n", 1),
        ([{"task_id": 1, "deleted": True}], "Job 1 never ran.\n", 100),
        ([{"task_id": 1, "exit_status": 0, "failed": 27}], "Job 1 failed: searching requested shell (failed 27).\n", 100),
        ([{"task_id": 1, "exit_status": 3, "failed": 15}], "Job 1 failed: in epilog (failed 15).\n", 100),
        ([{"task_id": 1, "exit_status": 137, "failed": 37}], "Job 1 received signal SIGKILL.\n", 1),
    ],
)
def test_sync_waits_and_hands_on_the_exit_status(shell: Shell, records: list[dict], text: str, status: int) -> None:  # type: ignore[type-arg]
    shell.streamed = [*records, {"done": True}]
    outcome = shell("qsub -sync y -b y true")
    assert outcome.out == 'Your job 1 ("true") has been submitted\n' + ("" if status else text)
    assert (outcome.err, outcome.status) == (text if status else "", status)


@pytest.mark.statement("SO-34", "SB-6")
def test_terse_leaves_out_what_went_well(shell: Shell) -> None:
    shell.streamed = [{"task_id": 1, "exit_status": 0, "failed": 0}, {"done": True}]
    assert shell("qsub -terse -sync y -b y true").out == "1\n"


@pytest.mark.statement("SO-34")
def test_sync_of_an_array_ends_with_the_first_failure(shell: Shell) -> None:
    ends = ((2, 0), (1, 4), (3, 5))
    shell.streamed = [*({"task_id": i, "exit_status": code, "failed": 0} for i, code in ends), {"done": True}]
    outcome = shell("qsub -sync y -t 1-3 -b y true")
    assert outcome.status == 4
    printed = [f"Job 1.{i} exited with exit code {code}." for i, code in ends]
    assert outcome.lines[1:] == printed[:1] and outcome.err.splitlines() == printed[1:]


@pytest.mark.statement("SO-34")
def test_an_interrupt_deletes_the_job(shell: Shell, cell: Cell, monkeypatch: pytest.MonkeyPatch) -> None:
    from clients import gdi

    def interrupted(name: str, body: object) -> None:
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(gdi, "stream", interrupted)
    assert shell("qsub -h -sync y -b y true").status == 130
    assert not cell.state.jobs


@pytest.mark.statement("SO-34")
@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 1), (signal.SIGINT, 130)])
def test_a_signal_deletes_the_job(shell: Shell, cell: Cell, monkeypatch: pytest.MonkeyPatch, number: int, status: int) -> None:
    """Also SIGINT that was ignored at the start, as in the background of a script."""
    from clients import gdi

    def signalled(name: str, body: object) -> None:
        signal.raise_signal(number)

    monkeypatch.setattr(gdi, "stream", signalled)
    earlier = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        outcome = shell("qsub -h -sync y -b y true")
    finally:
        signal.signal(signal.SIGINT, earlier[0])
        signal.signal(signal.SIGTERM, earlier[1])
    assert outcome.status == status and "Interrupted!" in outcome.err
    assert not cell.state.jobs


@pytest.mark.statement("SO-34")
def test_a_qmaster_that_is_away_refuses_as_it_does_when_it_is_there(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    from clients import gdi

    def unreachable(name: str, body: object) -> None:
        raise gdi.Unreachable("nobody answers")

    monkeypatch.setattr(gdi, "change", unreachable)
    outcome = shell("qsub -b y true")
    assert (outcome.status, outcome.out) == (1, "")
    assert outcome.err == "Unable to run job: nobody answers\nExiting.\n"


@pytest.mark.statement("SO-22")
def test_an_immediate_job_that_cannot_start(shell: Shell) -> None:
    shell.streamed = [{"task_id": 1, "deleted": True}, {"done": True}]
    outcome = shell("qsub -now y -b y true")
    assert outcome.status == 1
    assert "could not be scheduled" in outcome.err
    shell.streamed = [{"started": True, "task_id": 1}]
    outcome = shell("qsub -now y -b y true")
    assert (outcome.status, outcome.err.splitlines()[-1]) == (0, "Your immediate job 2 has been successfully scheduled.")
    shell.streamed = [{"started": True, "task_id": 1}]
    assert "Your immediate job 3.1-2:1 has been" in shell("qsub -now y -t 1-2 -b y true").err


def test_help(shell: Shell) -> None:
    outcome = shell("qsub -help")
    assert outcome.out.startswith("SGE 8.1.9\nusage: qsub [options]")
    assert (outcome.status, outcome.err, shell.asked) == (0, "", [])


@pytest.mark.statement("SO-22")
@pytest.mark.parametrize("records", [[{"task_id": 1, "deleted": True}], []])
def test_an_immediate_job_that_was_given_up_is_reported(shell: Shell, records: list[dict]) -> None:  # type: ignore[type-arg]
    shell.streamed = [*records, {"done": True}]
    outcome = shell("qsub -now y -b y true")
    assert outcome.status == 1
    assert outcome.err.splitlines()[-1] == 'Your "qsub" request could not be scheduled, try again later.'


@pytest.mark.statement("ST-18")
@pytest.mark.parametrize("terminal", [True, False])
def test_on_a_terminal_the_pending_reason_is_printed_at_once(
    shell: Shell, cell: Cell, monkeypatch: pytest.MonkeyPatch, terminal: bool
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: terminal)
    why = 'no place in the cluster can ever run it as it is requested: (-l arch=nosuch) cannot run at host "h1"'
    expected = f"job 1 cannot start now: {why} because it offers only hl:arch=lx-amd64 (qexplain 1)\n" if terminal else ""
    assert shell("qsub -b y -l arch=nosuch sleep 1").err == expected
    assert shell("qsub -b y sleep 1").err == "", "it can start"
    assert shell("qsub -h -b y sleep 1").err == "", "nobody needs to be told his own wish"


@pytest.mark.statement("CX-53", "SO-18")
def test_a_job_may_name_hundreds_of_hosts(shell: Shell, cell: Cell) -> None:
    hosts = "|".join(["h1", *(f"node{number:03}.cluster" for number in range(200))])
    assert len(hosts) > 2048
    assert shell(f"qsub -b y -l 'h={hosts}' sleep 9").status == 0
    cell.cycle()
    assert cell.placed(1)[0][0] == "all.q@h1"
    assert hosts in shell("qstat -j 1").out


@pytest.mark.statement("SO-18", "CX-53")
@pytest.mark.parametrize(
    ("requested", "shown"),
    [
        ("h_rt=1.2", "h_rt=1"),
        ("h_rt=1.5", "h_rt=2"),
        ("h_rt=59.9", "h_rt=60"),
        (",h_rt=9,,s_rt=8,", "h_rt=9,s_rt=8"),
        ("h_rt=0.5,s_rt=2.5", "h_rt=0,s_rt=2"),
        ("h_rt=0:0:1.5,s_rt=0:1.5:0", "h_rt=2,s_rt=90"),
        ("'h_rt=1 s_rt=2'", "h_rt=1,s_rt=2"),
        ("flag=", "flag=TRUE"),
    ],
)
def test_odd_forms_of_requests_mean_what_they_mean_in_8_1_9(shell: Shell, cell: Cell, requested: str, shown: str) -> None:
    cell.add("complex", "flag", shortcut="flag", type="BOOL", relop="==")
    assert shell(f"qsub -h -b y -l {requested} true").status == 0
    assert f"hard resource_list:         {shown}\n" in shell("qstat -j 1").out


@pytest.mark.statement("SO-18")
@pytest.mark.parametrize("nothing", [",", "''", "' '", "', ,'"])
def test_a_list_of_no_requests_asks_for_nothing(shell: Shell, nothing: str) -> None:
    assert shell(f"qsub -h -b y -l {nothing} true").status == 0
    assert shell(f"qalter -l {nothing} 1").status == 0
    assert shell.cell.state.jobs[1].hard == {}


@pytest.mark.statement("SO-39")
def test_a_variable_may_have_a_blank_in_its_name(shell: Shell) -> None:
    assert shell("qsub -h -b y -v 'A B=1, C=2' true").status == 0
    assert shell.submitted["environment_names"] == ["A B", " C"]


@pytest.mark.statement("SO-5", "SB-2")
def test_a_script_cannot_ask_for_help(shell: Shell) -> None:
    (shell.cwd / "job.sh").write_text("#$ -help\ntrue\n")
    outcome = shell("qsub job.sh")
    assert (outcome.status, outcome.out) == (5, "")
    assert "-help not allowed in this context" in outcome.err
