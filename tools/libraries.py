"""Prints the libraries of a complete installation, one on each line: those of the core and those of all extensions.

Called by `tools/install` and `tools/deb` in the top directory, by a Python without libraries. Source: pyproject.toml; adr/0185.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path


def libraries_of_everything(project: dict[str, object]) -> list[str]:
    """The requirements of `project`, a table [project], and of the extensions that its `all` names."""
    core, optional = project["dependencies"], project["optional-dependencies"]
    assert isinstance(core, list) and isinstance(optional, dict)
    (extensions,) = re.findall(r"\[(.*)\]", optional["all"][0])
    return [*core, *(each for name in extensions.split(",") for each in optional[name])]


if __name__ == "__main__":
    print(*libraries_of_everything(tomllib.loads(Path("pyproject.toml").read_text())["project"]), sep="\n")
