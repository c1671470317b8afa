"""Where this installation lies: its programs and the default cell that it came with.

Three shapes exist: an installation by `make install` (PREFIX/releases, of which PREFIX/bin leads to the one in use), a checkout
(CHECKOUT/.venv with the programs in its bin, CHECKOUT/cluster-config), and an environment into which pip has put a wheel (its bin
and share/gridengine). Called by the other modules of this package.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from clients.admin.refusal import Refusal
from clients.admin.releases import FACTS, Release, Releases


@dataclass(frozen=True, slots=True)
class Installation:
    """Directories of the installation that the running program belongs to."""

    bin: Path
    cluster_config: Path
    prefix: Path | None = None

    @property
    def man(self) -> Path:
        """The pages of the manual, which the shells of a cell find."""
        return (self.prefix / "current" if self.prefix else self.bin.parent) / "share" / "man"

    def releases(self) -> Releases:
        """The releases that stand beside each other here. Refusal: this is a checkout."""
        if self.prefix is None:
            raise Refusal("there are no releases in a checkout, nor where pip has installed (make install)")
        return Releases(self.prefix)

    def program(self, name: str) -> str:
        """Return the path of an installed program. Refusal: it is not there."""
        path = self.bin / name
        if not path.exists():
            raise Refusal(f"{path} is missing: install again (make install, or make setup in a checkout)")
        return str(path)


def own_release() -> Release | None:
    """The release that the running program is of; None in a checkout, and where pip has installed."""
    place = Path(__file__).resolve().parents[3]
    try:
        return Releases(place.parents[1]).read(place.name) if (place / FACTS).exists() else None
    except (Refusal, OSError):
        return None


def find_installation() -> Installation:
    """Return the installation of this process. Refusal: the default configuration is nowhere."""
    top = Path(__file__).resolve().parents[2]
    release = top.parent
    if (release / FACTS).exists():
        # programs by the names that stay as they are: what is started by them is of the release that is in use then
        found = Installation(release.parents[1] / "bin", release / "share" / "gridengine" / "cluster-config", release.parents[1])
    elif (top / "cluster-config").is_dir():
        found = Installation(Path(sys.prefix) / "bin", top / "cluster-config")
    else:
        found = Installation(Path(sys.prefix) / "bin", Path(sys.prefix) / "share" / "gridengine" / "cluster-config")
    if not found.cluster_config.is_dir():
        raise Refusal(f"the default configuration is not in {found.cluster_config}: install again (make install)")
    return found
