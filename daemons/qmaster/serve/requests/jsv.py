"""The server's job submission verifier: one long-lived process that sees every job before the qmaster decides on it.

Owns the process: its start, restart and end, and the time it may take. The protocol is `gridengine.jsv`'s. Jobs pass in
sequence, so a verifier sees the number that the job will get. If a configured verifier does not work, no job is accepted.
Used by `daemons.qmaster.serve.service`. Source: sge_conf(5) jsv_url, jsv_timeout, jsv_threshold; JV-1, JV-6.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from daemons.runtime import children, identity
from daemons.runtime.name_service import Lookups, NameServiceError
from gridengine.errors import InvalidValueError, plain_fault
from gridengine.jsv.conversation import LINE_LIMIT, Conversation, VerifierError, verifier_path
from gridengine.protocols.gdi.bounds import check
from gridengine.protocols.gdi.requests import Answer, Caller, Submit
from gridengine.state.configured.configuration import HostConfiguration

_log = logging.getLogger(__name__)
_LEVELS = {"info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}
_QUIT_S = 0.5
_PASSED_VARIABLES = ("SGE_ROOT", "SGE_CELL")
"""Variables of the daemon that the verifier gets beside the variables of its user."""


class ServerVerifier:
    """`configuration()`: sge_conf(5) in force. No process runs until the first job comes."""

    def __init__(self, configuration: Callable[[], HostConfiguration]) -> None:
        self._configuration = configuration
        self._process: asyncio.subprocess.Process | None = None
        self._started_as: tuple[str, int, int, int] = ("", 0, 0, 0)
        self._lock = asyncio.Lock()
        self._users: Lookups[str, identity.LocalUser] = Lookups(_runs_as)

    @property
    def configured(self) -> bool:
        return bool(self._configuration().jsv_url)

    async def verify(self, request: Submit, caller: Caller, next_id: Callable[[], int]) -> Submit | Answer:
        """The request as changed by the verifier, or the refusal. `next_id()`: the number that the job will get."""
        async with self._lock:
            started = time.monotonic()
            body = msgspec.to_builtins(request)
            try:
                talk = await self._verdict(body, caller, next_id())
                outcome = msgspec.convert(talk.outcome(), Submit)
                check(outcome, Submit)
            except (VerifierError, InvalidValueError, NameServiceError, OSError, msgspec.ValidationError) as fault:
                reason = plain_fault(fault)
                _log.error("the job of %s was not verified: %s", caller.user, reason)
                return Answer(1, [("error", f"job rejected: the job submission verifier failed: {reason}")])
            self._note(talk, time.monotonic() - started, caller)
        if talk.rejected:
            return Answer(1, [("error", talk.message or "job rejected by the job submission verifier")])
        return outcome

    def _note(self, talk: Conversation, seconds: float, caller: Caller) -> None:
        for level, text in talk.logs:
            _log.log(_LEVELS[level], "verifier: %s", text)
        threshold = self._configuration().qmaster_params.jsv_threshold
        if seconds * 1000 >= threshold:
            _log.info("verification of a job of %s took %.0f ms: %s", caller.user, seconds * 1000, talk.state)

    async def _verdict(self, body: dict[str, object], caller: Caller, job_id: int) -> Conversation:
        """Get the verdict; a verifier that died or does not answer in time is restarted, once."""
        timeout_s = self._configuration().qmaster_params.jsv_timeout
        for attempt in (1, 2):
            talk = Conversation(body, "server", "qmaster", caller.user, caller.group, job_id)
            try:
                async with asyncio.timeout(timeout_s):
                    await self._converse(talk)
                return talk
            except (TimeoutError, EOFError, ConnectionError) as error:
                await self.stop()
                reason = f"no verdict within {timeout_s:g} s (jsv_timeout)" if isinstance(error, TimeoutError) else "it ended"
                if attempt == 2:
                    raise VerifierError(reason) from None
                _log.warning("the verifier is started again: %s", reason)
            except BaseException:
                # its next output would be taken for an answer about another job
                await self.stop()
                raise
        raise AssertionError("unreachable")

    async def _converse(self, talk: Conversation) -> None:
        process = await self._running_process()
        assert process.stdin is not None and process.stdout is not None
        lines = talk.open()
        while not talk.state:
            if lines:
                process.stdin.write("".join(f"{line}\n" for line in lines).encode("utf-8", "surrogateescape"))
                await process.stdin.drain()
            try:
                line = await process.stdout.readline()
            except ValueError:
                raise VerifierError(f"a line is longer than {LINE_LIMIT} bytes") from None
            if not line:
                raise EOFError
            lines = talk.receive(line.decode("utf-8", "surrogateescape"))

    async def _running_process(self) -> asyncio.subprocess.Process:
        """Return the process of the configured script, a new process when the configuration or the script has changed."""
        url = self._configuration().jsv_url
        user, path = verifier_path(url)
        status = Path(path).stat()
        # within a clock tick a script may be used and written again
        current = (url, status.st_ino, status.st_size, status.st_mtime_ns)
        if self._process is not None and (self._started_as != current or self._process.returncode is not None):
            await self.stop()
        if self._process is None:
            runs_as = await self._users.find(user)
            self._process = await children.begin(
                path,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
                limit=LINE_LIMIT,
                **runs_as.process({name: os.environ[name] for name in _PASSED_VARIABLES if name in os.environ}),
            )
            self._started_as = current
        return self._process

    async def stop(self) -> None:
        """End the process: by QUIT, and by force if it does not obey."""
        process, self._process = self._process, None
        if process is None:
            return
        assert process.stdin is not None
        try:
            if process.returncode is None:
                with contextlib.suppress(ConnectionError, TimeoutError):
                    process.stdin.write(b"QUIT\n")
                    process.stdin.close()
                    async with asyncio.timeout(_QUIT_S):
                        await process.wait()
        finally:
            await children.end(process)


def _runs_as(user: str) -> identity.LocalUser:
    """The user of `[user@]path`, the daemon's own for "". Blocks."""
    return identity.named(user) if user else identity.own()
