"""The shepherd's configuration of interactive jobs."""

from __future__ import annotations

from typing import Any

import pytest

from daemons.execd.task_config import task_config
from gridengine.protocols.task_file import TaskConfig, decode, encode
from shepherd.command_line import job_command_line
from tests.unit.execd.instructions import ALICE, SITE, configuration, start


def config(job: dict[str, Any], settings: dict[str, str] | None = None, **changes: Any) -> TaskConfig:
    made = task_config(start(job, **changes), SITE, configuration(**(settings or {})), ALICE)
    assert decode(encode(made)) == made
    return made


def called(made: TaskConfig) -> list[str]:
    return job_command_line(made).argv


QRSH = {"kind": "qrsh", "binary": True, "script_file": "/bin/echo", "args": ["$HOST", "a  b"]}


@pytest.mark.statement("IA-1", "SO-24")
def test_a_command_is_read_by_the_login_shell_of_the_owner() -> None:
    assert called(config(QRSH)) == ["bash", "-c", "/bin/echo $HOST a  b"]
    assert called(config({**QRSH, "no_shell": True})) == ["/bin/echo", "$HOST", "a  b"]


@pytest.mark.statement("QC-26")
def test_a_starter_method_starts_commands() -> None:
    assert called(config(QRSH, queue={"starter_method": "/starter"})) == ["/starter", "/bin/echo", "$HOST", "a  b"]


@pytest.mark.statement("IA-7")
def test_a_wrapper_gets_the_command_instead() -> None:
    made = config(QRSH, environment={"QRSH_WRAPPER": "/usr/bin/wish"})
    assert called(made) == ["/usr/bin/wish", "/bin/echo $HOST a  b"]


@pytest.mark.statement("IA-2", "QC-24", "QC-26")
@pytest.mark.parametrize("kind", ["qlogin", "qrlogin"])
def test_a_login_is_a_login_shell_without_a_starter(kind: str) -> None:
    made = config({"kind": kind}, queue={"starter_method": "/starter", "shell_start_mode": "script_from_stdin"})
    assert called(made) == ["-bash"]
    assert (made.stdout, made.stderr) == ("/dev/null", "/dev/null")


@pytest.mark.statement("SO-29")
@pytest.mark.parametrize(
    ("job", "session"),
    [
        ({"kind": "qlogin"}, "pty"),
        ({"kind": "qrlogin", "pty": False}, "pipes"),
        (QRSH, "pipes"),
        ({**QRSH, "pty": True}, "pty"),
        ({"binary": True, "script_file": "/bin/true"}, ""),
    ],
)
def test_kind_and_pty_of_a_job_decide_its_session(job: dict[str, Any], session: str) -> None:
    assert config(job).session == session


@pytest.mark.statement("IA-6")
def test_time_that_a_job_goes_on_without_a_client() -> None:
    assert config(QRSH).session_grace_s == 60
    assert config(QRSH, {"execd_params": "SESSION_GRACE=00:10:00"}).session_grace_s == 600


@pytest.mark.statement("IA-3")
def test_qsh_runs_the_configured_xterm_without_a_session() -> None:
    made = config({"kind": "qsh", "args": ["-bg", "red"]}, {"xterm": "/opt/xterm"})
    assert called(made)[0] == "/opt/xterm" and called(made)[-2:] == ["-bg", "red"]
    assert made.session == ""
