"""A program of a job that tries to open the device files of units in each way that its user has.

`try` prints the outcome as JSON: way -> file -> result. `serve` waits, and tries for each `ask JOB`, which prints it. `take JOB`
tries what a descriptor permits that the job JOB passes on, which serves. Runs alone, with the Python of the system. Called by
`devices`. Source: adr/0350.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

PLACE = Path("/srv/devices")
"""Has the device files, `made/` with other nodes of the devices, `run/` with sockets, and setuid copies of head and mknod."""
FILES = ("0", "1", "2", "shared")
OPENED = "opened"
_CHANGED = {"SGE_HGR_seat": "0 1 2", "CUDA_VISIBLE_DEVICES": "0,1,2", "ROCR_VISIBLE_DEVICES": "0,1,2"}
_OPEN = """import os, sys
try: os.open(sys.argv[1], os.O_RDONLY)
except OSError as error: sys.exit(error.strerror)
"""


def _directly(path: Path) -> str:
    try:
        os.close(os.open(path, os.O_RDONLY))
    except OSError as error:
        return str(error.strerror)
    return OPENED


def _by(*command: object, **environment: str) -> str:
    arguments, variables = [str(argument) for argument in command], {**os.environ, **environment}
    done = subprocess.run(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=variables)
    return OPENED if done.returncode == 0 else done.stderr.strip().rpartition(": ")[2]


def _by_link(path: Path) -> str:
    with tempfile.TemporaryDirectory() as directory:
        link = Path(directory, "link")
        link.symlink_to(path)
        return _directly(link)


def _by_node(path: Path) -> str:
    """A device file of the job's own, which a setuid program makes."""
    device = path.stat().st_rdev
    with tempfile.TemporaryDirectory() as directory:
        node = Path(directory, "node")
        made = _by(PLACE / "helper-mknod", "-m", "666", node, "c", os.major(device), os.minor(device))
        return _directly(node) if made == OPENED else made


WAYS: dict[str, Callable[[Path], str]] = {
    "its path": _directly,
    "a link": _by_link,
    "a node of its own": _by_node,
    "a node made by others": lambda path: _directly(path.parent / "made" / path.name),
    "changed variables": lambda path: _by(sys.executable, "-S", "-c", _OPEN, path, **_CHANGED),
    "a setuid program": lambda path: _by(PLACE / "helper-head", "-c", 1, path),
    "other namespaces": lambda path: _by(
        "unshare", "--user", "--map-root-user", "--mount", "--cgroup", sys.executable, "-S", "-c", _OPEN, path
    ),
}


def tries() -> str:
    """One line of JSON."""
    results: dict[str, object] = {way: {name: attempt(PLACE / name) for name in FILES} for way, attempt in WAYS.items()}
    return json.dumps(results | {"units": os.environ.get("SGE_HGR_seat", ""), "uid": os.getuid()})


def _serve() -> None:
    """Answer each connection; a descriptor of the file of its first unit goes with the answer."""
    held = os.open(PLACE / os.environ["SGE_HGR_seat"].split()[0], os.O_RDONLY)
    address = PLACE / "run" / os.environ["JOB_ID"]
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(address))
        server.listen()
        while True:
            connection, _ = server.accept()
            with connection:
                socket.send_fds(connection, [f"{os.getpid()} {held}\n{tries()}".encode()], [held])


def _asked(job: str) -> tuple[str, str, int]:
    """What a job that serves answers: where its descriptor is, JSON, and a copy of the descriptor."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(PLACE / "run" / job))
        data, descriptors, _, _ = socket.recv_fds(connection, 65536, 1)
    where, _, answer = data.decode().partition("\n")
    return where, answer, descriptors[0]


def _take(job: str) -> str:
    where, _, descriptor = _asked(job)
    pid, number = where.split()
    return json.dumps({
        "reading": len(os.read(descriptor, 1)),
        "opening it again": _directly(Path(f"/proc/self/fd/{descriptor}")),
        "opening that of the job": _directly(Path(f"/proc/{pid}/fd/{number}")),
    })  # fmt: skip


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["try"]:
            print(tries(), flush=True)
        case ["serve"]:
            _serve()
        case ["ask", job]:
            print(_asked(job)[1])
        case ["take", job]:
            print(_take(job))
