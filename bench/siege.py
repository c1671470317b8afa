"""Costs of one user's attacks on a cell's sockets for another user: figures, as JSON, and exit 1 beyond the limits.

    siege.py CELL.env [--attacks idle,gateway,heads,bodies,scripts,patterns] [--seconds 30]

An env file as `make cell` writes it. alice attacks from an exec host and from the master host (`attacks.py`); bob runs
`qstat` all the time, beside her. Figures of each attack: `qstat_ms`, the median of the whole process, `qstat_worst_ms`,
`qstat_failed`; `qmaster_mb` and `execd_mb`, the largest resident memory of the qmaster and of the exec host's daemon, and
`after_mb`, the qmaster's after the attack. `calm` has the figures without an attack. Limits: `qstat_ms` of 100 ms at most,
`qmaster_mb` of 400 at most, no `qstat_failed`. Called by `make siege`.
"""

from __future__ import annotations

import argparse
import json
import shlex
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from typing import Any

QSTAT_MS, QMASTER_MB = 100.0, 400.0
CONNECTIONS, BODIES, BODY_BYTES = 20_000, 16, 150 * 10**6
SCRIPT_BYTES, SCRIPTS, TASKS = 8 * 2**20, 10, 1000
NAMES, ASKING = 1000, 8
#: seconds after an attack in which its traces may go
_REST_S = 3.0
ATTACKS = Path(__file__).with_name("attacks.py")
Figures = dict[str, Any]

_QSTAT = (
    "end=$((SECONDS + {seconds})); while [ $SECONDS -lt $end ]; do a=$(date +%s%N); qstat >/dev/null 2>&1; s=$?; "
    'b=$(date +%s%N); echo "$s $(( (b-a)/1000 ))"; sleep 0.05; done'
)
#: patterns match command lines of processes, but not the search itself; actors set their own process titles
_MEMORY = (
    "for p in /proc/[0-9]*; do if tr '\\0' ' ' < $p/cmdline 2>/dev/null | grep -q '{pattern}'; then "
    "awk '/VmHWM|VmRSS/ {{print $2}}' $p/status; [ {reset} = 0 ] || echo 5 > $p/clear_refs; break; fi; done"
)
_QMASTER, _EXECD = "^ray::QmasterActor", "[p]ython.*bin/sge_execd"


class Cell:
    """A cell of the test bed, by the command prefixes of its env file: alice and bob on an exec host and on the master."""

    def __init__(self, env_file: Path) -> None:
        script = f'. {shlex.quote(str(env_file))} && printf "%s\\n" "$MGR" "$ALICE" "$BOB"'
        done = subprocess.run(["bash", "-c", script], capture_output=True, text=True)
        lines = done.stdout.splitlines()
        if done.returncode or len(lines) != 3:
            sys.exit(f"siege: {env_file} does not describe a cell")
        self.manager, alice, bob = (shlex.split(line) for line in lines)
        master = self.manager[-1]
        self.alice = {"exec": alice, "master": [*alice[:-1], master]}
        self.bob = {"exec": bob, "master": [*bob[:-1], master]}
        self.master = master

    def run(self, prefix: list[str], *command: str) -> str:
        """Output of a command."""
        return subprocess.run([*prefix, *command], capture_output=True, text=True).stdout

    def setting(self, key: str) -> str:
        """A value of bootstrap."""
        found = self.run(self.manager, "bash", "-c", f'awk \'$1 == "{key}" {{print $2}}\' $SGE_ROOT/$SGE_CELL/common/bootstrap')
        return found.strip()

    def memory(self, process: str, reset: bool = False) -> tuple[int, int]:
        """Largest and present resident memory of a daemon, in MB; `reset`: restart the measurement of the largest."""
        prefix = self.manager if process == _QMASTER else [*self.manager[:-1], self.alice["exec"][-1]]
        output = self.run(prefix, "bash", "-c", _MEMORY.format(pattern=process, reset=int(reset))).split()
        return int(output[0]) // 1024, int(output[1]) // 1024


@contextmanager
def run_qstat_during(cell: Cell, host: str, seconds: float, figures: Figures):  # type: ignore[no-untyped-def]
    """Let bob run qstat for `seconds` s and more, until the attack ends."""
    for process in (_QMASTER, _EXECD):
        cell.memory(process, reset=True)
    command = [*cell.bob[host], "bash", "-c", _QSTAT.format(seconds=int(seconds))]
    asking = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    yield
    output, _ = asking.communicate()
    answers = [line.split() for line in output.splitlines()]
    took = [int(took) / 1000 for status, took in answers if status == "0"]
    figures["asked"], figures["qstat_failed"] = len(answers), len(answers) - len(took)
    if took:
        figures["qstat_ms"], figures["qstat_worst_ms"] = round(statistics.median(took), 1), round(max(took), 1)
    figures["qmaster_mb"], figures["execd_mb"] = cell.memory(_QMASTER)[0], cell.memory(_EXECD)[0]
    time.sleep(_REST_S)
    figures["after_mb"] = cell.memory(_QMASTER)[1]


def siege(cell: Cell, host: str, seconds: float, *attack: object) -> Figures:
    """One of the attacks of `attacks.py`."""
    figures: Figures = {}
    with run_qstat_during(cell, host, seconds, figures):
        figures["attack"] = run_attack(cell, host, seconds, *attack)
    return figures


def run_attack(cell: Cell, host: str, seconds: float, *attack: object) -> Any:
    """The figures that an attack prints, or the last line of its errors."""
    with ATTACKS.open() as program:
        arguments = ["python3", "-", *map(str, attack), str(seconds)]
        done = subprocess.run([*cell.alice[host], *arguments], stdin=program, capture_output=True, text=True)
    return json.loads(done.stdout) if done.returncode == 0 else done.stderr.splitlines()[-1:]


def patterns(cell: Cell, seconds: float, gdi: str) -> Figures:
    """Requests with long patterns against a thousand long names."""
    named = run_attack(cell, "master", seconds, "names", gdi, NAMES)
    figures = siege(cell, "master", seconds, "patterns", gdi, ASKING)
    figures["names"] = named
    cell.run(cell.alice["exec"], "qdel", "-u", "alice")
    return figures


def scripts(cell: Cell, seconds: float) -> Figures:
    """Submissions of a large script, one of them with a thousand tasks that run."""
    figures: Figures = {}
    text = f"printf '#!/bin/sh\\nexit 0\\n' > s; head -c {SCRIPT_BYTES} /dev/zero | tr '\\0' '#' >> s"
    submit = "qsub -o /dev/null -e /dev/null"
    loop = f"cd $(mktemp -d); {text}; {submit} -t 1-{TASKS} s; for i in $(seq {SCRIPTS}); do {submit} -h s & done; wait"
    with run_qstat_during(cell, "exec", seconds, figures):
        figures["attack"] = {"submitted": len(cell.run(cell.alice["exec"], "bash", "-c", loop).splitlines())}
    cell.run(cell.alice["exec"], "qdel", "-u", "alice")
    return figures


def plays(cell: Cell, seconds: float) -> dict[str, Callable[[], Figures]]:
    """The attacks by name."""
    run_dir = cell.setting("run_dir")
    port = cell.setting("qmaster_port")
    gdi, gateway = f"{run_dir}/gdi.sock", f"{run_dir}/gateway.sock"
    return {
        "idle": lambda: siege(cell, "master", seconds, "idle", gdi, CONNECTIONS),
        "gateway": lambda: siege(cell, "exec", seconds, "idle", gateway, CONNECTIONS),
        "heads": lambda: siege(cell, "exec", seconds, "heads", cell.master, port, CONNECTIONS),
        "bodies": lambda: siege(cell, "master", seconds, "bodies", gdi, BODIES, BODY_BYTES),
        "gateway_bodies": lambda: siege(cell, "exec", seconds, "bodies", gateway, BODIES, BODY_BYTES),
        "scripts": lambda: scripts(cell, seconds),
        "patterns": lambda: patterns(cell, seconds, gdi),
    }


def main() -> None:
    """Print the figures; exit 1 if a figure exceeds its limit."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("cell", type=Path)
    parser.add_argument("--attacks", default="")
    parser.add_argument("--seconds", type=float, default=30)
    options = parser.parse_args()
    cell = Cell(options.cell)
    found = plays(cell, options.seconds)
    figures: Figures = {"calm": {}}
    with run_qstat_during(cell, "exec", 10, figures["calm"]):
        pass
    for name in options.attacks.split(",") if options.attacks else found:
        figures[name] = found[name]()
    print(json.dumps(figures, indent=1))
    beyond = [
        name
        for name, each in figures.items()
        if each.get("qstat_ms", QSTAT_MS + 1) > QSTAT_MS or each["qmaster_mb"] > QMASTER_MB or each["qstat_failed"]
    ]
    if beyond:
        sys.exit(f"siege: beyond the limits: {', '.join(beyond)}")


if __name__ == "__main__":
    main()
