"""The port of a listener: the first of several that no other program has."""

from __future__ import annotations

import errno

import pytest

from daemons.runtime.listener import open_first_free, open_tcp_sockets

ADDRESS = "127.0.0.9"


def test_the_first_free_port_is_taken_and_none_is_an_error() -> None:
    (first,) = open_tcp_sockets([ADDRESS], 0)
    (second,) = open_tcp_sockets([ADDRESS], 0)
    busy, free = first.getsockname()[1], second.getsockname()[1]
    with first:
        second.close()
        (found,) = open_first_free([ADDRESS], [busy, free])
        with found:
            assert found.getsockname()[1] == free
            with pytest.raises(OSError) as refused:
                open_first_free([ADDRESS], [busy, free])
    assert refused.value.errno == errno.EADDRINUSE
