"""`sge_web`: the program that serves the pages and the REST API of a cell.

Owns the command line and the order of starting. Runs on the master host or on an exec host. Source: adr/0133.
"""

from __future__ import annotations

import asyncio
import sys
from typing import Annotated

import typer

from daemons.runtime.cell import LOOPBACK, CellFault, read_cell
from daemons.web.server import WebServer

PROGRAM = "sge_web"
PORT = 8646


def serve(port: Annotated[int, typer.Option(help="Where it listens.")] = PORT) -> None:
    """Serve the cell that SGE_ROOT and SGE_CELL name, until told to end."""
    try:
        asyncio.run(_serve(port))
    except (CellFault, OSError) as fault:
        print(f"{PROGRAM}: {fault}", file=sys.stderr)
        raise SystemExit(1) from None


async def _serve(port: int) -> None:
    cell = read_cell()
    server = WebServer(cell, cell.own_name())
    await server.start(LOOPBACK, port)
    try:
        await asyncio.Event().wait()
    finally:
        await server.stop()


def main() -> None:
    """Run the program with the command line's arguments."""
    typer.run(serve)


if __name__ == "__main__":
    main()
