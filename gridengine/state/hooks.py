"""JSON forms of the types that msgspec does not know.

Owns the two hooks of all its encoders and decoders: of the journal, of snapshots, of requests and of delivery.
"""

from gridengine.ranges import Ranges


def encode_hook(value: object) -> object:
    """Ranges as their compact text."""
    if isinstance(value, Ranges):
        return value.dump()
    raise NotImplementedError(type(value))


def decode_hook(kind: type, value: object) -> object:
    """Ranges from their compact text."""
    if kind is Ranges:
        return Ranges.load(str(value))
    raise NotImplementedError(kind)
