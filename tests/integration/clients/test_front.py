"""The native front and the commands in Python: equal output, exit status and requests, and one job for each call (adr/0261)."""

from __future__ import annotations

import json
import os
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from gridengine.options.submit import SUBMIT_OPTIONS
from tests.integration import cells
from tests.integration.cells import ROOT
from tests.integration.clients.front_commands import HANDED, FrontCommands
from tools.front_options import understood
from tools.launchers import FRONT_COMMANDS, write_launchers

JOB = "#!/bin/sh\n#$ -N inside -l h_rt=10 -j y\n#$ -b y -q b.q # a comment\n#$ -v 'A=1 2' -cwd\nsleep 1\n"
SCRIPTS = {
    "job.sh": JOB,
    "plain.sh": "#!/bin/sh\necho \u00e4 \"$1\"\n",
    "slurm.sh": "#!/bin/sh\n#SBATCH -n 4\ntrue\n",
    "bad.sh": "#$ -nonsense\n",
    "help.sh": "#$ -help\n",
    "words.sh": "#$ -N x y\n",
    "jsv.sh": "#$ -a 01011200\n",
    "empty.sh": "",
}
#: commands, valid and invalid
LINES = (ROOT / "tests" / "data" / "front_commands.txt").read_text().splitlines()[1:]


def answer(value: object) -> bytes:
    """A response with a line of JSON."""
    body = json.dumps(value).encode() + b"\n"
    return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)


ROWS = [
    [7, 0.55500, "a-long-name-of-a-job", "alice", "r", 1764000000.5, [["all.q@a-host-with-a-long-name.example", 1, 0]], 1, ""],
    [12345678, 1, "x", "a-long-name-of-an-owner", "hqw", 1764000061, [], 16, "1-10:2"],
]


#: of job 7, as texts
RECORD = (
    "all.q node1 users alice sleep 7 sge 0 1764000000 1764000001.25 1764000061 0 0 60 0.012345 0.0005 4096 0 0 0 0 512 3 0 8 16 "
    "0 0 0 12 4 NONE defaultdepartment NONE 1 0 0.0125 0.25 0.001 NONE 0 NONE 123456789 0 0"
).split()


def respond(name: str, body: bytes) -> bytes:
    """A qmaster that agrees to everything."""
    asked = json.loads(body)
    if name == "submit":
        job = {"job_id": 7, "tasks": asked.get("tasks", ""), "name": asked.get("name", "x")}
        return answer({"status": 0, "answers": [], "data": job})
    if name == "job_list":
        first = {"status": 0, "answers": [], "data": {"jobs": {"running": ROWS[:1]}}}
        body = b"".join(json.dumps(value).encode() + b"\n" for value in (first, ["pending", ROWS[1:]], ["finished", []]))
        return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)
    if name == "accounting":
        sums = [[["alice"] * len(asked["group_by"]), [1.0] * 8]] if "group_by" in asked else []
        return answer({"status": 0, "answers": [], "data": {"records": [RECORD], "sums": sums, "next": None}})
    texts = [["info", f"alice has deleted job {job}"] for job in asked.get("targets", [])]
    return answer({"status": 0, "answers": texts, "data": None})


@pytest.fixture
def work(tmp_path: Path, run_dir: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory of the commands, with scripts."""
    work = tmp_path / "work"
    work.mkdir()
    for name, text in SCRIPTS.items():
        (work / name).write_text(text)
    (work / "options").write_text("-N of_options\n")
    monkeypatch.chdir(work)
    monkeypatch.setenv("A", "of the caller")
    return work


QSUB = [option for option in SUBMIT_OPTIONS if "qsub" in option.commands]


def compared(both: FrontCommands, server: Any, *command: str, **options: object) -> list[tuple[str, Any]]:
    """The requests of a command; output, status and requests are equal with the front and without."""
    found = []
    for run in (both.python, both.front):
        server.requests.clear()
        done = run(*command, **options)
        requests = [(name, json.loads(body)) for name, body in server.requests]
        found.append((done.stdout, done.stderr.replace(f"{both.behind}", f"{both.bin}"), done.returncode, requests))
    python, front = found
    # a request whose answer was late or odd is asked again, under its key
    assert front[:3] == python[:3]
    assert front[3][-len(python[3]) :] == python[3] and all(request in python[3] for request in front[3])
    return python[3]


@pytest.mark.parametrize("line", LINES)
def test_output_status_and_requests_are_those_of_the_command_in_python(both, serve, work, line: str) -> None:  # type: ignore[no-untyped-def]
    compared(both, serve(respond), *shlex.split(line))


@pytest.mark.parametrize("option", QSUB, ids=lambda option: option.name)
def test_each_option_is_understood_or_handed_over_before_anything_is_sent(played, serve, work, option) -> None:  # type: ignore[no-untyped-def]
    server = serve(respond)
    values = {"-p": "1", "-js": "1", "-tc": "1", "-w": "e", "-pe": "smp 2", "-t": "1", "-m": "a"}.get(option.name, "")
    command = ["qsub", option.name, *(values.split() or ["y"] * len(option.arguments)), "plain.sh"]
    done = played.front(*command)
    if option.name not in understood("qsub"):
        assert (done.stdout.splitlines(), server.requests) == ([HANDED, "", *command[1:]], [])
    elif option.name != "-b":  # with it there is no script
        sent = ["submit", "wait"] if option.name == "-sync" else ["submit"]
        assert [name for name, _ in server.requests] == sent


#: files that change a command
FILES = {
    "default/common/sge_request": "# the cell's\n-l a=1 -N cells -q cell.q\n\n-j y # merged\n",
    ".sge_request": "-N 'of me'\n-v B=1 -q my.q\n-hold_jid 1\n",
    "work/.sge_request": "-N here -b y",
    "default/common/sge_aliases": "/tmp_mnt/ * * /\n",
    ".sge_aliases": "/tmp_mnt/ * * /\n",
    "default/common/sge_qstat": "-u bob\n",
    ".sge_qstat": "-ext\n",
    "default/common/bootstrap": "run_dir\n",
}
#: the files that the front reads
READ = ("default/common/sge_request", ".sge_request", "work/.sge_request")


@pytest.mark.parametrize("line", ["qsub job.sh", "qsub -q x.q -hold_jid 2 job.sh", "qsub -b n -C '#$' job.sh", "qstat"])
@pytest.mark.parametrize("file", FILES)
def test_files_that_change_a_command_change_it_with_the_front(both, serve, work, file: str, line: str) -> None:  # type: ignore[no-untyped-def]
    server = serve(respond)
    (work.parent / file).write_text(FILES[file])
    compared(both, server, *shlex.split(line))


@pytest.mark.parametrize("text", ["-clear", "-N \u00e4", "-N a\r-j y", "-N a b", "-inherit", "-nonsense", "-N a\0b", "-now n"])
def test_files_that_are_not_plain_are_handed_over(played, serve, work, text: str) -> None:  # type: ignore[no-untyped-def]
    server = serve(respond)
    for file in READ:
        (work.parent / file).write_text(text)
        assert (played.front("qsub", "plain.sh").stdout.splitlines(), server.requests) == ([HANDED, "", "plain.sh"], [])
        (work.parent / file).unlink()


def test_a_file_that_others_may_write_is_handed_over(played, serve, work) -> None:  # type: ignore[no-untyped-def]
    server = serve(respond)
    (work / ".sge_request").write_text("-N theirs\n")
    (work / ".sge_request").chmod(0o666)
    assert (played.front("qsub", "plain.sh").stdout.splitlines(), server.requests) == ([HANDED, "", "plain.sh"], [])


@pytest.mark.parametrize(
    "variables",
    [
        {"HOME": ""}, {"HOME": None}, {"LOGNAME": None, "SHELL": None, "HOST": None, "TZ": "UTC", "MAIL": "x"}, {"PATH": ""},
        {"HOST": "named"}, {"TERM": "\u00e4"}, {"SGE_ROOT": None}, {"SGE_ROOT": ""}, {"SGE_CELL": ""}, {"SGE_CELL": "other"},
        {"LC_ALL": "C"}, {"LC_CTYPE": "C.UTF-8"}, {"A": "a\nb\tc"}, {"A": "\udcff"}, {"SGE_O_HOME": "x"},
        {"SGE_LONG_QNAMES": "-1"},
        {"MORE_INFO": ""}, {"TZ": "Asia/Kolkata"}, {"SGE_DEBUG_LEVEL": "1"}, {"PYTHONPATH": "/nowhere"},
    ],
    ids=str,
)  # fmt: skip
def test_variables_mean_what_they_mean_in_python(both, serve, work, monkeypatch, variables: dict[str, str | None]) -> None:  # type: ignore[no-untyped-def]
    server = serve(respond)
    for name, value in variables.items():
        if value is None:
            monkeypatch.delenv(name, raising=False)
        else:
            monkeypatch.setenv(name, value)
    for line in ("qsub -V job.sh", "qsub -v A,NOWHERE -b y /bin/true", "qstat", "qdel 1"):
        compared(both, server, *line.split())


def test_a_script_on_the_standard_input_is_left_to_the_command_in_python(both, serve, work) -> None:  # type: ignore[no-untyped-def]
    server = serve(respond)
    for command in (["qsub"], ["qsub", "-"], ["qsub", "/dev/stdin"]):
        [(_, body)] = compared(both, server, *command, stdin=None, input="#$ -N piped\nsleep 1\n")
        assert (body["script"], body["name"]) == ("#$ -N piped\nsleep 1\n", "piped")


def test_a_closed_standard_stream_is_handed_over(played, serve, work) -> None:  # type: ignore[no-untyped-def]
    server = serve(respond)
    for closed in ("0<&-", "2>&-"):
        done = cells.run(["sh", "-c", f'"{played.bin}/qsub" plain.sh {closed}'])
        assert (done.stdout.splitlines(), server.requests) == ([HANDED, "", "plain.sh"], [])


def test_a_cell_without_a_qmaster_gives_the_same_message(both, work) -> None:  # type: ignore[no-untyped-def]
    for line in ("qsub job.sh", "qdel 1", "qstat"):
        found = [run(*line.split()) for run in (both.python, both.front)]
        assert found[0].stderr == found[1].stderr and found[0].returncode == found[1].returncode == 1


def test_a_full_disk_and_a_reader_that_has_gone(both, serve, work) -> None:  # type: ignore[no-untyped-def]
    server = serve(respond)
    for line in ("qsub job.sh", "qdel 1", "qstat", "qacct -j 7"):
        outcomes = []
        for run in (both.python, both.front):
            server.keys.clear()
            with open("/dev/full", "w") as full:
                done = run(*line.split(), capture_output=False, stdout=full, stderr=-1)
            receiving, sending = os.pipe()
            os.close(receiving)
            gone = run(*line.split(), capture_output=False, stdout=sending, stderr=-1)
            os.close(sending)
            assert len(set(server.keys)) == (0 if line.startswith(("qstat", "qacct")) else 2), "one key for each call"
            outcomes.append((done.stderr, done.returncode, gone.stderr, gone.returncode))
        assert outcomes[0] == outcomes[1] == ("write error: No space left on device\n", 1, "", 141)


def test_launchers_are_programs_with_the_front_and_scripts_without(front, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    directory = tmp_path / "bin"
    directory.mkdir()
    for given, begin in ((None, b"#!"), (front, b"\x7fELF"), (None, b"#!")):
        write_launchers(directory, sys.executable, given)
        assert {(directory / name).read_bytes()[: len(begin)] for name in FRONT_COMMANDS} == {begin}
        assert (directory / "qhost").read_bytes().startswith(b"#!")
        assert cells.run([str(directory / "qsub"), "-version"]).stdout.startswith("SGE 8.1.9 ")
