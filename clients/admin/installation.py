"""The directories of this installation: its programs and its default cell configuration.

Three shapes exist: an installation by `make install` (PREFIX/releases; PREFIX/bin links to the release in use), a checkout
(CHECKOUT/.venv with the programs in its bin, CHECKOUT/cluster-config), and an environment with a wheel installed by pip (its bin
and share/gridengine). Called by the other modules of this package.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from clients.admin.errors import AdminError
from clients.admin.releases import FACTS, Release, Releases


@dataclass(frozen=True, slots=True)
class Installation:
    """Directories of the installation that the running program belongs to."""

    bin: Path
    cluster_config: Path
    prefix: Path | None = None

    @property
    def man(self) -> Path:
        """The directory of the manual pages, for MANPATH of the cell's settings."""
        return (self.prefix / "current" if self.prefix else self.bin.parent) / "share" / "man"

    def releases(self) -> Releases:
        """The installed releases. AdminError: this is a checkout."""
        if self.prefix is None:
            raise AdminError("there are no releases in a checkout, or in an installation by pip (make install)")
        return Releases(self.prefix)

    def program(self, name: str) -> str:
        """Return the path of an installed program. AdminError: the program is missing."""
        path = self.bin / name
        if not path.exists():
            raise AdminError(f"{path} is missing: install again (make install, or make setup in a checkout)")
        return str(path)


def own_release() -> Release | None:
    """The release of the running program; None in a checkout, and in an installation by pip."""
    directory = Path(__file__).resolve().parents[3]
    try:
        return Releases(directory.parents[1]).read(directory.name) if (directory / FACTS).exists() else None
    except (AdminError, OSError):
        return None


def find_installation() -> Installation:
    """Return the installation of this process. AdminError: the default configuration is missing."""
    top = Path(__file__).resolve().parents[2]
    release = top.parent
    if (release / FACTS).exists():
        # programs by their stable paths: a start uses the release that is current at that time
        found = Installation(release.parents[1] / "bin", release / "share" / "gridengine" / "cluster-config", release.parents[1])
    elif (top / "cluster-config").is_dir():
        found = Installation(Path(sys.prefix) / "bin", top / "cluster-config")
    else:
        found = Installation(Path(sys.prefix) / "bin", Path(sys.prefix) / "share" / "gridengine" / "cluster-config")
    if not found.cluster_config.is_dir():
        raise AdminError(f"the default configuration is not in {found.cluster_config}: install again (make install)")
    return found
