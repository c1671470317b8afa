"""All packages of this checkout, built once, and minimal Debian roots to install them in."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests import needs
from tests.integration import debian
from tests.integration.cells import PYTHON
from tests.integration.packages.builds import BUILDERS, Root, checkout, debian_root, must


@pytest.fixture(scope="session")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    debian.need_packages(*BUILDERS)
    return checkout(tmp_path_factory.mktemp("source"))


@pytest.fixture(scope="session")
def signing(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with a key pair: `secret`, without a password, and `public`."""
    debian.need_packages(*BUILDERS)
    place = tmp_path_factory.mktemp("signing")
    must(["minisign", "-G", "-W", "-p", str(place / "public"), "-s", str(place / "secret")])
    return place


@pytest.fixture(scope="session")
def release(source: Path, signing: Path) -> Path:
    """The directory of `make release`; GRIDENGINE_TEST_RELEASE names one whose packages are there, to repeat tests."""
    if there := os.environ.get("GRIDENGINE_TEST_RELEASE"):
        return Path(there)
    must(["make", "release", f"KEY={signing / 'secret'}", f"PYTHON={PYTHON}"], cwd=source)
    return source / "build" / "release"


@pytest.fixture
def new_root(tmp_path: Path) -> Callable[[str], Root]:
    """Make the minimal root of a Debian release, with procps and without Python."""
    needs.need_mounts()
    debian.need_packages(*BUILDERS)

    return lambda suite: debian_root(tmp_path / suite, suite)
