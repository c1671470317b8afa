"""Hellos of exec hosts: who may send them, and the last of a daemon, which ends in order.

Pure. Called by `endpoints`. Source: docs/gdi.md.
"""

from __future__ import annotations

import os

from gridengine.protocols.gdi.requests import Caller, ExecdHello
from gridengine.state.state import State


def hello_refusal(state: State, hello: ExecdHello, caller: Caller) -> str:
    """The reason why a hello is refused, "" if it is not."""
    if not (caller.daemon or caller.uid in (0, os.geteuid())):
        return "denied: only daemons may send a hello"
    if caller.host != hello.host:
        return f'denied: "{caller.host}" may not send a hello for host "{hello.host}"'
    if not state.has("exec_host", hello.host):
        return f'denied: host "{hello.host}" is no execution host; add it with qconf -ae'
    return ""


def process_of(hello: ExecdHello) -> str:
    """The identity of the daemon that sends a hello."""
    return f"{hello.incarnation}/{hello.pid}"


def is_goodbye(state: State, hello: ExecdHello) -> bool:
    """Whether the daemon that serves the host now ends: the last hello of an earlier daemon may come late."""
    known = state.hosts.get(hello.host)
    return hello.ending and known is not None and known.up and known.execd == process_of(hello)
