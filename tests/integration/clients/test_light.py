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


@pytest.mark.statement("SO-39")
def test_the_locale_of_the_interpreter_is_not_that_of_the_job() -> None:
    """Python sets LC_CTYPE for itself in the C locale; -V takes what the caller set."""
    code = "import sys; sys.path.append('.')\nfrom clients.program import callers_environment as e\nprint(e().get('LC_CTYPE'))"
    for given, kept in ({}, "None"), ({"LC_CTYPE": ""}, ""), ({"LC_CTYPE": "C.UTF-8"}, "C.UTF-8"):
        run = subprocess.run([sys.executable, "-ISc", code], env=given, capture_output=True, text=True, check=True)
        assert run.stdout == f"{kept}\n"
