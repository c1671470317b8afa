"""What the commands import on their common path: next to nothing, since that is most of what they cost."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
HEAVY = (
    "re json socket selectors enum typing dataclasses argparse http collections functools pathlib subprocess base64 logging "
    "tempfile shutil signal msgspec pydantic ray asyncio inspect datetime"
).split()


@pytest.mark.parametrize("name", "qsub qrsh qlogin qsh qstat qdel qmod qhold qrls qhost qselect qalter qacct".split())
def test_a_command_imports_nothing_heavy(name: str) -> None:
    code = (
        f"import sys; sys.path.append({str(ROOT)!r}); import clients.{name}; "
        "import clients.render.jobs, clients.render.instances, clients.render.hosts; "
        f"print(*sorted(set({HEAVY!r}) & set(sys.modules)))"
    )
    outcome = subprocess.run([sys.executable, "-IS", "-c", code], capture_output=True, text=True, check=True)
    assert outcome.stdout == "\n"
