"""Decisions are pure: their modules load neither the database nor a library of sockets, processes or pages."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
FOLDERS_OF_QMASTER = ("decide", "rules", "notifications")
FOLDERS = ("gridengine/state", "gridengine/placement", *(f"daemons/qmaster/{each}" for each in FOLDERS_OF_QMASTER))
CORE = ("admit", "decision", "effects", "permissions", "selection", "transaction")
IMPURE = "apsw sqlite3 aiohttp ray psutil asyncio typer".split()
"""Libraries that read or write files, sockets and processes."""


def test_modules_of_decision_load_no_library_of_input_and_output() -> None:
    files = [file for folder in FOLDERS for file in sorted((ROOT / folder).rglob("*.py"))]
    names = [".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__") for file in files]
    names += [f"daemons.qmaster.{name}" for name in CORE]
    assert len(names) > 100
    code = f"import sys, {', '.join(names)}; print(*sorted(set({IMPURE!r}) & set(sys.modules)))"
    outcome = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert outcome.stdout == "\n"
