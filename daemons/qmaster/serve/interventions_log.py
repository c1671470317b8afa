"""Logs interventions in jobs in `messages`, once they are on disk; and follows `loglevel`.

Owns no texts: they are in `tell.interventions`. Called by the actor.
Source: docs/formats/messages.md; sge_conf(5) loglevel, GC-4.
"""

from __future__ import annotations

import logging

from daemons.qmaster.master import Master
from daemons.qmaster.transaction import Transaction
from daemons.runtime.messages import about, set_loglevel

_log = logging.getLogger(__name__)
_LEVELS = {"E": logging.ERROR, "W": logging.WARNING, "I": logging.INFO}


def _write(transaction: Transaction) -> None:
    """A transaction is on disk."""
    for each in transaction.interventions:
        _log.log(_LEVELS[each.level], "%s", each.text, extra=about(each.event, **each.fields))


def log_interventions(master: Master) -> None:
    """Have this process log interventions from now on."""
    master.subscribers.append(_write)


def follow_loglevel(master: Master) -> None:
    """Have this process's log obey the cell's loglevel, now and after each change of it."""

    def committed(transaction: Transaction) -> None:
        if "configuration" in transaction.affected.kinds:
            set_loglevel(master.state.configuration().loglevel)

    set_loglevel(master.state.configuration().loglevel)
    master.subscribers.append(committed)
