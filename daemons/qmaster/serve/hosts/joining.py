"""Hosts without keys that request to join the cell: whether they may connect at all, and the process that admits them.

Owns the first check of a token, and the process; admission itself is done by the program `gridengine`, so that this one never
holds the key of the authority. While no token is valid, the TLS handshake refuses hosts without a certificate. Called by
`gdi_server`. Source: adr/0153, docs/security.md.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from daemons.runtime import children
from daemons.runtime.backoff import Backoff
from daemons.runtime.daemon import module_command, module_environment
from gridengine.errors import InvalidValueError
from gridengine.protocols.gdi.join_request import decode_join
from gridengine.protocols.gdi.requests import Answer, malformed
from gridengine.protocols.joining import (
    ADMISSION_TIMEOUT_S,
    LONGEST_ADMISSION_S,
    join_directory,
    parse_token,
    read_record,
    read_records,
)

_log = logging.getLogger(__name__)
ADMITTING = "clients.admin.admission"
LARGEST = 16384
"""Bytes of such a request."""
_TOKEN_REFUSED = (
    "denied: invalid token: expired, used up, revoked, or of another cell (gridengine token join makes one)"
)
#: lower ports are root's; source: ip(7) ip_unprivileged_port_start
_ROOT_PORTS = 1024
NO_PORT = 1 << 16
"""Stands for the port of a peer that has none, or is gone."""


class JoinRequests:
    """`authority`: the directory whose keys the token records accompany; `environment`: of the cell; `replaced`: called with
    name and address of a host whose earlier keys are void from now on; `root_only`: only root of a host may join it."""

    def __init__(
        self,
        authority: Path,
        environment: Mapping[str, str],
        replaced: Callable[[str, str], None] = lambda host, address: None,
        root_only: bool = True,
    ) -> None:
        self._directory, self._environment = join_directory(authority), environment
        self._replaced, self._root_only = replaced, root_only
        self._one_at_a_time = asyncio.Lock()
        self._limit = Backoff(ADMISSION_TIMEOUT_S, LONGEST_ADMISSION_S)  # a slow master admits the host in the next attempt

    def has_open_token(self) -> bool:
        """Whether a token is valid at this moment."""
        now = time.time()
        return any(known.is_open(now) for known in read_records(self._directory))

    async def answer(self, body: bytes, address: str, port: int) -> Answer:
        """Admit the host that sends a request from this address and port, or refuse it with the reason."""
        try:
            request = decode_join(body)
        except msgspec.DecodeError as error:
            return malformed("join", error)
        try:
            token = parse_token(request.token)
        except InvalidValueError as fault:
            return Answer(1, [("error", f"denied: {fault}")])
        known = read_record(self._directory, token.number)
        if known is None or not known.accepts(token, time.time()):
            _log.warning("%s requested to join as host %r with an invalid token", address, request.host[:64])
            return Answer(1, [("error", _TOKEN_REFUSED)])
        if self._root_only and port >= _ROOT_PORTS:
            text = "a user of %s other than root requested to join as host %r with a valid token"
            _log.warning(text, address, request.host[:64])
            reason = f"only root may join a host to this cell, and any user can send requests from port {port}"
            return Answer(1, [("error", f"denied: {reason}")])
        fields = {**msgspec.to_builtins(request), "token": token.number, "address": address}
        async with self._one_at_a_time:
            answer = await self._run_admission(json.dumps(fields).encode(), f"{request.host[:64]} ({address})")
        if answer.status == 0:
            self._note(answer, address, token.number)
        return answer

    def _note(self, answer: Answer, address: str, number: str) -> None:
        data: Any = answer.data
        host = data["host"]
        if data.pop("replaced", False):
            _log.warning("host %s got new keys by token %s, from %s: its earlier keys are void", host, number, address)
            self._replaced(host, address)
        else:
            _log.info("host %s joined by token %s, from %s", host, number, address)

    async def _run_admission(self, fields: bytes, host: str) -> Answer:
        """`host`: its name and address, for people."""
        limit_s = self._limit.next_s()
        errors = f"no answer within {limit_s:.0f} s".encode()
        pipe = asyncio.subprocess.PIPE
        child = await children.begin(
            *module_command(ADMITTING),
            stdin=pipe,
            stdout=pipe,
            stderr=pipe,
            env={**module_environment(), **self._environment},
        )
        try:
            async with asyncio.timeout(limit_s):
                output, errors = await child.communicate(fields)
            self._limit.reset()
            return msgspec.json.decode(output, type=Answer)
        except (TimeoutError, msgspec.DecodeError) as fault:
            reason = (errors.decode(errors="replace").strip().splitlines() or ["it printed nothing"])[-1][:500]
            again = "; the same command may succeed now" if isinstance(fault, TimeoutError) else ""
            _log.error("host %s was not admitted: %s", host, reason)
            return Answer(1, [("error", f"the master could not admit host {host}: {reason}{again}")])
        finally:
            await children.end(child)
