"""What pyproject.toml cannot say of a wheel: the programs, and the default cell beside them.

Owns where both lie in an environment: `bin/` and `share/gridengine/`. Called by setuptools when a wheel is built.
Source: adr/0163.
"""

import sys
from pathlib import Path

from setuptools import setup

TOP = Path(__file__).resolve().parent
sys.path.insert(0, str(TOP))
from tools.launchers import write_portable_launchers  # noqa: E402


def cell_files() -> list[tuple[str, list[str]]]:
    """`cluster-config`, as (directory below the environment, files)."""
    found: dict[str, list[str]] = {}
    for path in sorted((TOP / "cluster-config").rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            place = path.relative_to(TOP)
            found.setdefault(f"share/gridengine/{place.parent}", []).append(str(place))
    return list(found.items())


scripts = TOP / "build" / "launchers"
scripts.mkdir(parents=True, exist_ok=True)
names = write_portable_launchers(scripts)
setup(scripts=[str((scripts / name).relative_to(TOP)) for name in names], data_files=cell_files())
