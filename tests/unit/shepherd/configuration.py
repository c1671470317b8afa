"""Task configurations for the unit tests of the shepherd."""

from __future__ import annotations

from typing import Any

from gridengine.protocols.task_file import TaskConfig, parse

BASE: dict[str, Any] = {
    "job_id": 7,
    "owner": "alice",
    "uid": 1001,
    "gid": 1001,
    "cwd": "/home/alice",
    "stdout": "/home/alice/j.o7",
    "stderr": "/home/alice/j.e7",
    "script": "/spool/job_scripts/7",
    "login_shells": ["sh", "bash", "csh"],
    "environment": {"PATH": "/bin", "LD_PRELOAD": "/x.so"},
    "variables": {"job_id": "7", "job_owner": "alice", "job_name": "; evil doings;"},
}


def config(**changes: Any) -> TaskConfig:
    """The base configuration with `changes`."""
    return parse(BASE | changes)
