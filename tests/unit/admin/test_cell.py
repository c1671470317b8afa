"""Reading a cell: messages about missing or wrong values name the file."""

from __future__ import annotations

from pathlib import Path

import pytest

from clients.admin.cell import BOOTSTRAP_KEYS, CellFiles, cell_of_environment, parse_bootstrap, read_cell
from clients.admin.errors import AdminError

WHOLE = "".join(f"{key} /1\n" if key.endswith("_dir") else f"{key} 1\n" for key in BOOTSTRAP_KEYS)


@pytest.mark.statement("GC-5")
def test_comments_and_unknown_keys_are_no_faults():
    settings = parse_bootstrap("# made by hand\n\n" + WHOLE + "binary_path  /opt/ge/bin\n", Path("bootstrap"))
    assert settings["binary_path"] == "/opt/ge/bin"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (WHOLE + "admin_user\n", f"line {len(BOOTSTRAP_KEYS) + 1}: admin_user has no value"),
        (WHOLE.replace("run_dir /1\n", ""), "does not set run_dir"),
    ],
)
def test_a_wrong_bootstrap_file_is_refused(text, reason):
    with pytest.raises(AdminError, match=reason):
        parse_bootstrap(text, Path("bootstrap"))


def test_a_missing_root_and_a_missing_cell_are_distinguished(tmp_path):
    with pytest.raises(AdminError, match="SGE_ROOT is not set"):
        cell_of_environment(None, "default")
    with pytest.raises(AdminError, match="no cell here"):
        read_cell(CellFiles(tmp_path, "default"))


def test_an_empty_act_qmaster_is_refused(tmp_path):
    files = CellFiles(tmp_path, "c")
    files.common.mkdir(parents=True)
    files.bootstrap.write_text(WHOLE)
    files.act_qmaster.write_text("\n")
    with pytest.raises(AdminError, match="must name the master host"):
        read_cell(files)
