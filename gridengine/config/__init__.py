"""Configuration objects: one pydantic model per object of qconf, all with one interface.

Owns what an object may look like. Must not know what uses it, nor read files. Called by the qmaster's handlers, by
state (resolution of queues), by the installation and by tests. `KINDS` gives the model of a kind:

    KINDS["cluster_queue"].parse(entries)     the object, or ConfigError with attribute, reason and line
    object.attributes()                       printed values in print order: what is stored and shown
    object.references(), .requirements()      objects it names; those of them that must exist
    KINDS["cluster_queue"].template()         what qconf offers for a new one

The models are loaded when somebody asks for them: an exec host reads its configuration without those of queues and users.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gridengine.config.kinds import KINDS
    from gridengine.config.objects import ConfigObject

__all__ = ["KINDS", "ConfigObject"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from gridengine.config import kinds, objects

    return kinds.KINDS if name == "KINDS" else objects.ConfigObject
