"""Requests of the administrator to the qmaster: what is wrong with one is the sentence with which the program gives up.

Owns how answers are printed. Called by `config`, `changes`, `host`, `admission` and `import_sge`.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import typer

from clients import gdi
from clients.admin.cell import CellFiles
from clients.admin.refusal import Refusal

if TYPE_CHECKING:  # the types of all kinds of objects take long to import
    from clients.admin.cell_directory import Objects


def mean_cell(files: CellFiles) -> None:
    """Direct all requests of this process to a cell."""
    os.environ["SGE_ROOT"], os.environ["SGE_CELL"] = str(files.root), files.name


def objects_now() -> Objects:
    """All objects of the configuration. Refusal."""
    objects: Objects = read("config_export", {})
    return objects


def read(name: str, body: dict[str, Any]) -> Any:
    """The data of an answer, whose texts are printed. Refusal: there is none."""
    return _printed(gdi.call, name, body).data


def carry_out(name: str, body: dict[str, Any]) -> int:
    """Have something changed; the status of the answer, whose texts are printed. Refusal: nothing was changed."""
    return _printed(gdi.change, name, body).status


def change(name: str, body: dict[str, Any]) -> Any:
    """Have something changed whose answer is data; its texts are printed. Refusal: nothing was changed."""
    return _printed(gdi.change, name, body).data


def _printed(ask: Callable[[str, object], gdi.Answer], name: str, body: dict[str, Any]) -> gdi.Answer:
    try:
        answer = ask(name, body)
    except gdi.Unreachable as error:
        raise Refusal(str(error)) from None
    if answer.status and answer.data is None:
        raise Refusal("\n".join(text for _, text in answer.answers))
    for level, text in answer.answers:
        typer.echo(text, err=level != "info")
    return answer
