"""Payloads on their way to hosts: a cache of the payloads in use, bounded in bytes, and the scripts that each host has received.

Owns the scripts and environments in memory. The record of a host's scripts only saves traffic, and may be wrong: a host
that lacks a script reports it, and receives it. Called by `batches` alone.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Container

from daemons.qmaster.decision import Payload
from gridengine.protocols.delivery import Instruction, Start

CACHE_BYTES = 32 * 2**20
"""Bytes of payloads in memory; the last one used is kept even if it is larger."""
_JOBS_REMEMBERED = 1000
_INSTRUCTION_BYTES = 2000
"""Approximate bytes of an instruction besides its script and environment."""


class Payloads:
    """`read(job_id)`: from the spool."""

    def __init__(self, read: Callable[[int], Payload]) -> None:
        self._read = read
        self._cached: OrderedDict[int, tuple[Payload, int]] = OrderedDict()
        self._bytes = 0
        self._scripts: dict[str, set[int]] = {}

    def __call__(self, job_id: int) -> Payload:
        """Script and environment of a job."""
        if job_id in self._cached:
            self._cached.move_to_end(job_id)
        else:
            payload = self._read(job_id)
            size = len(payload.script or b"") + _size(payload.environment)
            self._cached[job_id] = payload, size
            self._bytes += size
            while self._bytes > CACHE_BYTES and len(self._cached) > 1:
                self._bytes -= self._cached.popitem(last=False)[1][1]
        return self._cached[job_id][0]

    def forget(self, job_id: int) -> None:
        """The job was altered."""
        if job_id in self._cached:
            self._bytes -= self._cached.pop(job_id)[1]

    def script_for(self, host: str, instruction: Instruction) -> bytes | None:
        """The script to send to a host with an instruction, None if it needs none or has received it before."""
        if not isinstance(instruction, Start) or not instruction.script:
            return None
        job_id = instruction.job.id
        return None if job_id in self._scripts.get(host, ()) else self(job_id).script

    def note_sent(self, host: str, jobs: Container[int], scripts: dict[int, bytes]) -> None:
        """Note that a host has received these scripts. `jobs`: the existing jobs."""
        known = self._scripts.setdefault(host, set())
        known.update(scripts)
        if len(known) > _JOBS_REMEMBERED:
            known.intersection_update([job_id for job_id in known if job_id in jobs])

    def note_missing(self, host: str, job_id: int) -> None:
        """Note a host's report that it lacks the script of a job."""
        self._scripts.get(host, set()).discard(job_id)


def weight(instruction: Instruction, script: bytes | None) -> int:
    """About how many bytes an instruction takes in a batch, with the script that comes with it."""
    environment = instruction.environment if isinstance(instruction, Start) else {}
    return _INSTRUCTION_BYTES + _size(environment) + len(script or b"")


def _size(environment: dict[str, str]) -> int:
    return sum(len(name) + len(value) for name, value in environment.items())
