"""Texts, flags and paths of a command line as typer has read them, without pydantic, which typer loads to check every option.

pydantic takes 0.1 to 0.2 s of processor time at each start of a daemon or of `gridengine`. typer itself reads options of other
types. The replaced function is private to typer: a version without it reads all options itself. Imported by the programs that
typer runs.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import typer.core

_build = getattr(typer.core, "build_runtime_param", None)


class PlainValue:
    """The value of one option, instead of typer's RuntimeParam."""

    def __init__(self, descriptor: Any) -> None:
        self._descriptor, info = descriptor, descriptor.parameter_info
        self._plain = descriptor.annotation in (str, bool) and info.parser is None
        asked = info.resolve_path or info.writable or info.allow_dash or info.path_type or info.parser
        self._path = descriptor.annotation is Path and info.file_okay and info.dir_okay and not asked

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """The value for the program. Raises typer's BadParameter for a text of another type."""
        if value is None:
            return () if param.multiple or param.nargs == -1 else None
        if self._plain and type(value) is self._descriptor.annotation:
            return value
        if self._path and type(value) is str and os.access(value, os.R_OK):  # typer checks this, too
            return Path(value)
        assert _build is not None
        return _build(self._descriptor).coerce(value, param=param, ctx=ctx)


if _build is not None:
    typer.core.build_runtime_param = PlainValue  # type: ignore[assignment,attr-defined]
