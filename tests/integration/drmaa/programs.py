"""Programs that use the library in a cell: in Python through the package `drmaa`, and in C."""

from __future__ import annotations

import json
import os
import pwd
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests import needs
from tests.integration.cells import COMMAND_S, ROOT, DemoCell, Done, run

SOURCE = ROOT / "clients" / "drmaa"
HERE = Path(__file__).parent
CHECKED = os.environ.get("DRMAA_CHECKED", "")
"""A sanitizer of gcc that library and C programs are built with (`make drmaa-sanitizers`)."""
FLAGS = f"-O1 -g -fno-omit-frame-pointer -fsanitize={CHECKED}" if CHECKED else "-O2 -g"


class Programs:
    """Programs in a cell. `directory`: of the library."""

    def __init__(self, cell: DemoCell, directory: Path) -> None:
        self.cell = cell
        self.directory = directory
        self.environment = {**cell.environment, "DRMAA_LIBRARY_PATH": str(directory / "libdrmaa.so"), "HOME": str(cell.work)}

    def start(self, text: str, user: str = "", **variables: str) -> subprocess.Popen[str]:
        """Start a Python program that has `drmaa`, the session `s`, and `job(command, **attributes)`, a job template.

        `user`: the owner of the program, for which the tests must run as root.
        """
        if user:
            needs.need_open_checkout()
        command = [sys.executable, "-c", f"{_PRELUDE}\n{text}"]
        pipe = subprocess.PIPE
        settings: dict[str, Any] = {"env": {**self.environment, **variables}, "cwd": self.cell.work, "text": True}
        if user:
            settings |= {"user": user, "group": pwd.getpwnam(user).pw_gid, "extra_groups": []}
        return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, **settings)

    def python(self, text: str, user: str = "", **variables: str) -> Any:
        """Run a program; return its output as JSON values."""
        program = self.start(text, user, **variables)
        out, err = program.communicate(timeout=COMMAND_S)
        assert program.returncode == 0, f"exit {program.returncode}: {out}{err}"
        found = [json.loads(line) for line in out.splitlines()]
        return found[0] if len(found) == 1 else found

    def compiled(self, name: str, *more: Path) -> Path:
        """A C program of this directory, linked with the library or with the given sources of it."""
        made = self.directory / name
        linked = [str(path) for path in more] or [f"-L{self.directory}", "-ldrmaa", f"-Wl,-rpath,{self.directory}"]
        command = ["cc", "-std=c11", "-D_GNU_SOURCE", *FLAGS.split(), "-Wall", "-Wextra", "-Werror", "-pthread", f"-I{SOURCE}"]
        done = run([*command, "-o", str(made), str(HERE / f"{name}.c"), *linked])
        assert done.returncode == 0, done.stderr
        return made

    def c(self, name: str, *arguments: str, **variables: str) -> Done:
        """Build and run a C program, which must succeed and which no sanitizer may have a word on."""
        environment = {**self.environment, "TSAN_OPTIONS": "halt_on_error=1", **variables}
        done = run([str(self.compiled(name)), *arguments], env=environment, cwd=self.cell.work)
        assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
        return done


_PRELUDE = """
import json, os, sys, time
import drmaa
from drmaa import Session
FOREVER = Session.TIMEOUT_WAIT_FOREVER
s = Session()
def job(command, *arguments, **attributes):
    made = s.createJobTemplate()
    made.remoteCommand, made.args, made.joinFiles, made.outputPath = command, list(arguments), True, ":/dev/null"
    for name, value in attributes.items():
        setattr(made, name, value)
    return made
def shell(script, **attributes):
    return job("/bin/sh", "-c", script, **attributes)
def tell(value):
    print(json.dumps(value), flush=True)
def tried(call, *arguments):
    try:
        return call(*arguments)
    except Exception as error:
        return type(error).__name__, str(error)
s.initialize(os.environ.get("CONTACT"))
"""
