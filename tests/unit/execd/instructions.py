"""A Start instruction and a site for tests, each detail of which a test can change."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from daemons.execd.environment import Account
from daemons.execd.site import Site
from gridengine.delivery import Start
from gridengine.state.configured.configuration import HostConfiguration
from gridengine.state.jobs import Grant, Job

QUEUE = {
    "tmpdir": "/tmp",
    "shell": "/bin/sh",
    "shell_start_mode": "posix_compliant",
    "notify": "00:00:60",
    "priority": "0",
    "prolog": "NONE",
    "epilog": "NONE",
    "h_rt": "INFINITY",
    "s_rt": "INFINITY",
    "h_vmem": "INFINITY",
}
ALICE = Account("alice", 1001, 1001, "alice", "/home/alice", "/bin/bash")
SITE = Site("g1", "/opt/ge", "default", Path("/spool/g1"), {"LANG": "C.UTF-8", "PATH": "/sbin"}, "/opt/ge/bin")


def start(
    job: dict[str, Any] | None = None,
    queue: dict[str, str] | None = None,
    task_id: int = 1,
    granted: list[Grant] | None = None,
    **changes: Any,
) -> Start:
    """Start 12.1, attempt 3, of alice's job `hello` in all.q@g1."""
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
        key=(12, task_id, 3),
        job=Job(**{**known, **(job or {})}),
        granted=granted or [Grant("all.q@g1", 1)],
        queue={**QUEUE, **(queue or {})},
        environment=changes.pop("environment", {}),
        **changes,
    )


def configuration(**text: str) -> HostConfiguration:
    return HostConfiguration.of({"login_shells": "bash,sh", "prolog": "none", "epilog": "none", **text})
