"""Loads aiohttp without the certificate authorities of the machine.

aiohttp makes two TLS contexts for its clients when it is imported, and each reads all authorities: 60 ms of every daemon start.
No daemon uses them, since a cell has an authority of its own (`keys`). A program imports this module before any that imports
aiohttp.
"""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_authorities() -> Iterator[None]:
    """TLS contexts made meanwhile trust no certificate: a connection that uses such a context by mistake is refused."""
    load = ssl.SSLContext.set_default_verify_paths
    ssl.SSLContext.set_default_verify_paths = _nothing  # type: ignore[assignment,method-assign]
    try:
        yield
    finally:
        ssl.SSLContext.set_default_verify_paths = load  # type: ignore[method-assign]


def _nothing(_context: ssl.SSLContext) -> None:
    pass


with without_authorities():
    import aiohttp  # noqa: F401
