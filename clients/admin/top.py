"""`gridengine top`: a live page in the terminal of hosts, queues, users, reservations and faults.

Owns polling, the keys, and the terminal. `top_frame` owns the content of the page. Called by `program`.
"""

from __future__ import annotations

import os
import select
import sys
import termios
import time
import tty
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Annotated

import typer
from rich.console import Console
from rich.live import Live

from clients import gdi
from clients.admin.cell import InstalledCell, cell_of_environment, read_cell
from clients.admin.cell_options import CellName, Root
from clients.admin.doctor import check_spool
from clients.admin.errors import AdminError
from clients.admin.top_frame import ORDERS, Seen, frame

_QUESTION = {"hosts": {}, "queues": {"explain": "E"}, "cluster_queues": {}, "totals": {}, "reservations": {"users": ["*"]}}
#: the queries take at most a twentieth of the qmaster's time, also if answers are slow
_SHARE = 20


def top(
    root: Root = None,
    cell: CellName = "default",
    interval: Annotated[float, typer.Option(min=0.5, max=3600, help="Seconds between two updates.")] = 2.0,
    once: Annotated[bool, typer.Option("--once", help="Print one page and exit, as without a terminal.")] = False,
) -> None:
    """Watch the cell: hosts, queues, users, reservations and faults. Keys: q quits; n, l, s sort the hosts."""
    here = read_cell(cell_of_environment(root, cell))
    os.environ.update(here.environment())
    seen = _read_status(here)
    console = Console()
    if once or not (sys.stdin.isatty() and sys.stdout.isatty()):
        console.print(frame(seen, console.width, None))
        return
    _watch(here, seen, console, interval)


def _read_status(cell: InstalledCell) -> Seen:
    """The present state of the cell. AdminError: the qmaster does not answer."""
    try:
        answer = gdi.call("status", _QUESTION)
    except gdi.Unreachable as error:
        raise AdminError(str(error)) from None
    if answer.status:
        raise AdminError("; ".join(text for _, text in answer.answers))
    here = [finding.what for finding in check_spool(cell) if finding.wrong]
    return Seen(cell.files.name, cell.master_host, time.time(), answer.data, here)


def _watch(cell: InstalledCell, seen: Seen, console: Console, interval: float) -> None:
    order, pause = "n", interval
    with _single_keys(), Live(console=console, screen=True, auto_refresh=False) as live:
        while True:
            live.update(frame(seen, console.width, console.height, order), refresh=True)
            key = _key(pause)
            if key == "q":
                return
            if key:
                order = key if key in ORDERS else order
                continue
            asked = time.monotonic()
            try:
                seen = _read_status(cell)
                pause = max(interval, _SHARE * (time.monotonic() - asked))
            except AdminError:
                seen, pause = replace(seen, silent_s=time.time() - seen.time), interval


def _key(patience_s: float) -> str:
    """The key that is pressed within this time, "" for none; q at the end of the input."""
    if not select.select([sys.stdin], [], [], patience_s)[0]:
        return ""
    return os.read(sys.stdin.fileno(), 1).decode("ascii", "replace") or "q"


@contextmanager
def _single_keys() -> Iterator[None]:
    """Keys are read without Enter and without echo."""
    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)
    try:
        tty.setcbreak(terminal)
        yield
    finally:
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)
