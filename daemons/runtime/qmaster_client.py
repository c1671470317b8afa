"""A daemon's client of the qmaster's GDI, for itself and for the users that it authenticates.

Owns the address, the certificate, and the key with which its host authenticates its users. Knows no request. Called by the
gateway and the supervisor of an exec host, and by the web server. Source: docs/architecture.md section 4.
"""

from __future__ import annotations

import asyncio
import logging
import os
import ssl
import time
from dataclasses import dataclass

import aiohttp

from daemons.runtime import idempotency
from daemons.runtime.cell import Cell, CellError
from daemons.runtime.keys import own_keys
from gridengine.addresses import join_port
from gridengine.errors import UnavailableError

#: seconds for which a resolved address is used, and that a connection may take to be made
_ADDRESS_S, CONNECT_S = 10.0, 4.0
#: seconds within which a reachable host makes a TLS handshake
HANDSHAKE_S = 0.4
#: seconds for which an idle connection is kept: fewer than at the qmaster, which must not close a connection that is in use
_KEEPALIVE_S = 30.0
_NEVER_SENT = (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError, CellError)

_log = logging.getLogger(__name__)


class NoQmasterError(UnavailableError):
    """The qmaster cannot be reached; the text is a line for the user. `sent`: the qmaster may have received the request."""

    def __init__(self, text: str, sent: bool) -> None:
        super().__init__(text)
        self.sent = sent


@dataclass(frozen=True, slots=True)
class LocalCaller:
    """The caller as this host knows them. `daemon`: this daemon itself."""

    user: str
    uid: int
    group: str
    gid: int
    daemon: bool = False


@dataclass(frozen=True, slots=True)
class HostCredentials:
    """The credentials by which a host authenticates to the qmaster. `key`: authenticates its users; `tls`: presents its
    certificate."""

    key: str
    tls: ssl.SSLContext


def read_credentials(cell: Cell, host: str) -> HostCredentials:
    """The credentials of this host, read once: afterwards a process may drop the rights to read the keys. Raises CellError."""
    keys = own_keys(cell, host)
    return HostCredentials(keys.gdi_key(), keys.client_context())


class QmasterClient:
    """TLS connections to the current master, for one event loop; `close` at the end.

    Candidate hosts are tried in turn, the last master first. The last master is tried even if the files of this host no
    longer name it, since it offers their current contents (adr/0173).
    """

    def __init__(self, cell: Cell, host: str, credentials: HostCredentials) -> None:
        self._cell, self._host, self._key, self._tls = cell, host, credentials.key, credentials.tls
        self._session = self._connections()
        self._named_master = ""  # the master by act_qmaster when it was last read
        self._order: list[str] = []
        self._last_master = ""
        self._addresses: dict[str, tuple[str, float]] = {}

    async def close(self) -> None:
        """End all connections."""
        await self._session.close()

    async def post(
        self, path: str, body: bytes, caller: LocalCaller, total_s: float | None = None, key: str = ""
    ) -> aiohttp.ClientResponse:
        """Send a request; return the answer when its head has arrived. `total_s`: limit for all of it. Raises NoQmasterError.

        A request is never sent twice: the qmaster may have carried out a request whose answer was lost. A caller with an
        idempotency `key` can repeat it.
        """
        fault = NoQmasterError("unable to contact qmaster", sent=False)
        for master in self._possible_masters():
            try:
                answer = await self._post_to(master, path, body, self._headers(caller, key), total_s)
            except NoQmasterError as error:
                fault = fault if fault.__cause__ else error
                self._try_last(master)
                if error.sent:
                    raise
                continue
            await self._try_first(master)
            return answer
        raise fault

    async def _post_to(
        self, master: str, path: str, body: bytes, headers: dict[str, str], total_s: float | None
    ) -> aiohttp.ClientResponse:
        """Send a request to one host. Raises NoQmasterError."""
        try:
            url = f"https://{join_port(await self._address(master), self._cell.qmaster_port)}{path}"
            timeout = aiohttp.ClientTimeout(total=total_s, connect=self._patience_s)
            return await self._session.post(url, data=body, headers=headers, timeout=timeout, server_hostname=master)
        except (aiohttp.ClientError, OSError, TimeoutError, CellError) as error:
            self._addresses.pop(master, None)
            raise NoQmasterError(
                f'unable to contact qmaster on host "{master or "?"}" port {self._cell.qmaster_port}: {describe_failure(error)}',
                sent=not isinstance(error, _NEVER_SENT),
            ) from error

    async def reaches_master(self) -> bool:
        """Whether the master, or a candidate, makes a TLS handshake at once: for a process that hangs the kernel still accepts
        connections. Called for clients that wait for an answer."""
        try:
            masters = self._possible_masters()
        except NoQmasterError:
            return False
        return any(await asyncio.gather(*map(self._makes_handshake, masters)))

    async def _makes_handshake(self, master: str) -> bool:
        try:
            async with asyncio.timeout(HANDSHAKE_S):
                address, port = await self._address(master), self._cell.qmaster_port
                _, writer = await asyncio.open_connection(address, port, ssl=self._tls, server_hostname=master)
        except (OSError, TimeoutError, CellError):
            return False
        writer.close()
        return True

    def _possible_masters(self) -> list[str]:
        """The possible masters, the likeliest first: the host in act_qmaster if that has changed, else the last master.

        Raises NoQmasterError."""
        try:
            named_master, candidate_hosts = self._cell.master_host(), self._cell.candidate_hosts()
        except CellError as fault:
            port = self._cell.qmaster_port
            raise NoQmasterError(f'unable to contact qmaster on host "?" port {port}: {fault}', sent=False) from fault
        first = [named_master] if named_master != self._named_master else self._order
        self._named_master = named_master
        known = {named_master, self._last_master, *candidate_hosts} - {""}
        order = dict.fromkeys((*first, named_master, self._last_master, *candidate_hosts))
        self._order = [host for host in order if host in known]
        return list(self._order)

    def _try_last(self, master: str) -> None:
        """Try this host last from now on."""
        self._order = [*(host for host in self._order if host != master), master]

    async def _try_first(self, master: str) -> None:
        """Try this host first from now on. Requests pending on the old master are aborted: the old master may be dead and
        never answer."""
        if self._last_master not in ("", master):
            _log.warning("the master is host %s now", master)
            earlier, self._session = self._session, self._connections()
            await earlier.close()
        self._last_master = master
        self._order = [master, *(host for host in self._order if host != master)]

    @property
    def has_one_candidate(self) -> bool:
        """Whether a single host may be the master: then timeouts are longer, since there is no other host to try."""
        return len(self._order) < 2

    @property
    def _patience_s(self) -> float:
        """Return the time that a connection may take to be made."""
        return CONNECT_S if self.has_one_candidate else CONNECT_S / 2

    def _connections(self) -> aiohttp.ClientSession:
        connector = aiohttp.TCPConnector(ssl=self._tls, limit=0, keepalive_timeout=_KEEPALIVE_S)
        return aiohttp.ClientSession(connector=connector, auto_decompress=False)

    async def _address(self, master: str) -> str:
        """Raises CellError."""
        address, since = self._addresses.get(master, ("", 0.0))
        if not address or time.monotonic() - since > _ADDRESS_S:
            address = await asyncio.get_running_loop().run_in_executor(None, self._cell.address, master)
            self._addresses[master] = (address, time.monotonic())
        return address

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


def describe_failure(error: BaseException) -> str:
    """Describe in plain words the failure of a connection to another host."""
    if isinstance(error, TimeoutError):
        return "no answer in time"
    if isinstance(error, aiohttp.ClientConnectorError):
        cause = error.os_error
        # with an errno of the kernel, the text is asyncio's, for programmers; errors of name resolution are negative
        known = os.strerror(cause.errno) if cause.errno is not None and cause.errno > 0 else cause.strerror
        return (known or str(cause)).lower()
    if isinstance(error, aiohttp.ServerDisconnectedError):
        return "it closed the connection before it had answered"
    return str(error) or type(error).__name__
