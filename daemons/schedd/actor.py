"""The schedd actor: one method for the qmaster, a mirror inside.

Owns the translation between bytes and the scheduler (`Schedd`), and the set-up of its process (`ScheddActor`). The qmaster
wraps the latter as a Ray actor; nothing here needs Ray. The process may be killed and restarted at any moment: the new
process requests a snapshot.
"""

from __future__ import annotations

import time

import msgspec
from dateutil.tz import tzlocal

from daemons.runtime.cell import read_cell
from daemons.runtime.daemon import die_with_parent
from daemons.runtime.garbage_collection import tune_collection_for_service
from daemons.runtime.messages import open_messages
from daemons.schedd.cycle import schedule
from daemons.schedd.mirror import Mirror
from daemons.schedd.run_log import run_log


class Schedd:
    """The scheduler as the qmaster calls it. `mirror`: its copy of the state."""

    def __init__(self) -> None:
        self.mirror = Mirror()
        self._zone = tzlocal()
        self._encoder = msgspec.json.Encoder()

    async def ping(self) -> str:
        return "schedd"

    async def load(self, parts: list[bytes], snapshot: str, number: int, calls: int) -> None:
        """Receive some parts of a snapshot for the next cycle: call `number`, from 0 on, of `calls`."""
        self.mirror.add_parts(parts, snapshot, number, calls)

    async def cycle(self, snapshot: str, revision: int, events: list[bytes], now: float, monitored: bool = False) -> bytes:
        """Orders (JSON) after applying `events` to the mirror, which should be at `revision`; b"" when a snapshot is needed.

        snapshot: id of the snapshot that the events follow; late calls of an earlier qmaster carry a different id.
        events: one item a transaction, as `encode_events` makes them. now: epoch seconds of the qmaster's clock. monitored:
        the orders contain the run log, with the reasons why jobs wait.
        """
        started = time.perf_counter()
        mirror = self.mirror
        if mirror.snapshot != snapshot or not mirror.advance(revision, events) or mirror.view is None:
            return b""
        view = mirror.view
        orders = schedule(view, now, self._zone)
        orders.seconds = time.perf_counter() - started
        if view.state.scheduler.profile:
            orders.profile = f"{len(view.state.jobs)} jobs, {len(orders.starts)} tasks started, {orders.seconds:.3f} s"
        if monitored:
            orders.run_log = run_log(view, orders, now, self._zone)
        return self._encoder.encode(orders)


class ScheddActor(Schedd):
    """The scheduler in its own process."""

    def __init__(self) -> None:
        die_with_parent()  # a raylet that was killed must not leave a second scheduler behind
        tune_collection_for_service()
        cell = read_cell()
        messages = cell.qmaster_spool_dir / "messages"
        open_messages(messages, "schedu", cell.own_name(), component="schedd", as_json=cell.json_log)
        super().__init__()
