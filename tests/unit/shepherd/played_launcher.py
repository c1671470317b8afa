"""A launcher whose turns a test takes: what it would fork is noted, and how its children end is played."""

from __future__ import annotations

import json
import os
import signal
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from shepherd import adoption, launcher, process_tree
from shepherd.launcher import Launcher

PATIENCE_S = 60.0


class PlayedLauncher(Launcher):
    """`forked`: the tasks for which a child was forked, and its program: a wrapper, "" for a shepherd, "clear" for the removal of
    a scratch directory. The children are 4711, 4712 ... `waits`: the calls of waitpid(2). `handlers`: of signals. `wakeup`:
    the descriptor for signals. `script`: what happens in the next turns. `timeouts`: of the turns; `now`: the clock,
    which each of them sets forward."""

    def __init__(self, spool: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.forked: list[tuple[str, str]] = []
        self.waits: list[tuple[int, int]] = []
        self.handlers: dict[int, Callable[[], object]] = {}
        self.wakeup = -1
        self.script: list[Callable[[], object]] = []
        self.timeouts: list[float | None] = []
        self.now = 0.0
        self._dead: list[tuple[int, int]] = []
        self._entered: list[str] = []
        monkeypatch.setattr(launcher, "monotonic", lambda: self.now)
        monkeypatch.setattr(process_tree, "fork_child", self._play_fork)
        monkeypatch.setattr(launcher, "shepherd", lambda directory: self.forked.append((str(directory), "")))
        monkeypatch.setattr(adoption, "clear", lambda directory: self.forked.append((str(directory), "clear")))
        monkeypatch.setattr(os, "chdir", self._entered.append)
        monkeypatch.setattr(launcher, "execute", lambda wrapper, *_: self.forked.append((self._entered[-1], wrapper)))
        monkeypatch.setattr(os, "waitpid", self._waitpid)
        monkeypatch.setattr(signal, "signal", self.handlers.__setitem__)
        monkeypatch.setattr(signal, "set_wakeup_fd", self._set_wakeup)
        super().__init__(spool)

    def ask(self, **request: Any) -> dict[str, Any]:
        return self.answer(json.dumps(request).encode())

    def turn(self, timeout_s: float | None = 0.0) -> None:
        self.timeouts.append(timeout_s)
        self.now += timeout_s or 0.0
        if self.script:
            self.script.pop(0)()
        super().turn(0.0)

    def die(self, *pids: int, status: int = 0) -> None:
        """Children end, and their signal comes."""
        self._dead += [(pid, status) for pid in pids]
        os.write(self.wakeup, b"x")

    def end(self, *pids: int, status: int = 0) -> None:
        """Children end, and the launcher takes a turn."""
        self.die(*pids, status=status)
        self.turn()

    @property
    def running(self) -> list[str]:
        """The tasks that are listed."""
        found: list[str] = self.ask(op="list")["running"]
        return found

    def _play_fork(self, do: Callable[[], None]) -> int:
        do()
        return 4710 + len(self.forked)

    def _waitpid(self, pid: int, options: int) -> tuple[int, int]:
        self.waits.append((pid, options))
        return self._dead.pop(0) if self._dead else (0, 0)

    def _set_wakeup(self, descriptor: int, *, warn_on_full_buffer: bool = False) -> None:
        assert not warn_on_full_buffer, "one byte is enough"
        self.wakeup = descriptor


class Client:
    """A client of a launcher. `turn`: has the launcher take one."""

    def __init__(self, path: Path, turn: Callable[[], object]) -> None:
        self._turn = turn
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(PATIENCE_S)
        self.socket.connect(str(path))
        turn()

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)
        self._turn()

    def close(self) -> None:
        self.socket.close()

    def messages(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.socket.recv(65536).splitlines()]
