"""What pyproject.toml cannot say of a wheel: the programs, the default cell and the DRMAA library beside them.

Owns where they lie in an environment: `bin/`, `share/gridengine/`, `lib/ARCH/` and `include/`. The library is there for the
architectures for which `make drmaa` has built it; one wheel has them all. Called by setuptools when a wheel is built.
Source: adr/0163.
"""

import sys
from pathlib import Path

from setuptools import setup

TOP = Path(__file__).resolve().parent
sys.path.insert(0, str(TOP))
from gridengine.files.architecture import ARCHITECTURES  # noqa: E402
from tools.launchers import UTILITIES, write_portable_launchers  # noqa: E402


def cell_files() -> list[tuple[str, list[str]]]:
    """`cluster-config`, as (directory below the environment, files)."""
    found: dict[str, list[str]] = {}
    for path in sorted((TOP / "cluster-config").rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            place = path.relative_to(TOP)
            found.setdefault(f"share/gridengine/{place.parent}", []).append(str(place))
    return list(found.items())


def library_files() -> list[tuple[str, list[str]]]:
    """The DRMAA library of each architecture with the name by which the linker finds it, and its header."""
    built = sorted(path.parent for path in (TOP / "build" / "drmaa").glob("*/libdrmaa.so.1.0"))
    names = ("libdrmaa.so", "libdrmaa.so.1.0")
    libraries = [(f"lib/{place.name}", [str((place / name).relative_to(TOP)) for name in names]) for place in built]
    return [*libraries, ("include", ["clients/drmaa/drmaa.h"])]


def utility_files() -> list[tuple[str, list[str]]]:
    """The programs of `utilbin`, in the directory of each architecture."""
    written = [str((scripts / "utilbin" / name).relative_to(TOP)) for name in UTILITIES]
    return [(f"utilbin/{name}", written) for name in ARCHITECTURES.values()]


scripts = TOP / "build" / "launchers"
scripts.mkdir(parents=True, exist_ok=True)
names = write_portable_launchers(scripts)
setup(
    scripts=[str((scripts / name).relative_to(TOP)) for name in names],
    data_files=[*cell_files(), *library_files(), *utility_files()],
)
