"""`gridengine web`: starts the web server of this host, and prints a link or a token for the caller.

Owns the output; the server identifies the caller by the kernel. Source: gridengine/protocols/web.py; adr/0134.
"""

from __future__ import annotations

import os
import time
from typing import Annotated, Any, NoReturn

import typer

from clients.admin.cell import InstalledCell, cell_of_environment, read_cell
from clients.admin.cell_options import CellName, Root
from clients.admin.errors import AdminError
from clients.admin.installation import find_installation
from clients.admin.local_daemons import WEB, process_of, start, stop, web_of
from clients.admin.progress import Progress
from clients.admin.socket_request import NoReplyError, ask
from gridengine.extensions import require_libraries
from gridengine.protocols import web


def start_server(cell: InstalledCell) -> None:
    """Start the web server on this host if it does not run. AdminError: it cannot start, or the caller may not start it.
    MissingLibraryError.
    """
    daemon = web_of(cell)
    if process_of(daemon) is not None or _answers(cell):
        return
    _require_owner(cell)
    require_libraries("web")
    with Progress().step(f"starting {daemon}"):
        start(daemon, cell, find_installation())


def become_server(cell: InstalledCell) -> NoReturn:
    """Replace this process by the web server of this host. AdminError: the caller may not start it. MissingLibraryError."""
    _require_owner(cell)
    require_libraries("web")
    program = find_installation().program(WEB)
    os.execve(program, [program, "--foreground"], {**os.environ, **cell.environment()})


def stop_server(cell: InstalledCell) -> None:
    """End the web server of this host."""
    stopped = stop([web_of(cell)])
    typer.echo(f"stopped {stopped[0]}" if stopped else "no web server runs on this host")


def print_link(cell: InstalledCell) -> None:
    """Print an address that logs the caller in, once. AdminError: no server runs here."""
    answer = ask_server(cell, web.LOGIN)
    typer.echo(answer["link"])
    typer.echo(f"open it within {answer['minutes']} minutes: it logs you in, once", err=True)


def print_token(cell: InstalledCell, days: int, scope: str, label: str) -> None:
    """Print a token of the caller, for programs. AdminError: no server runs here, or there is no such token."""
    answer = ask_server(cell, web.TOKEN, days=days, scope=scope, label=label)
    typer.echo(answer["token"])
    until = time.strftime("%Y-%m-%d", time.localtime(answer["until"]))
    typer.echo(f"valid until {until}, and not shown again: send it as `Authorization: Bearer TOKEN`", err=True)


def print_tokens(cell: InstalledCell) -> None:
    """Print a line for each token of the caller. AdminError: no server runs here."""
    tokens = ask_server(cell, web.TOKENS)["tokens"]
    rows = [("label", "scope", "made", "last used", "from", "valid until")]
    for one in tokens:
        times = {name: time.strftime("%Y-%m-%d %H:%M", time.localtime(one[name])) for name in ("made", "used", "until")}
        rows.append((one["label"] or "-", one["scope"], times["made"], times["used"], one["address"] or "-", times["until"]))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        typer.echo("  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip())


def ask_server(cell: InstalledCell, request: str, **fields: object) -> dict[str, Any]:
    """The answer of the web server of this host. AdminError: no server runs here, or it refuses the request."""
    try:
        return ask(cell.run_dir / web.SOCKET, request, fields, 10.0)
    except NoReplyError as error:
        raise AdminError(f"no web server answers on this host ({error}): {_owner(cell)} starts it with gridengine web") from None


def _answers(cell: InstalledCell) -> bool:
    """Whether the server of another user answers on this host."""
    try:
        ask(cell.run_dir / web.SOCKET, "", {}, 10.0)
    except AdminError:
        return True
    except NoReplyError:
        return False
    return True


def _require_owner(cell: InstalledCell) -> None:
    """AdminError: the caller is neither root nor the owner of the cell's files."""
    if os.geteuid() not in (0, cell.files.common.stat().st_uid):
        raise AdminError(f"no web server runs on this host: {_owner(cell)} starts it with gridengine web")


def _owner(cell: InstalledCell) -> str:
    return cell.settings["admin_user"]


def web_command(
    root: Root = None,
    cell: CellName = "default",
    login: Annotated[bool, typer.Option("--login", help="Only print a link that logs you in, once.")] = False,
    token: Annotated[bool, typer.Option("--token", help="Print a token of yours for programs.")] = False,
    days: Annotated[int, typer.Option(help="Days of validity of the token.")] = 90,
    scope: Annotated[str, typer.Option(help="Permissions of the token: read, submit (jobs, reservations) or all.")] = "all",
    label: Annotated[str, typer.Option(help="A name for the token.")] = "",
    listing: Annotated[bool, typer.Option("--list", help="Show your tokens, and when they were last used.")] = False,
    foreground: Annotated[bool, typer.Option("--foreground", help="Run as the server: do not detach, print no link.")] = False,
    end: Annotated[bool, typer.Option("--stop", help="End the web server of this host.")] = False,
) -> None:
    """Show the cell in a browser: start the web server of this host, and print a link that logs you in."""
    here = read_cell(cell_of_environment(root, cell))
    if end:
        stop_server(here)
        return
    if foreground:
        become_server(here)
    if not (login or token or listing):
        start_server(here)
    if listing:
        print_tokens(here)
    elif token:
        print_token(here, days, scope, label)
    else:
        print_link(here)
