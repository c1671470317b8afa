"""The native front, built as by `tools/install`, and the commands in Python behind the front."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from tests.integration.cells import ROOT, Done, run
from tests.integration.debian import need
from tools.launchers import FRONT_COMMANDS, write_launchers

CHECKED = os.environ.get("DRMAA_CHECKED", "")
"""A sanitizer of gcc that the front is built with (`make drmaa-sanitizers`)."""
_FLAGS = f"-O1 -g -fno-omit-frame-pointer -fsanitize={CHECKED} -fno-sanitize-recover" if CHECKED else "-O2 -g"
HANDED = "handed over:"
"""The first line of the script in place of a command in Python; the key and the arguments follow, a line each."""


def build_front(directory: Path) -> Path:
    """The program, built in a directory."""
    need("cc")
    made = ["make", "--silent", "-C", str(ROOT / "clients" / "front"), f"BUILD={directory}", f"CFLAGS={_FLAGS} -Werror"]
    done = run([*made, f"PYTHON={sys.executable}"])
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return directory / "front"


class FrontCommands:
    """Commands with the front in `bin` of a directory, and the commands in Python in `libexec`.

    `played`: a script in place of each command in Python prints its arguments, and sends nothing.
    """

    def __init__(self, front: Path, directory: Path, played: bool = False) -> None:
        self.bin, self.behind = directory / "bin", directory / "libexec"
        self.bin.mkdir(parents=True)
        write_launchers(self.bin, sys.executable, front)
        for name in FRONT_COMMANDS if played else ():
            (self.behind / name).write_text(f"#!/bin/sh\nprintf '%s\\n' '{HANDED}' \"$@\"\n")

    def front(self, *command: str, **options: object) -> Done:
        """Run a command with the front."""
        return run([str(self.bin / command[0]), *command[1:]], **options)

    def python(self, *command: str, **options: object) -> Done:
        """Run the command in Python alone."""
        return run([str(self.behind / command[0]), "", *command[1:]], **options)
