"""The findings of `gridengine doctor`.

Called by `doctor` and `live_checks`.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Finding:
    """One result of a check.

    `fix`: the remedy, empty without a fault. `note`: an optional improvement, although the cell works.
    """

    what: str
    fix: str = ""
    note: bool = False

    @property
    def wrong(self) -> bool:
        """Whether the finding is a fault that must be fixed."""
        return bool(self.fix) and not self.note

    def __str__(self) -> str:
        if self.wrong:
            return f"WRONG  {self.what}\n       to fix it: {self.fix}"
        if self.note:
            return f"note   {self.what}\n       to change it: {self.fix}"
        return f"ok     {self.what}"
