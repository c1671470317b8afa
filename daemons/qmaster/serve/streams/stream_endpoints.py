"""The streaming endpoints: an endpoint for each kind of stream to which programs subscribe.

Made by the service, which also notifies them of commits; called through the rows of `endpoints`.
"""

from __future__ import annotations

from typing import NamedTuple

from daemons.qmaster.serve.streams.event_clients import EventClients
from daemons.qmaster.serve.streams.job_waiters import JobWaiters
from daemons.qmaster.serve.streams.mirrors import Mirrors
from daemons.qmaster.serve.streams.task_end_streams import TaskEndStreams


class LongLivedStreams(NamedTuple):
    """The requests `events` (`event_clients`), `wait` (`job_waiters`), `task_ends` and `mirror` (`mirrors`)."""

    event_clients: EventClients
    job_waiters: JobWaiters
    task_ends: TaskEndStreams
    mirrors: Mirrors
