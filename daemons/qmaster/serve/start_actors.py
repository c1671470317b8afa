"""Creates the actors `qmaster` and `schedd` on a head node that has just come up, and waits until they serve.

A short-lived driver: `python -m daemons.qmaster.serve.start_actors HEAD SESSION SUPERVISOR SECONDS`, run by the supervisor, with
which it ends. The actors are detached, pinned to the head and always restarted by Ray.
"""

from __future__ import annotations

import sys

from daemons.qmaster.spooling.spool_file import SpoolError
from daemons.runtime.cell import read_cell
from daemons.runtime.daemon import die_with_parent
from daemons.runtime.ray_node import TOO_SLOW
from daemons.runtime.ray_session import KEPT, actor_class, connect

PINNED = {"qmaster": 0.001}
"""Amount of the head node's resource that each of its actors takes."""


def start_actors(head: str, session: str, ready_s: float) -> None:
    """Create the actors where they are missing and return when the qmaster answers. `ready_s`: limit, for slow disks: the spool
    is read, and its first commit waits for the writes of other processes."""
    cell = read_cell()
    connect(cell, head)
    import ray

    options = {**KEPT, "resources": PINNED}
    actor_class("daemons.schedd.actor:ScheddActor", "ping", "load", "cycle").options(name="schedd", **options).remote()
    qmaster = actor_class("daemons.qmaster.serve.actor:QmasterActor", "report", "state_rack", "ping", "stop").options(
        name="qmaster", max_concurrency=1000, **options
    )
    actor = qmaster.remote(str(cell.root), cell.name, head, session)
    ray.get(actor.ping.remote(), timeout=ready_s)
    ray.shutdown()  # else Ray waits half a second at the exit, for messages of tasks


def main() -> None:
    die_with_parent(int(sys.argv[3]))  # else it asks the head of the next supervisor for its own session, until its time is over
    try:
        start_actors(sys.argv[1], sys.argv[2], float(sys.argv[4]))
    except Exception as error:  # noqa: BLE001 - the last line of the reason is for the administrator
        if type(error).__name__ == "GetTimeoutError":
            raise SystemExit(TOO_SLOW) from None
        cause = getattr(error, "cause", None)
        # Ray adds the lines of the source to an exception of the qmaster
        lines = [" ".join(str(cause).split())] if isinstance(cause, SpoolError) else str(error).splitlines()
        reason = next((line for line in reversed(lines) if line.strip()), type(error).__name__)
        print(f"cannot start the qmaster: {reason.strip()}", file=sys.stderr)
        raise SystemExit(1) from None


if __name__ == "__main__":
    main()
