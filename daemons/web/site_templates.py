"""Templates of jobs that the site offers on the submit page: scripts in `submit_templates` below the cell's `common`.

A template is a job script with `#$` lines; its first other comment is its title. Files that not all users may read are left out,
since the server may have rights that the visitor lacks. Source: docs/web.md.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import NamedTuple

DIRECTORY = "submit_templates"
MAX_TEMPLATES, MAX_BYTES = 50, 64 * 1024
"""The first files by name, and the size of each; larger files are left out."""


class SiteTemplate(NamedTuple):
    """The file `name`, with its `title` for people and its text, the `script`."""

    name: str
    title: str
    script: str


def site_templates(common: Path) -> list[SiteTemplate]:
    """The templates of a cell, by name. Blocks."""
    try:
        names = sorted(name for name in os.listdir(common / DIRECTORY) if name.isprintable() and not name.startswith("."))
    except OSError:
        return []
    found = []
    for name in names[:MAX_TEMPLATES]:
        script = _read(common / DIRECTORY / name)
        if script is not None:
            found.append(SiteTemplate(name, title_of(script) or name, script))
    return found


def title_of(script: str) -> str:
    """The first comment of a script that is neither its `#!` line nor an option, "" for none."""
    for line in script.splitlines():
        if line.startswith("#") and not line.startswith(("#!", "#$")) and (text := line.lstrip("# ").rstrip()):
            return text[:100]
    return ""


def _read(path: Path) -> str | None:
    """The text of a regular file that all users may read; None for anything else."""
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode) or not status.st_mode & stat.S_IROTH or status.st_size > MAX_BYTES:
                return None
            return file.read(MAX_BYTES).decode()
    except (OSError, UnicodeDecodeError):
        return None
