"""Requirements of tests on the machine. Without it a test is skipped with one sentence: the requirement, and the remedy.

Owns the form of that sentence; each kind of need is one function or mark, Debian packages are `tests/integration/debian.py`.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import NoReturn

import pytest

PROJECT = Path(__file__).resolve().parents[1]
_ROOT, _AS_ROOT = "root, to be several users", "run the tests as root, in a container if need be"
_PRIVILEGED = "run the tests as root with all capabilities (a container: --privileged)"

#: tests that are several users, give files or terminals away, or use ports of root
root = pytest.mark.skipif(os.geteuid() != 0, reason=f"needs {_ROOT}: {_AS_ROOT}")

#: tests whose false GPUs would be beside the machine's own
no_gpus = pytest.mark.skipif(os.path.exists("/dev/nvidiactl"), reason="needs a machine without GPUs: run the tests elsewhere")

#: tests of connections by IPv6
ipv6 = pytest.mark.skipif(not socket.has_dualstack_ipv6(), reason="needs IPv6: run the tests with a kernel that has it")


def skip(what: str, to_do: str) -> NoReturn:
    """Skip the test. what: the missing requirement; to_do: the remedy, for people who want to run the test."""
    pytest.skip(f"needs {what}: {to_do}")


def need_root() -> None:
    """For fixtures; a test has the mark `root`."""
    if os.geteuid() != 0:
        skip(_ROOT, _AS_ROOT)


def need_mounts() -> None:
    """Have file systems mounted by this test."""
    need_root()
    if problem := _mount_problem():
        skip("the right to mount", f"{_PRIVILEGED}; here: {problem}")


def need_open_checkout() -> None:
    """Have other users run the programs of this checkout."""
    for path in (PROJECT, *PROJECT.parents, Path(sys.prefix), Path(sys.prefix) / "bin"):
        if os.geteuid() == 0 and not path.stat().st_mode & 0o001:
            skip("a checkout that other users can enter", f"run `make test`, which opens {path}, or clone the project elsewhere")


def need_testbed() -> None:
    """Have several hosts on this machine."""
    if reason := why_no_testbed():
        pytest.skip(reason)


def why_no_testbed() -> str:
    """Return the reason why hosts cannot be made here, with the remedy; "" if they can."""
    command = [PROJECT / "tests" / "testbed" / "hosts", "check"]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    return f"needs hosts of the test bed: {done.stderr.strip().removeprefix('hosts: ')}" if done.returncode else ""


def _mount_problem() -> str:
    """The obstacle to mounting in a namespace of its own; "" for none."""
    try:
        command = ["unshare", "--mount", "mount", "-t", "tmpfs", "probe", "/mnt"]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    except OSError as error:
        return str(error)
    return (done.stderr.strip().splitlines() or ["unshare failed"])[-1] if done.returncode else ""
