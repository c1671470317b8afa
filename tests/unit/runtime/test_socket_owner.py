"""The user at the other end of a TCP connection."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator

import pytest

from daemons.runtime.socket_owner import socket_owner
from tests import needs

Ends = tuple[socket.socket, socket.socket]


@pytest.fixture(params=["127.0.0.1", "::1"])
def ends(request: pytest.FixtureRequest) -> Iterator[Ends]:
    """The two ends of a connection within this host, the accepted one first."""
    family = socket.AF_INET6 if ":" in request.param else socket.AF_INET
    try:
        listener = socket.create_server((request.param, 0), family=family)
    except OSError:
        needs.skip(f"the address {request.param}", "set up the loopback interface for both families of addresses")
    with listener, socket.create_connection(listener.getsockname()[:2]) as far, listener.accept()[0] as near:
        yield near, far


def test_the_own_user_is_found(ends: Ends) -> None:
    near, far = ends
    assert socket_owner(near) == socket_owner(far) == os.geteuid()


@needs.root
def test_another_user_is_found(ends: Ends) -> None:
    near, far = ends
    os.fchown(far.fileno(), 54321, 54321)
    assert socket_owner(near) == 54321


def test_a_closed_socket_does_not_belong_to_root(ends: Ends) -> None:
    near, far = ends
    far.close()
    assert socket_owner(near) is None


def test_without_an_answer_of_the_kernel_there_is_no_owner(ends: Ends, monkeypatch: pytest.MonkeyPatch) -> None:
    near, _ = ends

    def refuse(*_: object) -> socket.socket:
        raise PermissionError("no netlink here")

    monkeypatch.setattr(socket, "socket", refuse)
    assert socket_owner(near) is None
