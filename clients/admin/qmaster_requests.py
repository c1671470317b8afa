"""Requests of the administrator to the qmaster: an error of a request ends the program with the error text.

Owns the printing of answers. Called by `config`, `changes`, `host`, `admission` and `import_sge`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import typer

from clients import gdi
from clients.admin.errors import AdminError

if TYPE_CHECKING:  # the types of all kinds of objects take long to import
    from clients.admin.cell_directory import Objects


def read_objects() -> Objects:
    """All objects of the configuration. AdminError."""
    objects: Objects = read("config_export", {})
    return objects


def read(name: str, body: dict[str, Any]) -> Any:
    """Send a query and print the texts of the answer; return its data. AdminError: the answer has no data."""
    return _send_and_print(gdi.call, name, body).data


def carry_out(name: str, body: dict[str, Any]) -> int:
    """Send a change and print the texts of the answer; return its status. AdminError: nothing was changed."""
    return _send_and_print(gdi.change, name, body).status


def change(name: str, body: dict[str, Any]) -> Any:
    """Send a change and print the texts of the answer; return its data. AdminError: nothing was changed."""
    return _send_and_print(gdi.change, name, body).data


def _send_and_print(send_request: Callable[[str, object], gdi.Answer], name: str, body: dict[str, Any]) -> gdi.Answer:
    try:
        answer = send_request(name, body)
    except gdi.Unreachable as error:
        raise AdminError(str(error)) from None
    if answer.status and answer.data is None:
        raise AdminError("\n".join(text for _, text in answer.answers))
    for level, text in answer.answers:
        typer.echo(text, err=level != "info")
    return answer
