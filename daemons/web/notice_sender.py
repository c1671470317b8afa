"""The sender of notices: which web server of the cell sends them, and by which mailer. Called by alarms and reports."""

from __future__ import annotations

from daemons.runtime.cell import Cell, CellError
from daemons.web.mirror import StateMirror
from gridengine.config import KINDS

_DEFAULT_MAILER = str(KINDS["configuration"].model_fields["mailer"].default)
"""For a web server that has not reached the qmaster yet."""


def is_notice_sender(cell: Cell, host: str) -> bool:
    """Whether the web server of this host sends notices: `host`, or with "" the master host, is this host."""
    try:
        return cell.own_name().lower() == (host or cell.master_host()).lower()
    except (CellError, OSError):
        return False


def configured_mailer(mirror: StateMirror) -> str | None:
    """The mailer of the cell, None for none."""
    return mirror.state.configuration().mailer if mirror.ready else _DEFAULT_MAILER
