"""A simulated child process that has ended, as `daemons.runtime.children` ends a process."""

from __future__ import annotations


class PlayedProcess:
    returncode = 0
    stdin = None

    def __init__(self) -> None:
        self._transport = self

    def get_pipe_transport(self, number: int) -> None:
        """The process has no pipes any more."""

    async def wait(self) -> int:
        return self.returncode
