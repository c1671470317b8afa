"""Output that cannot be written: a full disk is named and is a failure, a reader that has gone is not worth a word."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.integration.cells import BIN, PATIENCE_S

#: one of each way to print: by all q* commands, by typer and its libraries, by what is imported for little
PRINTING = (
    *((command, "-help") for command in ("qsub", "qacct", "qsched")),
    ("squeue", "--help"),
    ("gridengine", "--help"),
    ("gridengine", "--version"),
    ("gridengine", "completion", "bash"),
    ("gethostname", "-name"),
    ("getservbyname", "-number", "ssh"),
    ("loadcheck",),
    ("sge_execd", "--help"),
    ("sge_backup", "--help"),
)


def program(name: str) -> str:
    """A command, or one of `utilbin`, which has the architecture's name above it."""
    places = (BIN / name, *BIN.parent.glob(f"utilbin/*/{name}"), *BIN.parent.glob(f"slurm/**/{name}"))
    return str(next(place for place in places if place.exists()))


@pytest.mark.parametrize("command", PRINTING, ids=" ".join)
def test_a_full_disk_is_named(launchers: Path, command: tuple[str, ...]) -> None:
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [program(command[0]), *command[1:]], stdout=full, stderr=subprocess.PIPE, text=True, timeout=PATIENCE_S
        )
    assert (done.returncode, done.stderr) == (1, "write error: No space left on device\n")


@pytest.mark.parametrize("command", PRINTING, ids=" ".join)
def test_a_closed_pipe_is_quiet(launchers: Path, command: tuple[str, ...]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run([program(command[0]), *command[1:]], stdout=writer, stderr=subprocess.PIPE, timeout=PATIENCE_S)
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, b"")
