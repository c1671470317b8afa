"""Manual states of queue instances: since when an instance is disabled or suspended, and by which user.

Owns the memory of these changes. The state has only the flags, so only changes that the mirror has seen have a time and a user.
The reason of a change is unknown. Source: QM-1.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from daemons.web.mirror import MirroredChange, StateMirror
from gridengine.kinds import kinds_affecting

_FLAGS = {"d": "disabled", "s": "suspended"}
_INSTANCE_KINDS = kinds_affecting("instances")


class ManualState(NamedTuple):
    """`state_code`: d or s; `time`: epoch s. `user`, `host`: origin of the change, "" for an unknown change before `time`."""

    state_code: str
    time: float
    user: str = ""
    host: str = ""


class ManualStates:
    """The memory of manual states; it restarts with each restart of the mirror."""

    def __init__(self, mirror: StateMirror) -> None:
        self._mirror = mirror
        self._known: dict[tuple[str, str], ManualState] = {}
        mirror.followers.append(self._note)
        self._reset()

    def of(self, instance: str) -> list[ManualState]:
        """The manual states of an instance: an entry for each of the state codes d and s."""
        return [self._known[instance, state_code] for state_code in _FLAGS if (instance, state_code) in self._known]

    def _note(self, change: MirroredChange) -> None:
        if change.whole:
            self._reset()
            return
        affected: Iterable[str] = change.affected.instances
        if change.affected.members or not change.affected.kinds.isdisjoint(_INSTANCE_KINDS):
            # instances were added, possibly disabled, or removed
            affected = {*self._mirror.state.instances, *(name for name, _ in self._known)}
        self._update(affected, change.time, change.user, change.host)

    def _reset(self) -> None:
        self._known.clear()
        self._update(self._mirror.state.instances, self._mirror.now, "", "")

    def _update(self, names: Iterable[str], time: float, user: str, host: str) -> None:
        instances = self._mirror.state.instances
        for name in names:
            instance = instances.get(name)
            for state_code, flag in _FLAGS.items():
                if instance is None or not getattr(instance, flag):
                    self._known.pop((name, state_code), None)
                elif (name, state_code) not in self._known:
                    self._known[name, state_code] = ManualState(state_code, time, user, host)
