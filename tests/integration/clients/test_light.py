"""Imports of the commands on their common path: next to none, since imports are most of the cost of a command."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.integration.cells import PATIENCE_S
from tests.integration.debian import need
from tools.launchers import start_of

ROOT = Path(__file__).parents[3]
HEAVY = (
    "re json socket selectors enum typing dataclasses argparse http collections functools pathlib subprocess base64 logging "
    "tempfile shutil signal msgspec pydantic ray asyncio inspect datetime"
).split()


@pytest.mark.parametrize(
    "name", "qsub qrsh qlogin qsh qstat qdel qmod qhold qrls qhost qselect qalter qacct qstatus qsched".split()
)
def test_a_command_imports_nothing_heavy(name: str) -> None:
    code = (
        f"import sys; sys.path.append({str(ROOT)!r}); import clients.{name}; "
        "import clients.render.jobs, clients.render.instances, clients.render.hosts; "
        f"print(*sorted(set({HEAVY!r}) & set(sys.modules)))"
    )
    outcome = subprocess.run([sys.executable, "-IS", "-c", code], capture_output=True, text=True, check=True)
    assert outcome.stdout == "\n"


ANSWERS = {
    "qsub -b y /bin/true": b'{"status":0,"answers":[],"data":{"job_id":1,"tasks":"","name":"true"}}',
    "qdel 1": b'{"status":0,"answers":[["info","alice has deleted job 1"]],"data":null}',
    "qstat -u nobody": b'{"status":0,"answers":[],"data":{"jobs":{"running":[],"pending":[],"finished":[],"inconsistent":[]}}}\n',
}
"""Commands of the common path, with the qmaster's answers."""
_COUNT = """
import sys
seen = {"import": set(), "open": set(), "listed": 0}
def note(event, values):
    if event == "import" and values[0] not in sys.builtin_module_names:
        seen["import"].add(values[0])
    elif event == "open":
        seen["open"].add(str(values[0]))
    elif event in ("os.listdir", "os.scandir"):
        seen["listed"] += 1
sys.addaudithook(note)
import os
end = os._exit
def told(status):
    os.write(2, b"%d %d %d" % (len(seen["import"]), len(seen["open"]), seen["listed"]))
    end(status)
os._exit = told
"""
#: what a command asks and says that has to wait is not counted, however slow this machine is
_COUNTED = f"from clients import gdi\ngdi.REPORT_AFTER_S = {PATIENCE_S}\n"
MOST_IMPORTS, MOST_FILES = 28, 25
MOST_CALLS = 410
"""Of a whole command: each module costs 0.1 to 0.3 ms, of the 10 that it may take beyond the interpreter itself."""


@pytest.mark.parametrize("line", ANSWERS)
def test_a_whole_command_imports_and_opens_few_files(serve, line: str) -> None:  # type: ignore[no-untyped-def]
    """A limit without a clock: a change that needs one more module has to raise it here."""
    answer = ANSWERS[line]
    serve(lambda request, body: b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(answer), answer))
    name, *arguments = line.split()
    start = f"{_COUNT}\nsys.path.append({str(ROOT)!r})\n{_COUNTED}{start_of(f'clients.{name}')}"
    for _ in range(2):  # the first may find modules that are not compiled yet
        outcome = subprocess.run([sys.executable, "-IS", "-c", start, *arguments], capture_output=True, text=True, check=True)
    imports, files, listed = map(int, outcome.stderr.split())
    assert imports <= MOST_IMPORTS and files <= MOST_FILES, (imports, files, listed)


def _system_calls(report: Path, *command: str) -> int:
    subprocess.run(["strace", "-f", "-qq", "-o", str(report), sys.executable, "-IS", *command], capture_output=True, check=True)
    return sum("resumed>" not in line for line in report.read_text().splitlines())


@pytest.mark.parametrize("line", ANSWERS)
def test_a_whole_command_makes_few_system_calls(serve, tmp_path: Path, line: str) -> None:  # type: ignore[no-untyped-def]
    """Beyond the calls of an interpreter that does nothing, of any version: 15 a module, 60 for the request."""
    need("strace")
    answer = ANSWERS[line]
    serve(lambda request, body: b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(answer), answer))
    name, *arguments = line.split()
    start = f"import sys\nsys.path.append({str(ROOT)!r})\n{_COUNTED}{start_of(f'clients.{name}')}"
    counts = [_system_calls(tmp_path / "calls", "-c", start, *arguments) for _ in range(2)]  # the first may compile
    nothing = _system_calls(tmp_path / "calls", "-c", "import os\nos._exit(0)")
    assert counts[-1] - nothing <= MOST_CALLS, (counts, nothing)


@pytest.mark.statement("SO-39")
def test_the_locale_of_the_interpreter_is_not_that_of_the_job() -> None:
    """Python sets LC_CTYPE for itself in the C locale; -V takes the caller's variables."""
    code = "import sys; sys.path.append('.')\nfrom clients.program import callers_environment as e\nprint(e().get('LC_CTYPE'))"
    for given, kept in ({}, "None"), ({"LC_CTYPE": ""}, ""), ({"LC_CTYPE": "C.UTF-8"}, "C.UTF-8"):
        run = subprocess.run([sys.executable, "-ISc", code], env=given, capture_output=True, text=True, check=True)
        assert run.stdout == f"{kept}\n"
