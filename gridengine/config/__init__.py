"""Configuration objects: one pydantic model per object of qconf, all with one interface.

Owns the attributes and rules of objects. Must not know their users, nor read files. Called by the qmaster's handlers, by
state (resolution of queues), by the installation and by tests. `KINDS` gives the model of a kind:

    KINDS["cluster_queue"].parse(entries)     the object, or ConfigError with attribute, reason and line
    object.attributes()                       printed values in print order, as they are stored and shown
    object.references(), .requirements()      all objects it names; only the objects that must exist
    KINDS["cluster_queue"].template()         qconf's template for a new object

The models are loaded at their first use: an exec host reads its configuration without the models of queues and users.
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
