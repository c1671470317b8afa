"""Where this installation lies: its programs and the default cell that it came with.

Two shapes exist: an installation by `make install` (PREFIX/venv, PREFIX/bin, PREFIX/share/gridengine) and a checkout
(CHECKOUT/.venv with the programs in its bin, CHECKOUT/cluster-config). Called by the other modules of this package.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from clients.admin.refusal import Refusal


@dataclass(frozen=True, slots=True)
class Installation:
    """Directories of the installation that the running program belongs to."""

    bin: Path
    cluster_config: Path

    def program(self, name: str) -> str:
        """Return the path of an installed program. Refusal: it is not there."""
        path = self.bin / name
        if not path.exists():
            raise Refusal(f"{path} is missing: install again (make install, or make setup in a checkout)")
        return str(path)


def find_installation() -> Installation:
    """Return the installation of this process. Refusal: the default configuration is nowhere."""
    environment = Path(sys.prefix)
    prefix = environment.parent
    candidates = [
        Installation(prefix / "bin", prefix / "share" / "gridengine" / "cluster-config"),
        Installation(environment / "bin", Path(__file__).resolve().parents[2] / "cluster-config"),
    ]
    for candidate in candidates:
        if candidate.cluster_config.is_dir():
            return candidate
    places = " nor in ".join(str(candidate.cluster_config) for candidate in candidates)
    raise Refusal(f"the default configuration is neither in {places}: install again (make install)")
