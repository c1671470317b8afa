"""Modules that Ray's processes and our programs do not load: imports are most of the cost of their start."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


def _output(code: str) -> str:
    start = f"import sys; sys.path.append({str(ROOT)!r})\n{code}"
    return subprocess.run([sys.executable, "-I", "-c", start], capture_output=True, text=True, check=True).stdout


def test_ray_loads_none_of_the_modules_that_it_does_not_use() -> None:
    """Each module of the lists is still a stand-in after the import of a worker and of a node, and after the end of a driver."""
    code = """
from daemons.runtime import lazy_modules as lazy
lazy.load_lazily()
import ray, ray._private.node, ray._private.workers.default_worker
ray.shutdown()
names = [*lazy.UNUSED_BY_RAY, *lazy.FUNCTIONS_UNUSED_BY_RAY, lazy.END_OF_GRAPHS[0]]
print(*[name for name in names if "__file__" in vars(sys.modules[name])])
"""
    assert _output(code) == "\n"


def test_ray_has_the_functions_that_it_does_not_use() -> None:
    """A new version of Ray may have them elsewhere."""
    code = """
import ray
from importlib import import_module
from daemons.runtime import lazy_modules as lazy
for module, function in [*lazy.FUNCTIONS_UNUSED_BY_RAY.items(), lazy.END_OF_GRAPHS]:
    assert callable(getattr(import_module(module), function))
"""
    assert _output(code) == ""


@pytest.mark.parametrize(
    ("module", "heavy"),
    [
        ("clients.admin.__main__", "pydantic cryptography psutil rich.console asyncio http"),
        ("clients.admin.daemon_commands", "pydantic cryptography rich.console asyncio http.client"),
        ("clients.admin.cell_commands", "rich.console asyncio"),
        ("clients.admin.shadow", "pydantic cryptography rich.console asyncio"),
        ("clients.admin.config", "cryptography rich.console asyncio psutil"),
        ("clients.admin.backup", "pydantic cryptography rich.console asyncio psutil"),
        ("clients.admin.web", "pydantic cryptography rich.console asyncio"),
        ("daemons.execd.__main__", "pydantic cryptography rich.console psutil ray"),
        ("daemons.qmaster.__main__", "pydantic cryptography rich.console psutil ray"),
        ("daemons.qmaster.shadow.__main__", "pydantic cryptography rich.console psutil ray"),
        ("daemons.qmaster.backup.__main__", "pydantic cryptography rich.console psutil ray aiohttp"),
        ("daemons.web.__main__", "pydantic cryptography rich.console psutil ray jinja2 aiohttp.web"),
        ("daemons.dbwriter.__main__", "pydantic cryptography rich.console psutil ray duckdb"),
    ],
)
def test_a_program_loads_no_library_that_it_does_not_use(module: str, heavy: str) -> None:
    """At its start, or at the call of a sub-command. Modules that only some calls need are loaded by these calls."""
    assert _output(f"import {module}; print(*sorted(set({heavy.split()!r}) & set(sys.modules)))") == "\n"
