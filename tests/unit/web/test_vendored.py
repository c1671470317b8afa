"""Scripts and styles of others lie in the source as they were published, with their licences and nothing else beside them."""

from __future__ import annotations

import hashlib
import json
import tomllib
from pathlib import Path

import pytest

from tools.vendor import ROOT, SHELVES


@pytest.mark.parametrize("shelf", SHELVES)
def test_every_file_is_as_it_was_published(shelf: str) -> None:
    place = ROOT / shelf
    manifest = json.loads((place / "manifest.json").read_text())
    files = [path for path in place.iterdir() if path.name != "manifest.json"]
    hashes = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}
    assert hashes == {row["file"]: row["sha256"] for row in manifest}
    assert {(row["package"], row["version"], row["file"]) for row in manifest} == {
        (package.name, package.version, file) for package in SHELVES[shelf] for file in package.files.values()
    }


@pytest.mark.parametrize("shelf", SHELVES)
def test_every_package_brings_its_licence(shelf: str) -> None:
    for package in SHELVES[shelf]:
        assert any("LICENSE" in file for file in package.files)


def test_all_that_pages_need_is_installed() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["package-data"]["daemons.web"]
    web = ROOT / "daemons" / "web"
    installed = {path for pattern in settings for path in web.glob(pattern) if path.is_file()}
    assert {path for path in web.rglob("*") if _is_data(path)} == installed


def _is_data(path: Path) -> bool:
    return path.is_file() and path.suffix != ".py" and "__pycache__" not in path.parts
