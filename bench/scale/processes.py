"""The processes of a simulated cell as their observer sees them: start, kill, and the processor time and memory of each."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

_TICK = os.sysconf("SC_CLK_TCK")


class Process:
    """One of them. `values`: the lines of JSON that it has printed."""

    def __init__(self, module: str, *arguments: object) -> None:
        command = [sys.executable, "-m", f"bench.scale.{module}", *map(str, arguments)]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE)

    def line(self) -> dict[str, Any]:
        """The next line of JSON that it prints."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            sys.exit("scale: a process of the cell has ended; see above")
        values: dict[str, Any] = json.loads(line)
        return values

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def wait(self) -> None:
        self._process.wait()

    def processor_s(self) -> float:
        """Seconds of processor time that the process has used."""
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICK

    def memory_mb(self) -> dict[str, int]:
        """Resident now, and at most since it began."""
        lines = Path(f"/proc/{self._process.pid}/status").read_text().splitlines()
        found = {line.split(":")[0]: int(line.split()[1]) // 1024 for line in lines if line.startswith(("VmRSS", "VmHWM"))}
        return {"now": found["VmRSS"], "peak": found["VmHWM"]}
