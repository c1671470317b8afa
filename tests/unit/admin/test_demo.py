"""The steps of `gridengine demo`, in order, with pages and without; an integration test runs it with them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from clients.admin import demo
from clients.admin.installation import Installation
from clients.admin.progress import Progress

HOSTS = [f"start {host}" for host in demo.HOSTS]
JOBS = ["submit", "show"]


@pytest.fixture
def done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The steps of a demo whose daemons and jobs only note the calls; its directory is removed at the end."""
    noted: list[str] = []

    def note(step: str) -> Any:
        return lambda *_, **__: noted.append(step)

    monkeypatch.setattr(demo, "create_cell", note("create"))
    monkeypatch.setattr(demo, "read_cell", lambda _files: object())
    monkeypatch.setattr(demo, "qmaster_of", lambda _cell: "sge_qmaster")
    monkeypatch.setattr(demo, "execd_of", lambda _cell, host: host)
    monkeypatch.setattr(demo, "start", lambda daemon, *_: noted.append(f"start {daemon}"))
    monkeypatch.setattr(demo, "daemons_of_this_machine", lambda _cell: [])
    monkeypatch.setattr(demo, "stop", note("stop"))
    monkeypatch.setattr(demo, "end_processes_of", note("end"))
    monkeypatch.setattr(demo.signal, "signal", lambda *_: None)
    monkeypatch.setattr(demo.tempfile, "mkdtemp", lambda **_: str(tmp_path / "demo"))
    (tmp_path / "demo").mkdir()
    steps = {"_serve_pages": "pages", "_submit_jobs": "submit", "_show_jobs": "show", "_run_until_interrupted": "stay"}
    for name, step in steps.items():
        monkeypatch.setattr(demo.Demo, name, note(step))
    monkeypatch.setattr(demo.Demo, "_hosts_that_report", lambda _: set(demo.HOSTS))
    return noted


@pytest.mark.parametrize(
    ("pages", "shown"), [(False, [*JOBS]), (True, ["pages", *JOBS, "stay"])], ids=["by itself", "with pages"]
)
def test_the_demo_runs_jobs_and_waits_only_with_pages(done: list[str], tmp_path: Path, pages: bool, shown: list[str]) -> None:
    installation = Installation.__new__(Installation)
    demo.run_demo(installation, Progress(steps=8), pages)
    assert done == ["create", "start sge_qmaster", *HOSTS, *shown, "stop", "end"]
    assert not (tmp_path / "demo").exists()
