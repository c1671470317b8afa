"""Those who tell what goes on while it does: one for each kind of stream that programs listen to.

Made by the service, which also tells them of what is committed; called through the rows of `endpoints`.
"""

from __future__ import annotations

from typing import NamedTuple

from daemons.qmaster.serve.event_clients import EventClients
from daemons.qmaster.serve.job_waits import JobWaits
from daemons.qmaster.serve.mirrors import Mirrors
from daemons.qmaster.serve.task_ends import EndsOfTasks


class LastingStreams(NamedTuple):
    """The requests `events`, `wait`, `task_ends` and `mirror`."""

    event_clients: EventClients
    waits: JobWaits
    task_ends: EndsOfTasks
    mirrors: Mirrors
