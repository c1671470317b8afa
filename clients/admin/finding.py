"""What a check of `gridengine doctor` has found.

Called by `doctor` and `live_checks`.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Finding:
    """What one check found.

    `mend` says what to do, and is empty when all is well. A `note` names what a site may want to change although the cell works.
    """

    what: str
    mend: str = ""
    note: bool = False

    @property
    def wrong(self) -> bool:
        """Whether the cell does not work as it should until somebody acts."""
        return bool(self.mend) and not self.note

    def __str__(self) -> str:
        if self.wrong:
            return f"WRONG  {self.what}\n       to mend it: {self.mend}"
        if self.note:
            return f"note   {self.what}\n       to change it: {self.mend}"
        return f"ok     {self.what}"
