"""JSON forms of types unknown to msgspec.

Owns the two hooks of all encoders and decoders: of the journal, of snapshots, of requests and of delivery.
"""

import msgspec

from gridengine.values.ranges import Ranges
from gridengine.values.task_key import TaskKey


def encode_hook(value: object) -> object:
    """Ranges as their compact text."""
    if isinstance(value, Ranges):
        return value.dump()
    raise NotImplementedError(type(value))


def decode_hook(kind: type, value: object) -> object:
    """Ranges from their compact text, and keys of tasks from their numbers."""
    if kind is Ranges:
        return Ranges.load(str(value))
    if kind is TaskKey:
        return TaskKey.of(msgspec.convert(value, list[int]))
    raise NotImplementedError(kind)
