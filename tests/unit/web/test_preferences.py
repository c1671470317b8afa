"""The preferences of a user: views, templates and density, private, bounded, and for the next start of the server."""

from __future__ import annotations

import asyncio
import stat
from pathlib import Path

import pytest
from msgspec import structs

from daemons.web.preferences import (
    MAX_ADDRESS,
    MAX_NAME,
    MAX_TEMPLATE,
    MAX_TEMPLATES,
    MAX_VIEWS,
    PreferenceError,
    PreferenceStore,
    SavedView,
    UserPreferences,
)
from tests.unit.web.followed import ALICE, BOB

NEW = UserPreferences("alice")


def test_preferences_outlive_the_server_and_are_private(tmp_path: Path) -> None:
    store = PreferenceStore(tmp_path / "preferences")
    changed = NEW.with_view(SavedView("mine", "/jobs?owner=alice")).with_template("nightly", {"script": "sleep 1"})
    asyncio.run(store.keep(ALICE, structs.replace(changed, is_compact=True)))
    later = PreferenceStore(tmp_path / "preferences")
    assert later.of(ALICE) == structs.replace(changed, is_compact=True)
    assert later.of(BOB) == UserPreferences("bob")
    (file,) = (tmp_path / "preferences").iterdir()
    modes = [stat.S_IMODE(path.stat().st_mode) for path in (file, file.parent)]
    assert modes == [0o600, 0o700]


def test_a_user_with_the_number_of_another_user_finds_nothing(tmp_path: Path) -> None:
    store = PreferenceStore(tmp_path)
    asyncio.run(store.keep(ALICE, NEW.with_template("secret", {"script": "password"})))
    newcomer = structs.replace(BOB, uid=ALICE.uid)
    assert store.of(newcomer).templates == () and PreferenceStore(tmp_path).of(newcomer).templates == ()


def test_a_damaged_file_is_an_empty_one(tmp_path: Path) -> None:
    (tmp_path / f"{ALICE.uid}.json").write_text('{"user": 7')
    assert PreferenceStore(tmp_path).of(ALICE) == NEW


def test_a_change_that_cannot_be_written_is_not_kept(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    store = PreferenceStore(tmp_path / "file")
    with pytest.raises(PreferenceError, match="cannot save it"):
        asyncio.run(store.keep(ALICE, structs.replace(NEW, is_compact=True)))
    assert not store.of(ALICE).is_compact


def test_views_and_templates_have_limits() -> None:
    full = NEW
    for number in range(MAX_VIEWS):
        full = full.with_view(SavedView(f"v{number}", "/jobs"))
    for number in range(MAX_TEMPLATES):
        full = full.with_template(f"t{number}", {"command": "true"})
    with pytest.raises(PreferenceError, match="delete one first"):
        full.with_view(SavedView("more", "/jobs"))
    with pytest.raises(PreferenceError, match="delete one first"):
        full.with_template("more", {})
    replaced = full.with_view(SavedView("v1", "/jobs?owner=bob")).with_template("t1", {"command": "false"})
    assert (len(replaced.views), len(replaced.templates)) == (MAX_VIEWS, MAX_TEMPLATES)
    assert replaced.template("t1") and not full.without_template("t1").template("t1")


@pytest.mark.parametrize("name", ["", "x" * (MAX_NAME + 1), "a\nb", "\x1b[2J"])
def test_a_name_is_a_short_line(name: str) -> None:
    with pytest.raises(PreferenceError, match="printable"):
        NEW.with_view(SavedView(name, "/jobs"))
    with pytest.raises(PreferenceError, match="printable"):
        NEW.with_template(name, {})


def test_long_addresses_and_templates_are_refused() -> None:
    with pytest.raises(PreferenceError, match="address"):
        NEW.with_view(SavedView("long", "/jobs?" + "x" * MAX_ADDRESS))
    with pytest.raises(PreferenceError, match="at most"):
        NEW.with_template("long", {"script": "x" * MAX_TEMPLATE})
