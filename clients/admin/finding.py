"""What a check of `gridengine doctor` has seen.

Called by `doctor` and `live_checks`.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Finding:
    """What one check saw; `mend` says what to do, and is empty when all is well."""

    what: str
    mend: str = ""

    def __str__(self) -> str:
        return f"WRONG  {self.what}\n       to mend it: {self.mend}" if self.mend else f"ok     {self.what}"
