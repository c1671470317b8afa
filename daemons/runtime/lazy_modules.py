"""Libraries that are loaded at their first use, not when they are imported.

Owns the list for Ray: Ray imports them for clouds, containers, labels and debuggers, which are not used here. These imports
take a third of the time of `import ray`, in each process of a node. Called before Ray is imported, by `ray_program` and
`ray_session`.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import Any

UNUSED_BY_RAY = ("jsonschema", "requests", "yaml", "google.protobuf.text_format", "ray.util.debugpy", "ray.util.rpdb")


class _LazyModule(ModuleType):
    """Stands for a module until something is looked up in it."""

    def __getattr__(self, attribute: str) -> Any:
        if sys.modules.get(self.__name__) is self:
            sys.modules.pop(self.__name__, None)
        return getattr(import_module(self.__name__), attribute)


def load_lazily(names: tuple[str, ...] = UNUSED_BY_RAY) -> None:
    """Load these modules at their first use; a module that is loaded already stays."""
    for name in names:
        sys.modules.setdefault(name, _LazyModule(name))
