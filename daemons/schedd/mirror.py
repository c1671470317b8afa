"""The mirror: the scheduler's copy of the state, kept by the events that the qmaster has committed.

Owns the copy and knows whether it is at the expected revision. Called by the actor.
"""

from __future__ import annotations

from daemons.schedd.view import View
from gridengine.state.apply import apply
from gridengine.state.events import decode_events
from gridengine.state.parts import Assembly
from gridengine.state.affected import Affected


class Mirror:
    """A view that follows the qmaster's state; `view` is None until the first snapshot."""

    def __init__(self) -> None:
        self.view: View | None = None
        self._assembly: Assembly | None = None
        #: the name of the one that it was begun from last
        self.snapshot = ""
        self._missing: set[int] = set()

    def add_parts(self, parts: list[bytes], snapshot: str, number: int, calls: int) -> None:
        """Parts of a snapshot (`gridengine.state.parts`): those of call `number` of so many, beginning with 0.

        `snapshot`: which one; no two have the same name, whatever their revisions are: a qmaster that was killed may come to a
        revision again by another way. A call that comes twice changes nothing. Raises LookupError for one of a snapshot that
        has not begun.
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
        """Start anew from a whole snapshot."""
        self._assembly = None
        self.add_parts(parts, "whole", 0, 1)
        self._finish_snapshot()

    def _finish_snapshot(self) -> None:
        """With the first events behind a snapshot, that is whole; one of which parts are missing is none."""
        if self._assembly is not None:
            self.view = None if self._missing else View(self._assembly.whole())
            self._assembly = None

    def advance(self, revision: int, batches: list[bytes]) -> bool:
        """Apply batches of events that begin at `revision`, each of them one revision further.

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
