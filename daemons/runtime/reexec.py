"""Restart of a daemon as the program of the installed release: the same process executes it (execve).

Its process number, start time and parent (systemd) stay; its files and sockets are closed before. First the new program is
tested: the program must load completely and print its release. Called on SIGHUP, and on request of the qmaster. Source:
docs/adr/0149.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

from daemons.runtime import children
from daemons.runtime.release import installed_release, own_release

_log = logging.getLogger(__name__)
STARTED = Path(sys.argv[0]).absolute()
"""The path by which this was started, resolved before the process leaves its directory."""
_TRIAL_S = 60.0
#: arguments that apply to the first start only
_FIRST_START_ONLY = frozenset(("--foreground", "--fresh"))


class Renewal:
    """The restart of one daemon as another release. `name`: its next program. `refusal`: why the last attempt failed."""

    def __init__(self, name: Callable[[], str]) -> None:
        self._name = name
        self._trial: asyncio.Task[None] | None = None
        self._stop = asyncio.Event()
        self.refusal = ""
        self.is_due = False

    def watch(self, stop: asyncio.Event) -> None:
        """`stop` ends the daemon's work, so that the new program can be executed."""
        self._stop = stop

    @property
    def installed(self) -> str:
        """The name of the installed release."""
        return installed_release(str(self._program()))

    def begin(self) -> None:
        """Test the installed program, and restart as it."""
        if self._trial is None or (self._trial.done() and not self.is_due):
            self._trial = asyncio.get_running_loop().create_task(self._try_installed())

    def become(self) -> NoReturn:
        """Execute the new program; to be called when the daemon's work has ended. Raises OSError."""
        arguments = (argument for argument in sys.argv[1:] if argument not in _FIRST_START_ONLY)
        command = [str(self._program()), *arguments, "--foreground"]
        os.execv(command[0], command)

    def _program(self) -> Path:
        return STARTED.with_name(self._name())

    async def _try_installed(self) -> None:
        program = self._program()
        try:
            trial = await children.begin(
                str(program), "--version", stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
            )
            try:
                async with asyncio.timeout(_TRIAL_S):
                    output, errors = await trial.communicate()
            finally:
                await children.end(trial)
        except (OSError, TimeoutError) as error:
            self._refuse(f"{program}: {getattr(error, 'strerror', None) or 'it does not print its release'}")
            return
        if trial.returncode:
            lines = errors.decode(errors="replace").strip().splitlines()
            self._refuse(f"{program}: {lines[-1] if lines else f'exit code {trial.returncode}'}")
            return
        self.refusal, self.is_due = "", True
        _log.warning("release %s goes on as %s", own_release(), output.decode(errors="replace").strip())
        self._stop.set()

    def _refuse(self, reason: str) -> None:
        self.refusal = f"does not go on as another release: {reason}"
        _log.error("%s", self.refusal)
