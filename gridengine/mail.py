"""A mail message, as daemons make it for the configured mailer. Source: sge_submit(1) -m; MA-1."""

from __future__ import annotations

from typing import NamedTuple


class Mail(NamedTuple):
    """One mail message: `subject` and `body` as texts. `recipients`: addresses as in -M."""

    recipients: tuple[str, ...]
    subject: str
    body: str
