"""A Start instruction and a site for tests, each detail of which a test can change."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from daemons.execd.environment import Account
from daemons.execd.site import HostSite
from gridengine.config.cluster_queue import ClusterQueue
from gridengine.protocols.delivery import Start
from gridengine.state.configured.configuration import HostConfiguration
from gridengine.state.configured.execution import read_execution
from gridengine.state.configured.objects import read_checkpoint
from gridengine.state.jobs import Grant, Job
from gridengine.values.task_key import TaskKey

QUEUE = {name: field.default for name, field in ClusterQueue.model_fields.items()}
ALICE = Account("alice", 1001, 1001, "alice", "/home/alice", "/bin/bash")
SITE = HostSite("g1", "/opt/ge", "default", Path("/spool/g1"), {"LANG": "C.UTF-8", "PATH": "/sbin"}, "/opt/ge/bin")


def start(
    job: dict[str, Any] | None = None,
    queue: dict[str, str] | None = None,
    task_id: int = 1,
    granted: list[Grant] | None = None,
    checkpoint: dict[str, str] | None = None,
    **changes: Any,
) -> Start:
    """Start 12.1, attempt 3, of alice's job `hello` in all.q@g1. `queue`, `checkpoint`: attributes as they are configured."""
    known = {
        "id": 12,
        "name": "hello",
        "owner": "alice",
        "uid": 1001,
        "group": "alice",
        "gid": 1001,
        "submit_time": 1.0,
    }
    return Start(
        key=TaskKey(12, task_id, 3),
        job=Job(**{**known, **(job or {})}),
        granted=granted or [Grant("all.q@g1", 1)],
        queue=read_execution({**QUEUE, **(queue or {})}),
        environment=changes.pop("environment", {}),
        checkpoint=read_checkpoint("ckpt", checkpoint) if checkpoint else None,
        **changes,
    )


def configuration(**text: str) -> HostConfiguration:
    return HostConfiguration.of({"login_shells": "bash,sh", "prolog": "none", "epilog": "none", **text})
