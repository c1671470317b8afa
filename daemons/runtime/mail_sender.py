"""Sending mail: runs the configured mailer, one process a recipient, behind everything else.

Owns the queue and the processes. Never a shell: `mailer -s subject recipient`, the body on the standard input. A `--`
before the recipient would break the promise of sge_conf(5) to a site's own mailer; no address can be taken for an option.
Users choose the recipients, so the mailer never runs as root: its user is the configured user, else the system's user
`nobody`, since the jobs' owners need not be allowed on this host. A mailer that hangs is ended; a full queue drops messages
and logs it; nothing here ever makes a daemon wait. Used by the qmaster and the web server. Source: sge_conf(5) mailer; MA-2.
"""

from __future__ import annotations

import asyncio
import logging
import tempfile
from collections.abc import Callable, Iterable
from typing import IO

from daemons.runtime import children, identity
from daemons.runtime.identity import LocalUser
from daemons.runtime.name_service import Lookups, NameServiceError
from gridengine.errors import InvalidValueError
from gridengine.mail import Mail
from gridengine.syntax.mail_address import check_mail_address

_log = logging.getLogger(__name__)
_MailQueue = asyncio.Queue[tuple[str, Mail]]
QUEUE_LENGTH = 1000
TIMEOUT_S = 60.0
MAX_OUTPUT = 300
"""Bytes of the output of a failed mailer, for the log."""
SENDERS = 2
"""Mailers that run at the same time."""


class MailSender:
    """`mailer()` gives the configured command, `[user@]path`, None for none. Must be made within a running event loop."""

    def __init__(self, mailer: Callable[[], str | None], timeout_s: float = TIMEOUT_S) -> None:
        self._mailer = mailer
        self._senders = Lookups(_sender_and_path)
        self._timeout_s = timeout_s
        self._queues: list[_MailQueue] = [asyncio.Queue(QUEUE_LENGTH) for _ in range(SENDERS)]
        self._dropped = 0
        self._tasks = [asyncio.get_running_loop().create_task(self._run(queue)) for queue in self._queues]

    def send(self, mails: Iterable[Mail]) -> None:
        """Queue mail messages; returns at once."""
        for mail in mails:
            for recipient in mail.recipients:
                try:
                    # the same mailer for all messages of a recipient: they arrive in order
                    self._queues[hash(recipient) % SENDERS].put_nowait((recipient, mail))
                except asyncio.QueueFull:
                    self._dropped += 1
                    if self._dropped == 1:
                        _log.error("the mailer is too slow: mails are dropped, the first is for %s", recipient)

    async def idle(self) -> None:
        """Return when all queued messages have been sent."""
        for queue in self._queues:
            await queue.join()

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _run(self, queue: _MailQueue) -> None:
        while True:
            recipient, mail = await queue.get()
            try:
                await self._send_one(recipient, mail)
            except (OSError, InvalidValueError, NameServiceError) as error:
                reason = getattr(error, "strerror", None) or error
                _log.error('mail "%s" to %s was not sent: %s', mail.subject, recipient, reason)
            except Exception:  # noqa: BLE001 - one message must not end the sender
                _log.exception('mail "%s" to %s was not sent', mail.subject, recipient)
            finally:
                queue.task_done()
                if self._dropped and all(each.empty() for each in self._queues):
                    _log.error("%d mails were dropped", self._dropped)
                    self._dropped = 0

    async def _send_one(self, recipient: str, mail: Mail) -> None:
        """One run of the mailer. Raises OSError or InvalidValueError when it fails."""
        mailer = self._mailer()
        if mailer is None:
            return
        # a file and no pipe: a process that a mailer leaves behind may hold a pipe open
        with tempfile.TemporaryFile() as output:
            await self._run_mailer(mailer, recipient, mail, output)

    async def _run_mailer(self, mailer: str, recipient: str, mail: Mail, output: IO[bytes]) -> None:
        user, path = await self._senders.find(mailer)
        subject = "".join(character if character.isprintable() else " " for character in mail.subject)
        process = await children.begin(
            path,
            "-s",
            subject,
            check_mail_address(recipient),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=output,
            **user.process(),
        )
        try:
            async with asyncio.timeout(self._timeout_s):
                await process.communicate(mail.body.encode(errors="replace"))
        except TimeoutError:
            raise OSError(f"{path} did not end within {self._timeout_s:g} s") from None
        finally:
            await children.end(process)
        if process.returncode:
            output.seek(0)
            message = " ".join(output.read(MAX_OUTPUT).decode(errors="replace").split())
            raise OSError(f"{path} ended with exit status {process.returncode}: {message or 'it gave no reason'}")


def _sender_and_path(mailer: str) -> tuple[LocalUser, str]:
    """`[user@]path` as the mailer's user and its path. Raises InvalidValueError."""
    user, at, path = mailer.partition("@")
    if at and "/" not in user:
        return identity.named(user), path
    return identity.unprivileged(), mailer
