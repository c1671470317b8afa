"""The way of a daemon to the qmaster's GDI, for itself and for the users for whom it vouches.

Owns the address, the certificate, the key with which its host vouches for its users. Knows no request. Called by the gateway and
the supervisor of an exec host, and by the web server. Source: docs/architecture.md section 4.
"""

from __future__ import annotations

import asyncio
import os
import ssl
import time
from dataclasses import dataclass

import aiohttp

from daemons.runtime import idempotency
from daemons.runtime.cell import Cell, CellFault
from daemons.runtime.keys import own_keys

#: seconds for which a resolved address is used, and that a connection may take to be made
_ADDRESS_S, _CONNECT_S = 10.0, 4.0
#: seconds for which an unused connection is kept: less than the qmaster does, who must not close one that is being used
_KEPT_S = 30.0


class NoQmaster(Exception):
    """The qmaster cannot be reached; the text is a line for the user. `sent`: it may have got the request all the same."""

    def __init__(self, text: str, sent: bool) -> None:
        super().__init__(text)
        self.sent = sent


@dataclass(frozen=True, slots=True)
class LocalCaller:
    """Who asks, as this host knows him. `daemon`: this daemon itself."""

    user: str
    uid: int
    group: str
    gid: int
    daemon: bool = False


@dataclass(frozen=True, slots=True)
class HostProof:
    """With what a host proves to the qmaster which one it is. `key`: its word for its users; `tls`: shows its certificate."""

    key: str
    tls: ssl.SSLContext


def read_proof(cell: Cell, host: str) -> HostProof:
    """That of this host, read by whoever owns its keys: once, so that he may give up his rights. Raises CellFault."""
    keys = own_keys(cell, host)
    return HostProof(keys.gdi_key(), keys.client_context())


class QmasterLink:
    """TLS connections to whoever is the master now, for one event loop; `close` at the end."""

    def __init__(self, cell: Cell, host: str, proof: HostProof) -> None:
        self._cell, self._host, self._key = cell, host, proof.key
        connector = aiohttp.TCPConnector(ssl=proof.tls, limit=0, keepalive_timeout=_KEPT_S)
        timeout = aiohttp.ClientTimeout(total=None, connect=_CONNECT_S)
        self._session = aiohttp.ClientSession(connector=connector, timeout=timeout, auto_decompress=False)
        self._address = ("", "", 0.0)

    async def close(self) -> None:
        """End all connections."""
        await self._session.close()

    async def post(
        self, path: str, body: bytes, caller: LocalCaller, total_s: float | None = None, key: str = ""
    ) -> aiohttp.ClientResponse:
        """Send a request; return the answer when its head is here. `total_s`: limit for all of it. Raises NoQmaster.

        A request is never sent twice: the qmaster may have carried out one whose answer was lost. Who gave it an idempotency
        `key` can ask again.
        """
        master = "?"
        try:
            master, address = await self._locate()
            url = f"https://{address}:{self._cell.qmaster_port}{path}"
            timeout = aiohttp.ClientTimeout(total=total_s, connect=_CONNECT_S)
            return await self._session.post(
                url, data=body, headers=self._headers(caller, key), timeout=timeout, server_hostname=master
            )
        except (aiohttp.ClientError, OSError, TimeoutError, CellFault) as error:
            self._address = ("", "", 0.0)
            raise NoQmaster(
                f'unable to contact qmaster on host "{master}" port {self._cell.qmaster_port}: {_reason(error)}',
                sent=not isinstance(error, aiohttp.ClientConnectorError | CellFault),
            ) from error

    async def _locate(self) -> tuple[str, str]:
        """The master host as act_qmaster names it now, and its address."""
        master = self._cell.master_host()
        known, address, since = self._address
        if known != master or time.monotonic() - since > _ADDRESS_S:
            address = await asyncio.get_running_loop().run_in_executor(None, self._cell.address, master)
            self._address = (master, address, time.monotonic())
        return master, address

    def _headers(self, caller: LocalCaller, key: str) -> dict[str, str]:
        return {
            "Authorization": f"Bearer {self._key}",
            "Content-Type": "application/json",
            "X-GE-Host": self._host,
            "X-GE-User": caller.user,
            "X-GE-Uid": str(caller.uid),
            "X-GE-Group": caller.group,
            "X-GE-Gid": str(caller.gid),
            "X-GE-Daemon": str(int(caller.daemon)),
            **({idempotency.HEADER: key} if key else {}),
        }


def _reason(error: BaseException) -> str:
    if isinstance(error, TimeoutError):
        return "no answer in time"
    if isinstance(error, aiohttp.ClientConnectorError):
        cause = error.os_error
        # the text that comes with a number of the kernel's is asyncio's, for programmers; names have numbers below 0
        known = os.strerror(cause.errno) if cause.errno is not None and cause.errno > 0 else cause.strerror
        return (known or str(cause)).lower()
    if isinstance(error, aiohttp.ServerDisconnectedError):
        return "it closed the connection before it had answered"
    return str(error) or type(error).__name__
