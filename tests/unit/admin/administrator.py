"""An administrator at a terminal, before a cell in this process."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from clients import gdi
from clients.admin.__main__ import main
from daemons.qmaster.queries.reading import READERS
from daemons.qmaster.serve.requests import forecasting
from gridengine.protocols.gdi.reading import decode_body
from gridengine.protocols.gdi.requests import REQUESTS, Caller
from tests.forecasts import ask_forecast, ask_thread
from tests.harness import MASTER, Cell


class Administrator:
    """Calls `gridengine VERB …` as root on the master host of a cell."""

    def __init__(
        self, cell: Cell, verb: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self.cell, self.verb = cell, verb
        self._capsys, self._monkeypatch = capsys, monkeypatch
        monkeypatch.setattr(gdi, "call", self._call)
        monkeypatch.setattr(gdi, "change", self._call)
        monkeypatch.setattr(forecasting, "ask_process", ask_thread)

    def _call(self, name: str, body: Any) -> gdi.Answer:
        if name == "shutdown":
            return gdi.Answer(1, [["error", "denied: no daemon of this cell runs"]], None)
        if name in REQUESTS:
            answer = self.cell.admin(name, **body)
        else:
            fields, caller = decode_body(name, msgspec.json.encode(body)), Caller("root", 0, "root", 0, MASTER)
            reader = ask_forecast if name == "forecast" else READERS[name]
            answer = reader(self.cell.master, fields, caller)
        data = msgspec.json.decode(msgspec.json.encode(answer))
        return gdi.Answer(data["status"], data["answers"], data["data"])

    def __call__(self, *arguments: object) -> tuple[int, str]:
        """Exit code and everything that was printed."""
        self._monkeypatch.setattr("sys.argv", ["gridengine", self.verb, *map(str, arguments)])
        self._capsys.readouterr()
        status = main()
        captured = self._capsys.readouterr()
        return status, captured.out + captured.err
