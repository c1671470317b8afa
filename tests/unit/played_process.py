"""A child process that is none, and has ended, as `daemons.runtime.children` ends one."""

from __future__ import annotations


class PlayedProcess:
    returncode = 0
    stdin = None

    def __init__(self) -> None:
        self._transport = self

    def get_pipe_transport(self, number: int) -> None:
        """It has no pipes any more."""

    async def wait(self) -> int:
        return self.returncode
