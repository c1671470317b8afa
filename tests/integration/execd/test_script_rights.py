"""Readers of the script of a job on its host: real users and files."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from daemons.execd.job_scripts import JobScripts, Reader
from tests import needs

ALICE, BOB = Reader(54321, 54300), Reader(54322, 54300)
"""Users of one primary group; the kernel does not require accounts with these numbers."""


def reads(path: Path, user: Reader) -> bool:
    command = ["/bin/cat", str(path)]
    return not subprocess.run(command, user=user.uid, group=user.gid, extra_groups=[], capture_output=True).returncode


@needs.root
@pytest.mark.statement("QC-21")
def test_a_script_is_readable_for_its_owner_and_not_for_the_group(open_directory: Path) -> None:
    scripts = JobScripts(open_directory)
    scripts.write(12, b"true\n", ALICE)
    path = open_directory / "12"
    assert reads(path, ALICE)
    assert not reads(path, BOB)
    assert not os.stat(path).st_uid and not os.stat(path).st_mode & 0o022, "and nobody but root may write it"
    assert scripts.has(12, ALICE)
    os.removexattr(path, "system.posix_acl_access")
    assert not scripts.has(12, ALICE), "what was touched is not trusted"
