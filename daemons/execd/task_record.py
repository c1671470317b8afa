"""The execd's own record of a task, for after a restart, in a file of its own in the task's directory.

Owns the file `execd` (docs/architecture.md 5.2), which the shepherd does not read; the shepherd's `config` is not repeated in it.
A task that an earlier release started has the same in its `config` and `origin`. Blocking file work. Called by `active_jobs`.
"""

from __future__ import annotations

from pathlib import Path

import msgspec
from msgspec import Struct, field

from daemons.execd.recycled_directories import overwrite
from daemons.execd.resource_assignment import AssignedResources
from gridengine.files.incarnation import incarnation
from gridengine.protocols.delivery import Origin, Start
from gridengine.protocols.task_file import EXECD, read_stored_config
from gridengine.state.hooks import decode_hook
from gridengine.state.jobs import Confinement
from gridengine.values.task_key import SlaveKey, TaskKey
from gridengine.values.topology import Core


class TaskRecord(Struct, omit_defaults=True):
    """A task of this host, `key`. `submitted`: submit time of its job as it was at its start, epoch s. `cores`: (socket, core)
    each; `gpus`: their numbers; `confinement`: as in `Started`; `origin`: its job and dispatch; `incarnation`: of the host at its
    start, "" from an earlier release."""

    key: TaskKey
    submitted: float = 0.0
    cores: list[Core] = field(default_factory=list)
    confinement: Confinement | None = None
    origin: Origin = field(default_factory=Origin)
    gpus: list[int] = field(default_factory=list)
    incarnation: str = ""


class _Config(Struct):
    """Fields in the `config` of an earlier release that the shepherd does not use."""

    job_id: int
    task_id: int
    attempt: int
    submit_time: float = 0.0
    slave: int = 0
    cores: list[Core] = []
    confinement: Confinement | None = None


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(TaskRecord, dec_hook=decode_hook).decode
_decode_config = msgspec.json.Decoder(_Config).decode
_decode_origin = msgspec.json.Decoder(Origin).decode


def write_record(directory: Path, start: Start, assigned: AssignedResources, confinement: Confinement | None) -> None:
    """Write the record of a task that is about to start. Raises OSError."""
    cores, gpus = list(assigned.cores), list(assigned.gpus)
    known = TaskRecord(start.key, start.submit_time, cores, confinement, Origin.of(start), gpus, incarnation())
    overwrite(directory / EXECD, _encode(known))


def read_record(directory: Path) -> TaskRecord:
    """The record of the task in `directory`. Raises OSError or msgspec.DecodeError: `directory` is not the directory of a
    task."""
    try:
        return _decode((directory / EXECD).read_bytes())
    except FileNotFoundError:
        return _read_earlier_release(directory)


def read_record_at_end(directory: Path) -> TaskRecord:
    """The same from the record of the end of its job, which is on disk where the file of its own may not be yet when the host
    loses its power. Raises OSError, msgspec.DecodeError, KeyError: there is no such record, or it has no copy."""
    for name in ("exit", "job_end"):
        try:
            record = msgspec.json.decode((directory / name).read_bytes(), type=dict[str, object])
        except FileNotFoundError:
            continue
        return _decode(_encode(record[EXECD]))
    raise FileNotFoundError(directory)


def _read_earlier_release(directory: Path) -> TaskRecord:
    config = _decode_config(read_stored_config(lambda name: (directory / name).read_bytes()))
    numbers = (config.job_id, config.task_id, config.attempt)
    try:
        origin = _decode_origin((directory / "origin").read_bytes())
    except (OSError, msgspec.DecodeError):
        origin = Origin()
    key = SlaveKey(*numbers, config.slave) if config.slave else TaskKey(*numbers)
    return TaskRecord(key, config.submit_time, config.cores, config.confinement, origin)
