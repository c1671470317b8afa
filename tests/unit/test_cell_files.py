"""Files of `key value` lines in a cell's directory."""

from __future__ import annotations

import pytest

from gridengine.cell_files import parse_settings
from gridengine.errors import InvalidValueError


@pytest.mark.statement("GC-5")
def test_settings_are_read_with_comments_and_blanks() -> None:
    text = "# made by hand\n\n  admin_user   ge \nrun_dir\t/run/ge x\n#run_dir /other\n"
    assert parse_settings(text, "bootstrap", ("run_dir",)) == {"admin_user": "ge", "run_dir": "/run/ge x"}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a 1\nb\n", "/c/bootstrap, line 2: b has no value: a line is NAME VALUE"),
        ("a 1\n", "/c/bootstrap does not set run_dir, x"),
    ],
)
def test_a_wrong_file_is_refused_with_its_place(text: str, reason: str) -> None:
    with pytest.raises(InvalidValueError) as caught:
        parse_settings(text, "/c/bootstrap", ("run_dir", "a", "x"))
    assert str(caught.value) == reason
