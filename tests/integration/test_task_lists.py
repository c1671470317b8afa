"""Task lists: `qsub -tasks` and qtasks on a cell of one host, and the runner alone."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gridengine.task_lists.list_script import ListOptions, script_of
from tests.integration.cells import BIN, DemoCell, eventually, kill_daemon
from tests.integration.test_jobs import record, submit, wait_for_state
from tests.unit.clients.test_json_schemas import valid


def tasks(cell: DemoCell, job: str, *options: str) -> list[dict[str, Any]]:
    """The commands of a list, as qtasks shows them; [] before there is a list."""
    done = cell.command("qtasks", "list", job, "-json", *options)
    found: list[dict[str, Any]] = valid("qtasks", done.stdout)["tasks"] if not done.returncode else []
    return found


def states(cell: DemoCell, job: str) -> list[str]:
    return [task["state"] for task in tasks(cell, job)]


def records(directory: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (directory / "records").read_text().splitlines()]


def gone(cell: DemoCell, job: str) -> bool:
    return cell.command("qstat", "-j", job).returncode != 0


LIST = """\
# a list with all that a line may have
#$ -N mixed -j y
[name=prep] echo prepared > prep; echo first; echo second
[after=prep] cat prep
[name=bad retries=1] echo "try $SGE_TASKS_ATTEMPT"; exit 3
[after=bad] echo never
[name=killed] kill -9 $$
./no-such-program x
/bin/true
"""


def test_a_list_with_failures_retries_and_dependencies(demo_cell: DemoCell) -> None:
    (demo_cell.work / "list.txt").write_text(LIST)
    done = demo_cell.command("qsub", "-terse", "-sync", "y", "-cwd", "-tasks", "list.txt")
    job = done.stdout.split()[0]
    assert (done.returncode, done.stderr) == (1, f"Job {job} exited with exit code 1.\n")
    directory = demo_cell.work / f"mixed.t{job}"
    assert directory.stat().st_mode & 0o777 == 0o700
    output = (demo_cell.work / f"mixed.o{job}").read_text()
    assert sorted(output.splitlines()) == sorted(
        "first|second|prepared|try 1|try 2|qtasks: cannot run ./no-such-program: No such file or directory".split("|")
    )
    assert "first\nsecond\n" in output
    rows = tasks(demo_cell, job)
    assert [row["state"] for row in rows] == ["done", "done", "failed", "skipped", "failed", "failed", "done"]
    failed = [(row["exit_status"], row["signal"]) for row in rows if row["state"] == "failed"]
    assert failed == [(3, None), (None, 9), (127, None)]
    assert [row["attempt"] for row in rows] == [1, 1, 2, 0, 1, 1, 1]
    assert (rows[3]["cause"], rows[0]["host"], rows[1]["after"]) == (3, "node1", [1])
    assert rows[1]["start_s"] >= rows[0]["end_s"] >= rows[0]["start_s"]
    table = demo_cell.must("qtasks", "list", job, "-s", "failed").splitlines()
    assert [line.split()[:4] for line in table[1:]] == [
        ["3", "bad", "failed", "3"], ["5", "killed", "failed", "signal"], ["6", "-", "failed", "127"]
    ]
    assert "skipped   command 3 has not ended with 0" in demo_cell.must("qtasks", "show", job, "4")
    assert demo_cell.must("qtasks", "list", job, "-d", str(directory), "-s", "skipped", "-lines") == "echo never\n"
    refused = demo_cell.command("qtasks", "retry", job, "-failed")
    assert refused.returncode == 1
    assert refused.stderr.startswith(f"qtasks: the list of job {job} has ended; "), refused.stderr


def test_arguments_come_from_a_template_and_outputs_are_kept_apart(demo_cell: DemoCell) -> None:
    lines = "'a b' $(id)\n; two\n"
    options = ("-cwd", "-N", "apart", "-tasks-template", "printf '%s,%s\\n' {2} {1}", "-tasks-output", "apart")
    done = demo_cell.command("qsub", "-terse", "-sync", "y", *options, "-tasks", "-", input=lines, stdin=None)
    assert done.returncode == 0, done.stderr
    job = done.stdout.split()[0]
    out = demo_cell.work / f"apart.t{job}" / "out"
    assert {path.name: path.read_text() for path in out.iterdir()} == {"1": "$(id),a b\n", "2": "two,;\n"}
    assert demo_cell.must("qtasks", "show", job, "2").endswith("output:\ntwo,;\n")


def test_commands_are_added_and_retried_while_the_list_runs(demo_cell: DemoCell) -> None:
    gate = demo_cell.work / "gate"
    lines = f"[name=gate] while [ ! -e {gate} ]; do sleep 0.1; done\n[name=mark] test -e mark\n[name=last after=gate] true\n"
    lines += "[after=mark] true\n"
    (demo_cell.work / "wait.txt").write_text(lines)
    # two slots: the second command runs beside the first
    demo_cell.must("qconf", "-aattr", "queue", "pe_list", "smp", "all.q")
    job = submit(demo_cell, "-cwd", "-pe", "smp", "2", "-o", "wait.out", "-j", "y", "-tasks", "wait.txt")
    eventually("the second command has failed", lambda: states(demo_cell, job) == ["running", "failed", "waiting", "skipped"])
    eventually("the job shows its progress", lambda: "tasks_failed=1" in demo_cell.must("qstat", "-j", job))
    refused = demo_cell.command("qtasks", "add", job, "-", input="[after=nothing] true\n", stdin=None)
    assert refused.stderr == "qtasks: standard input:1: after=nothing: no command has this name\n"
    added = demo_cell.command("qtasks", "add", job, "-", input="[after=last] echo added\n# no command\n", stdin=None)
    assert added.stdout == f"command 5 added to job {job}\n", added.stderr
    assert demo_cell.command("qtasks", "retry", job, "gate").stderr.startswith(f"qtasks: command 1 of job {job} is running")
    refused = demo_cell.command("qtasks", "retry", job, "4")
    assert refused.stderr == f"qtasks: command 4 of job {job} is skipped after command 2: retry that one\n"
    (demo_cell.work / "mark").touch()
    assert demo_cell.must("qtasks", "retry", job, "2") == f"1 command of job {job} to run again\n"
    eventually("it has run again", lambda: states(demo_cell, job)[1] == "done")
    gate.touch()
    eventually("the job has ended", lambda: gone(demo_cell, job))
    assert states(demo_cell, job) == ["done"] * 5
    assert "added" in (demo_cell.work / "wait.out").read_text()
    assert record(demo_cell, job)["exit_status"] == "0"
    late = demo_cell.command("qtasks", "add", job, "-", input="true\n", stdin=None)
    assert (late.returncode, "has ended" in late.stderr) == (1, True)


def test_nothing_that_ended_runs_again_after_a_reschedule_and_a_kill_of_the_master(demo_cell: DemoCell) -> None:
    ran, gate = demo_cell.work / "ran", demo_cell.work / "many.gate"
    waits = f"while [ ! -e {gate} ]; do sleep 0.1; done"
    commands = "".join(f"echo {number} >> {ran}; {waits if number == 11 else 'true'}\n" for number in range(1, 41))
    (demo_cell.work / "many.txt").write_text(commands)
    job = submit(demo_cell, "-cwd", "-r", "y", "-o", "/dev/null", "-j", "y", "-N", "many", "-tasks", "many.txt")
    directory = demo_cell.work / f"many.t{job}"
    eventually("ten have ended", lambda: (directory / "records").exists() and states(demo_cell, job).count("done") == 10)
    kill_daemon(demo_cell.place / "spool" / "qmaster" / "qmaster.pid")
    demo_cell.must("gridengine", "start", "--host-name", demo_cell.host)
    wait_for_state(demo_cell, job, "r")
    demo_cell.must("qmod", "-rj", job)
    eventually("the list goes on", lambda: ran.read_text().split().count("11") == 2)
    gate.touch()
    eventually("the job has ended", lambda: gone(demo_cell, job))
    assert record(demo_cell, job)["exit_status"] == "0"
    rows = records(directory)
    done = [row["number"] for row in rows if row.get("state") == "done"]
    assert sorted(done) == list(range(1, 41)), "each has ended once"
    assert len([row for row in rows if "run" in row]) == 2, "the list was continued"
    begun = ran.read_text().split()
    assert {number for number in begun if begun.count(number) > 1} == {"11"}, "what ran when the job was taken away"


@pytest.mark.parametrize(
    ("arguments", "text", "status", "reason"),
    [
        ("-tasks missing.txt", "", 14, "Unable to read script file because of error: error opening missing.txt"),
        ("-tasks bad.txt", "true\n[x=1] true\n", 7, 'qsub: bad.txt:2: "x=1" is no option of a line'),
        ("-tasks bad.txt", "[name=a after=b] x\n[name=b after=a] y\n", 7, "qsub: bad.txt:1: the command waits for itself"),
        ("-tasks bad.txt", "# nothing\n", 7, "qsub: bad.txt: the list has no commands"),
        ("-t 1-2 -tasks bad.txt", "true\n", 2, "qsub: -tasks: the commands of a list are no array tasks"),
        ("-b y -tasks bad.txt", "true\n", 2, "qsub: -tasks: a list is no program"),
        ("-tasks bad.txt job.sh", "true\n", 2, 'qsub: -tasks: the list is the job, so "job.sh" cannot follow'),
        ("-tasks bad.txt -tasks-output x", "true\n", 7, 'qsub: "x" is no kind of output'),
        ("-tasks bad.txt -tasks-retries x", "true\n", 7, 'qsub: invalid count "x"'),
        ("-tasks bad.txt -max-fails 0", "true\n", 7, 'qsub: invalid count "0"'),
        ("-max-fails 3 bad.txt", "true\n", 2, "qsub: -max-fails: it is for a task list, and -tasks is not given"),
    ],
)
def test_a_wrong_list_is_refused_and_nothing_is_submitted(
    demo_cell: DemoCell, arguments: str, text: str, status: int, reason: str
) -> None:
    (demo_cell.work / "bad.txt").write_text(text)
    done = demo_cell.command("qsub", "-cwd", *arguments.split())
    assert (done.returncode, done.stdout) == (status, "")
    assert done.stderr.startswith(reason), done.stderr


def test_a_program_submits_a_list(demo_cell: DemoCell) -> None:
    from gridengine.api import Cell

    with Cell(root=str(demo_cell.place), cell="test") as cell:
        commands = ["[name=a] echo one", "[after=a] echo two"]
        job = cell.submit_list(commands, name="py", cwd=demo_cell.work, merge=True, ordered=True)
        (end,) = cell.wait(job.id)
        with pytest.raises(ValueError, match="commands:1: after=x"):
            cell.submit_list(["[after=x] true"])
    assert end.exit_status == 0
    assert (demo_cell.work / f"py.o{job.id}").read_text() == "one\ntwo\n"


# --- the runner alone ---------------------------------------------------------------------------------------------------------


class Run:
    """`qtasks run` without a cell, in a directory."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        (directory / "scratch").mkdir()
        self.list_directory = directory / "name.t7"

    def environment(self, slots: int) -> dict[str, str]:
        jobs = {"JOB_ID": "7", "JOB_NAME": "name", "SGE_STDOUT_PATH": str(self.directory / "out"), "HOSTNAME": "here"}
        return {**os.environ, **jobs, "NSLOTS": str(slots), "TMPDIR": str(self.directory / "scratch"), "SGE_BINARY_PATH": "/none"}

    def start(self, text: str, slots: int = 1, **options: Any) -> subprocess.Popen[bytes]:
        script = self.directory / "script"
        script.write_text(script_of(text, ListOptions(**options), "list"))
        with (self.directory / "out").open("ab") as out:
            command = [str(BIN / "qtasks"), "run", str(script)]
            return subprocess.Popen(command, env=self.environment(slots), cwd=self.directory, stdout=out, stderr=out)

    def __call__(self, text: str, slots: int = 1, **options: Any) -> int:
        return self.start(text, slots, **options).wait(120)

    def count(self, mark: str) -> int:
        """The number of times that a text is in the records."""
        path = self.list_directory / "records"
        return path.read_text().count(mark) if path.exists() else 0

    @property
    def output(self) -> str:
        return (self.directory / "out").read_text()


@pytest.fixture
def runner(launchers: Path, tmp_path: Path) -> Iterator[Run]:
    yield Run(tmp_path)


def test_outputs_of_commands_that_run_at_once_stay_together(runner: Run) -> None:
    text = "".join(f"for i in 1 2 3 4 5; do echo {number} out; echo {number} err >&2; sleep 0.01; done\n" for number in range(12))
    assert runner(text, slots=4) == 0
    rows = runner.output.splitlines()
    blocks = [rows[at : at + 10] for at in range(0, len(rows), 10)]
    assert len(rows) == 120
    assert all(block == [f"{block[0].split()[0]} {stream}" for _ in range(5) for stream in ("out", "err")] for block in blocks)


def test_ordered_output_has_the_order_of_the_list(runner: Run) -> None:
    assert runner("sleep 0.5; echo 1\necho 2\nfalse\necho 4\n", slots=3, ordered=True) == 1
    assert runner.output == "1\n2\n4\n"
    assert not any((runner.list_directory / "out").iterdir())


def test_only_failures_keep_their_output(runner: Run) -> None:
    assert runner("echo good\necho bad >&2; false\n", output="failures", retries=1) == 1
    assert [path.read_text() for path in sorted(runner.list_directory.glob("*/[0-9]"))] == ["bad\n"]


def test_a_process_that_a_command_leaves_does_not_write_into_the_next_output(runner: Run) -> None:
    text = "(while [ ! -e go ]; do sleep 0.1; done; echo late; touch gone) & echo one\n"
    text += "touch go; while [ ! -e gone ]; do sleep 0.1; done; echo two\n"
    assert runner(text) == 0
    assert runner.output == "one\ntwo\n"


def test_large_output_and_input_of_commands(runner: Run) -> None:
    assert runner("head -c 3000000 /dev/zero | tr '\\0' x\ncat; yes | head -1\n") == 0
    assert runner.output == "x" * 3000000 + "y\n", "no input, and SIGPIPE ends a program quietly"


def test_no_further_command_starts_after_enough_failures(runner: Run) -> None:
    assert runner("false\nfalse\ntouch third\n", max_fails=2) == 1
    assert not (runner.directory / "third").exists()


def test_a_signal_ends_the_list_in_order_and_the_next_runner_continues(runner: Run) -> None:
    second = "trap 'echo caught; exit 5' USR2; touch on; while [ ! -e go ]; do sleep 0.1; done"
    text = f"echo one\n{second}\necho x\n"
    process = runner.start(text)
    eventually("the second command runs", (runner.directory / "on").exists)
    process.send_signal(signal.SIGUSR2)
    assert process.wait(60) == 1
    rows = runner.output.splitlines()
    assert (rows[0], rows[-1]) == ("one", "caught"), "the shell may name the signal that its sleep got, too"
    (runner.directory / "go").touch()
    assert runner(text) == 0
    assert runner.output.splitlines() == [*rows, "x"]


def test_a_killed_runner_is_continued_as_often_as_it_dies(runner: Run) -> None:
    text = "".join(f"echo {number} >> ran; exec sleep 0.0{number % 3}\n" for number in range(1, 61))
    for count in (5, 20, 40):
        process = runner.start(text, slots=3)
        eventually(
            f"{count} have ended",
            lambda count=count: runner.count('"done"') >= count,
        )
        process.kill()
        process.wait()
    assert runner(text, slots=3) == 0
    done = [row["number"] for row in records(runner.list_directory) if row.get("state") == "done"]
    assert sorted(done) == list(range(1, 61))
    begun = (runner.directory / "ran").read_text().split()
    assert set(begun) == set(map(str, range(1, 61)))
    assert len(begun) <= 60 + 3 * 3, "only what ran at a kill ran again"


def test_a_second_runner_waits_for_the_end_of_the_first(runner: Run) -> None:
    """As where a host is cut off, and its job begins elsewhere."""
    text = "touch on; while [ ! -e go ]; do sleep 0.1; done\necho two\n"
    first = runner.start(text)
    eventually("the first has begun", (runner.directory / "on").exists)
    second = runner.start(text)
    eventually("the second waits", lambda: "another runner serves this list" in runner.output)
    assert runner.count('"run"') == 1
    (runner.directory / "go").touch()
    assert (first.wait(60), second.wait(60)) == (0, 0)
    assert runner.count('"done"') == 2 and runner.output.count("two\n") == 1


def test_a_directory_of_the_list_that_is_a_link_is_refused(runner: Run) -> None:
    runner.list_directory.symlink_to(runner.directory / "scratch")
    assert runner("true\n") == 1
    assert runner.output == f"qtasks: {runner.list_directory} is not a directory of this user\n"
    assert not any((runner.directory / "scratch").iterdir())


def test_a_worker_serves_a_runner_over_its_streams(launchers: Path) -> None:
    command = [str(BIN / "qtasks"), "worker", "there", "2", "merged"]
    messages = [
        {"begin": 3, "attempt": 2, "command": "echo out; echo err >&2; exit 4"},
        {"begin": 9, "attempt": 1, "command": "/none"},
    ]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as worker:
        assert worker.stdin is not None and worker.stdout is not None
        worker.stdin.write("".join(json.dumps(message) + "\n" for message in messages))
        worker.stdin.flush()
        answers: list[dict[str, Any]] = []
        while sum("end" in answer for answer in answers) < 2:
            answers.append(json.loads(worker.stdout.readline()))
        worker.stdin.write(json.dumps({"begin": 1, "attempt": 1, "command": "sleep 600"}) + "\n")
        worker.stdin.close()
        assert worker.wait(60) == 0, "it ends its commands with the stream"
    ends = {answer["end"]: (answer["attempt"], answer["exit"], answer["signal"]) for answer in answers if "end" in answer}
    assert ends == {3: (2, 4, 0), 9: (1, 127, 0)}
    outputs = [(answer["output"], answer["stream"]) for answer in answers if "output" in answer]
    assert sorted(outputs) == [(3, 1), (3, 2), (9, 2)]
