"""Templates of the site: scripts that all users may read."""

from __future__ import annotations

import os
from pathlib import Path

from daemons.web.site_templates import DIRECTORY, MAX_BYTES, site_templates


def test_scripts_that_all_may_read_are_offered(tmp_path: Path) -> None:
    (tmp_path / DIRECTORY).mkdir()
    texts = {"mpi": "#!/bin/sh\n#$ -pe mpi 8\n# An MPI program\nmpirun x\n", "plain": "sleep 1\n", "long": "x" * (MAX_BYTES + 1)}
    texts |= {"private": "# secret\n", ".hidden": "# hidden\n"}
    for name, text in texts.items():
        (tmp_path / DIRECTORY / name).write_text(text)
        (tmp_path / DIRECTORY / name).chmod(0o600 if name == "private" else 0o644)
    (tmp_path / DIRECTORY / "binary").write_bytes(b"\xff\xfe")
    (tmp_path / "elsewhere").write_text("# elsewhere\n")
    (tmp_path / DIRECTORY / "linked").symlink_to(tmp_path / "elsewhere")
    (tmp_path / DIRECTORY / "folder").mkdir()
    os.mkfifo(tmp_path / DIRECTORY / "pipe")
    found = [(each.name, each.title) for each in site_templates(tmp_path)]
    assert found == [("mpi", "An MPI program"), ("plain", "plain")]
    assert site_templates(tmp_path)[0].script == texts["mpi"]


def test_a_site_without_templates_has_none(tmp_path: Path) -> None:
    assert site_templates(tmp_path) == []
