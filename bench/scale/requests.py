"""Requests to a simulated cell: over GDI connections that stay open, and by the commands as users run them.

Owns the jobs that are submitted: 1,000 categories of single jobs that last longer than the run.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import msgspec

from tools.launchers import start_of

CATEGORIES = 1_000
LASTING_S = "1000000"
Figures = dict[str, Any]


def job(number: int) -> dict[str, Any]:
    """A submission as qsub would send it."""
    return {
        "name": f"job_{number % CATEGORIES}", "script_file": "/home/alice/bin/solve", "binary": True, "args": [LASTING_S],
        "cwd": "/home/alice/work", "submit_cwd": "/home/alice/work", "home": "/home/alice", "login_shell": "/bin/bash",
        "submit_path": "/usr/local/bin:/usr/bin:/bin", "hard": [f"h_rt={3600 + number % CATEGORIES}"],
        "environment": {"SGE_O_HOME": "/home/alice", "SGE_O_LOGNAME": "alice", "SGE_O_PATH": "/usr/bin:/bin"},
    }


class Connection:
    """A connection to the GDI on which one request follows on the other."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    @classmethod
    async def open(cls, socket: Path) -> Connection:
        return cls(*await asyncio.open_unix_connection(socket, limit=2**26))

    async def ask(self, name: str, body: Any) -> Any:
        """The answer to a request; a refusal ends the run."""
        data = msgspec.json.encode(body)
        head = f"POST /v1/{name} HTTP/1.1\r\nHost: q\r\nContent-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n"
        self._writer.write(head.encode() + data)
        lines = (await self._reader.readuntil(b"\r\n\r\n")).split(b"\r\n")
        length = next(int(line.split(b":")[1]) for line in lines if line.lower().startswith(b"content-length:"))
        answer = msgspec.json.decode(await self._reader.readexactly(length))
        if answer["status"]:
            sys.exit(f"scale: {name} was refused: {answer['answers']}")
        return answer

    def close(self) -> None:
        self._writer.close()


async def asked(socket: Path, name: str, body: Any) -> float:
    """Seconds that one request takes on a connection of its own."""
    connection = await Connection.open(socket)
    began = time.perf_counter()
    await connection.ask(name, body)
    connection.close()
    return time.perf_counter() - began


async def submit(socket: Path, jobs: int, connections: int = 16) -> Figures:
    """Submissions over parallel connections; each connection waits for the acknowledgement of its previous submission."""
    numbers = iter(range(jobs))

    async def one_after_the_other() -> None:
        connection = await Connection.open(socket)
        for number in numbers:
            await connection.ask("submit", job(number))
        connection.close()

    began = time.perf_counter()
    await asyncio.gather(*(one_after_the_other() for _ in range(connections)))
    seconds = time.perf_counter() - began
    return {"jobs": jobs, "seconds": round(seconds, 1), "a_second": round(jobs / seconds)}


def command(directory: Path, *command_line: str) -> float:
    """Seconds of a whole process of one of the commands; its output is thrown away."""
    program = f"import sys; sys.path.append({os.getcwd()!r})\n{start_of(f'clients.{command_line[0]}')}"
    environment = {"PATH": os.environ["PATH"], "SGE_ROOT": str(directory), "SGE_CELL": "default", "HOME": "/nonexistent"}
    began = time.perf_counter()
    arguments = [sys.executable, "-IS", "-c", program, *command_line[1:]]
    done = subprocess.run(arguments, env=environment, stdout=subprocess.DEVNULL, cwd="/")
    if done.returncode:
        sys.exit(f"scale: {' '.join(command_line)} has ended with {done.returncode}")
    return time.perf_counter() - began


async def commands(directory: Path, lines: list[str], runs: int = 7) -> dict[str, float]:
    """Median milliseconds of the whole process of each of these commands."""
    found = {}
    for line in lines:
        times = [await asyncio.to_thread(command, directory, *line.split()) for _ in range(runs)]
        found[line] = round(1000 * statistics.median(times), 1)
    return found


async def polled(directory: Path, line: str, clients: int, seconds: float) -> Figures:
    """So many clients that run a command over and over."""
    end = time.perf_counter() + seconds
    times: list[float] = []

    async def poll() -> None:
        while time.perf_counter() < end:
            times.append(await asyncio.to_thread(command, directory, *line.split()))
            await asyncio.sleep(1.0)

    await asyncio.gather(*(poll() for _ in range(clients)))
    times.sort()
    return {"times": len(times), "median_ms": round(1000 * times[len(times) // 2]), "worst_ms": round(1000 * times[-1])}
