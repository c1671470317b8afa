"""The mirror: the scheduler's copy of the state, updated by the events that the qmaster has committed.

Owns the copy and checks its revision. Called by the actor.
"""

from __future__ import annotations

from daemons.schedd.view import View
from gridengine.state.affected import Affected
from gridengine.state.apply import apply
from gridengine.state.events import decode_events
from gridengine.state.parts import Assembly


class Mirror:
    """A view that follows the qmaster's state; `view` is None until the first snapshot."""

    def __init__(self) -> None:
        self.view: View | None = None
        self._assembly: Assembly | None = None
        #: the id of the last snapshot that was begun
        self.snapshot = ""
        self._missing: set[int] = set()

    def add_parts(self, parts: list[bytes], snapshot: str, number: int, calls: int) -> None:
        """Add the parts of a snapshot (`gridengine.state.parts`) in call `number`, from 0 on, of `calls`.

        `snapshot`: its unique id. Revisions are not unique: a qmaster that was killed may reach a revision again with other
        events. A repeated call changes nothing. Raises LookupError for parts of a snapshot that has not begun.
        """
        if number == 0 and not (self._assembly is not None and self.snapshot == snapshot):
            self.view, self._assembly = None, Assembly(parts[0])
            self.snapshot, self._missing = snapshot, set(range(calls))
        if self._assembly is None or self.snapshot != snapshot:
            raise LookupError("there is no snapshot to which these parts belong")
        if number in self._missing:
            self._missing.discard(number)
            self._assembly.add(parts[1:] if number == 0 else parts)

    def load(self, parts: list[bytes]) -> None:
        """Restart from a whole snapshot."""
        self._assembly = None
        self.add_parts(parts, "whole", 0, 1)
        self._finish_snapshot()

    def _finish_snapshot(self) -> None:
        """The first events after a snapshot complete it; a snapshot with missing parts is discarded."""
        if self._assembly is not None:
            self.view = None if self._missing else View(self._assembly.whole())
            self._assembly = None

    def advance(self, revision: int, batches: list[bytes]) -> bool:
        """Apply batches of events that begin at `revision`; each batch is one revision.

        False, and nothing applied: the mirror is at another revision and needs a snapshot.
        """
        self._finish_snapshot()
        if self.view is None or self.view.state.revision != revision:
            return False
        state, affected = self.view.state, Affected()
        for batch in batches:
            for event in decode_events(batch):
                affected.note(state, event)
                apply(state, event)
            state.revision += 1
        self.view.observe(affected)
        return True
