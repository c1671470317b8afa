"""The mirror: the scheduler's copy of the state, kept by the events that the qmaster has committed.

Owns the copy and knows whether it is at the expected revision. Called by the actor.
"""

from __future__ import annotations

from daemons.schedd.view import View
from gridengine.state.apply import apply
from gridengine.state.events import decode_events
from gridengine.state.parts import Assembly
from gridengine.state.touched import Touched


class Mirror:
    """A view that follows the qmaster's state; `view` is None until the first snapshot."""

    def __init__(self) -> None:
        self.view: View | None = None
        self._assembly: Assembly | None = None

    def begin(self, first: bytes) -> None:
        """Start anew from a snapshot whose first part this is (`gridengine.state.parts`)."""
        self.view, self._assembly = None, Assembly(first)

    def add(self, parts: list[bytes]) -> None:
        """Take further parts of a snapshot that has begun. Raises LookupError when none has."""
        if self._assembly is None:
            raise LookupError("there is no snapshot to which these parts belong")
        self._assembly.add(parts)

    def load(self, parts: list[bytes]) -> None:
        """Start anew from a whole snapshot."""
        self.begin(parts[0])
        self.add(parts[1:])
        self._settle()

    def _settle(self) -> None:
        """With the first events behind a snapshot, that is whole."""
        if self._assembly is not None:
            self.view, self._assembly = View(self._assembly.whole()), None

    def advance(self, revision: int, batches: list[bytes]) -> bool:
        """Apply batches of events that begin at `revision`, each of them one revision further.

        False, and nothing applied: the mirror is at another revision and needs a snapshot.
        """
        self._settle()
        if self.view is None or self.view.state.revision != revision:
            return False
        state, touched = self.view.state, Touched()
        for batch in batches:
            for event in decode_events(batch):
                touched.note(state, event)
                apply(state, event)
            state.revision += 1
        self.view.observe(touched)
        return True
