"""Libraries that are loaded at their first use, not when they are imported.

Owns the lists for Ray: Ray imports them for clouds, containers, labels, debuggers and graphs of calls, which are not used here.
These imports take half of the time of `import ray`, in each process of a node. Called before Ray is imported, by `ray_program`
and `ray_session`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from types import ModuleType
from typing import Any

UNUSED_BY_RAY = (
    "jsonschema", "requests", "yaml", "psutil", "colorama", "google.protobuf.text_format",
    "ray.util.accelerators", "ray.util.debugpy", "ray.util.iter", "ray.util.rpdb", "ray.util.tpu",
)
FUNCTIONS_UNUSED_BY_RAY = {
    "filelock": "FileLock",
    "ray._private.runtime_env.conda": "get_uri",
    "ray._private.runtime_env.pip": "get_uri",
    "ray._private.runtime_env.uv": "get_uri",
    "ray._private.thirdparty.tabulate.tabulate": "tabulate",
}
"""By module, a function (or class) that Ray imports by name, and does not call."""
END_OF_GRAPHS = ("ray.dag.compiled_dag_node", "_shutdown_all_compiled_dags")
"""Module and function by which `ray.shutdown` ends the graphs of calls of its process. Without the module there is no graph."""


class _LazyModule(ModuleType):
    """Stands for a module until something is looked up in it, beyond the attributes that it has itself."""

    def __getattr__(self, attribute: str) -> Any:
        if sys.modules.get(self.__name__) is self:
            sys.modules.pop(self.__name__, None)
        return getattr(import_module(self.__name__), attribute)

    def provide(self, function: str, action: Callable[..., Any] | None = None) -> None:
        """Let `from MODULE import FUNCTION` load nothing. `action` replaces the function; without it a call loads the module."""

        def call(*arguments: Any, **options: Any) -> Any:
            return self.__getattr__(function)(*arguments, **options)

        self.__path__: list[str] = []  # looked up by the statement `from`
        setattr(self, function, action or call)


def load_lazily(names: tuple[str, ...] = UNUSED_BY_RAY, functions: Mapping[str, str] = FUNCTIONS_UNUSED_BY_RAY) -> None:
    """Load these modules, and those of these functions, at their first use; a module that is loaded already stays."""
    for name in names:
        sys.modules.setdefault(name, _LazyModule(name))
    for name, function in functions.items():
        module = _LazyModule(name)
        module.provide(function)
        sys.modules.setdefault(name, module)
    module = _LazyModule(END_OF_GRAPHS[0])
    module.provide(END_OF_GRAPHS[1], lambda: None)
    sys.modules.setdefault(END_OF_GRAPHS[0], module)
