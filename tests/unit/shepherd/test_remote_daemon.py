"""Files and variables for the daemon that lets a task's client in."""

from __future__ import annotations

import os
import shlex
import stat
from pathlib import Path

import pytest

from shepherd.identity import Identity
from shepherd.remote_daemon import SCRIPT, write_script
from tests.unit.shepherd.configuration import config

OWNER = Identity("alice", 1001, 1001, ())


@pytest.mark.statement("IA-5")
def test_the_script_runs_the_command_in_its_directory_with_the_jobs_environment(tmp_path: Path) -> None:
    place = tmp_path / "a place"
    place.mkdir()
    environment = {"WORD": "it's; $HOME", "BASH_FUNC_x%%": "() { :; }"}
    command = {"command": "/bin/sh", "args": ["-c", "pwd; echo $WORD"], "binary": True, "no_shell": True}
    write_script(tmp_path, config(cwd=str(place), environment=environment, **command), OWNER)
    lines = (tmp_path / SCRIPT).read_text().splitlines()
    assert lines[:2] == ["#!/bin/sh", f"cd '{place}' || exit"]
    assert lines[2:-1] == ["export WORD='it'\"'\"'s; $HOME'"]
    assert shlex.split(lines[-1]) == ["exec", "/bin/sh", "-c", "pwd; echo $WORD"]


def test_the_script_is_the_owners_alone(tmp_path: Path) -> None:
    write_script(tmp_path, config(command="/bin/true", binary=True), OWNER)
    status = (tmp_path / SCRIPT).stat()
    assert stat.S_IMODE(status.st_mode) == 0o500
    assert status.st_uid == (OWNER.uid if os.geteuid() == 0 else os.geteuid())


def test_a_login_has_no_script(tmp_path: Path) -> None:
    write_script(tmp_path, config(login=True, script=None, command=None), OWNER)
    assert not (tmp_path / SCRIPT).exists()
