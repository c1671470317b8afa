"""The mirror: the scheduler's copy of the state, kept by the events that the qmaster has committed.

Owns the copy and knows whether it is at the expected revision. Called by the actor.
"""

from __future__ import annotations

from daemons.schedd.view import View
from gridengine.state.apply import apply, load_state
from gridengine.state.events import decode_events
from gridengine.state.state import State, decode_snapshot
from gridengine.state.touched import Touched


class Mirror:
    """A view that follows the qmaster's state; `view` is None until the first snapshot."""

    def __init__(self) -> None:
        self.view: View | None = None

    def load(self, snapshot: bytes) -> None:
        """Start anew from a snapshot."""
        self.view = View(load_state(State(decode_snapshot(snapshot))))

    def advance(self, revision: int, batches: list[bytes]) -> bool:
        """Apply batches of events that begin at `revision`, each of them one revision further.

        False, and nothing applied: the mirror is at another revision and needs a snapshot.
        """
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
