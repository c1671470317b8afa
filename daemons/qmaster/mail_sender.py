"""Sending mail: runs the configured mailer, one process a recipient, behind everything else.

Owns the queue and the processes. Never a shell: `mailer -s subject recipient`, the body on the standard input. A mailer
that hangs is ended, a full queue drops letters and says so; nothing here ever makes the qmaster wait. Used by
`daemons.qmaster.service`. Source: sge_conf(5) mailer; MA-2.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import pwd
from collections.abc import Callable, Iterable

from daemons.qmaster.mail import Mail
from gridengine.errors import SyntaxFault

_log = logging.getLogger(__name__)
QUEUE_LENGTH = 1000
TIMEOUT_S = 60.0
SENDERS = 2
"""Mailers that run at the same time."""


class MailSender:
    """`mailer()` gives the configured command, `[user@]path` or none. Must be made within a running event loop."""

    def __init__(self, mailer: Callable[[], str], timeout_s: float = TIMEOUT_S) -> None:
        self._mailer = mailer
        self._timeout_s = timeout_s
        self._queue: asyncio.Queue[tuple[str, Mail]] = asyncio.Queue(QUEUE_LENGTH)
        self._dropped = 0
        self._tasks = [asyncio.get_running_loop().create_task(self._run()) for _ in range(SENDERS)]

    def send(self, mails: Iterable[Mail]) -> None:
        """Take letters; returns at once."""
        for mail in mails:
            for recipient in mail.recipients:
                try:
                    self._queue.put_nowait((recipient, mail))
                except asyncio.QueueFull:
                    self._dropped += 1
                    if self._dropped == 1:
                        _log.error("the mailer is too slow: mails are dropped, the first is for %s", recipient)

    async def idle(self) -> None:
        """Return when everything taken so far has been handed over."""
        await self._queue.join()

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _run(self) -> None:
        while True:
            recipient, mail = await self._queue.get()
            try:
                await self._hand_over(recipient, mail)
            except (OSError, SyntaxFault) as error:
                _log.error('mail "%s" to %s was not sent: %s', mail.subject, recipient, error)
            finally:
                self._queue.task_done()
                if self._dropped and self._queue.empty():
                    _log.error("%d mails were dropped", self._dropped)
                    self._dropped = 0

    async def _hand_over(self, recipient: str, mail: Mail) -> None:
        """One run of the mailer. Raises OSError or SyntaxFault when it cannot be."""
        mailer = self._mailer()
        if mailer.lower() in ("", "none"):
            return
        if recipient.startswith("-") or any(letter.isspace() or letter < " " for letter in recipient):
            raise SyntaxFault("this is no address")
        user, path = split_user(mailer)
        subject = "".join(letter if letter >= " " else " " for letter in mail.subject)
        process = await asyncio.create_subprocess_exec(
            *(path, "-s", subject, recipient),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
            start_new_session=True,
            user=user,
        )
        try:
            await asyncio.wait_for(process.communicate(mail.body.encode()), self._timeout_s)
        except (TimeoutError, asyncio.CancelledError) as error:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            if isinstance(error, asyncio.CancelledError):
                raise
            raise OSError(f"{path} did not end within {self._timeout_s:g} s") from None
        if process.stdin is not None:
            with contextlib.suppress(ConnectionError):
                await process.stdin.wait_closed()
        if process.returncode:
            raise OSError(f"{path} ended with exit status {process.returncode}")


def split_user(command: str) -> tuple[int | None, str]:
    """`[user@]path` as the user to run as, None for the daemon's own, and the path. Raises SyntaxFault."""
    user, at, path = command.partition("@")
    if not at or "/" in user:
        return None, command
    try:
        number = pwd.getpwnam(user).pw_uid
    except KeyError:
        raise SyntaxFault(f'"{command}": there is no user "{user}"') from None
    return (None if number == os.geteuid() else number), path
