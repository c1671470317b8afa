"""`gridengine demo`: jobs of four kinds run, and nothing is left, also when it is interrupted."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path
from urllib.request import urlopen

import pytest

from tests.integration.cells import BIN, eventually

pytestmark = pytest.mark.usefixtures("launchers")


def places() -> set[Path]:
    return set(Path("/tmp").glob("ge-demo-*"))


def processes_of(places: set[Path]) -> list[str]:
    """Return the command lines of processes that belong to a cell in one of `places`."""
    marks = [f"SGE_ROOT={place}".encode() for place in places]
    found = []
    for environ in Path("/proc").glob("[0-9]*/environ"):
        try:
            if any(mark in environ.read_bytes().split(b"\0") for mark in marks):
                found.append((environ.parent / "cmdline").read_text().replace("\0", " "))
        except OSError:
            continue
    return found


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_demo_leaves_nothing(number):
    before = places()
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        [BIN / "gridengine", "demo"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=environment,
    ) as demo:
        assert demo.stdout is not None
        for line in demo.stdout:
            if "starting sge_qmaster" in line:
                break
        ours = places() - before
        assert ours and processes_of(ours)
        demo.send_signal(number)
        demo.stdout.read()
    assert demo.returncode == 130
    assert places() <= before
    eventually("all processes of the demo are gone", lambda: not processes_of(ours))


def test_the_demo_runs_jobs_and_with_pages_lasts_until_sigterm():
    """Without pages it is the same up to here (tests/unit/admin/test_demo.py), and in an environment of its own it is run by
    tests/integration/packages."""
    before = places()
    command, environment = [BIN / "gridengine", "demo", "--web"], {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment) as demo:
        assert demo.stdout is not None
        output = []
        for line in demo.stdout:
            output.append(line)
            if "The cell runs on" in line:
                break
        (link,) = [line.strip() for line in output if line.startswith("http://")]
        with urlopen(link) as page:
            assert "Log in" in page.read().decode()
        demo.send_signal(signal.SIGINT)
        rest = demo.stdout.read()
    shown = "".join(output)
    assert demo.returncode == 0, shown + rest
    assert "all.q@demo3" in shown and "exit_status  0" in shown and "job 1 of" in shown
    assert "\x1b" not in shown + rest, "plain lines where there is no terminal"
    assert places() <= before
