"""Since when queue instances are disabled or suspended, and who did it.

Owns the memory of that. The state has the flags alone, so what is known is what the mirror has seen: of an instance that was put
aside before, only that it was. Nothing says why. Source: QM-1.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from daemons.web.mirror import MirroredChange, StateMirror
from gridengine.kinds import affecting

_FLAGS = {"d": "disabled", "s": "suspended"}
_MAKING = affecting("instances")


class PutAside(NamedTuple):
    """`letter`: d or s; `time`: epoch s. `user`, `host`: who did it, "" if it was before `time` and nobody knows."""

    letter: str
    time: float
    user: str = ""
    host: str = ""


class Drains:
    """The memory; it begins anew whenever the mirror does."""

    def __init__(self, mirror: StateMirror) -> None:
        self._mirror = mirror
        self._known: dict[tuple[str, str], PutAside] = {}
        mirror.followers.append(self._note)
        self._begin()

    def of(self, instance: str) -> list[PutAside]:
        """What is known of an instance, an entry for each of its letters d and s."""
        return [self._known[instance, letter] for letter in _FLAGS if (instance, letter) in self._known]

    def _note(self, change: MirroredChange) -> None:
        if change.whole:
            self._begin()
            return
        affected: Iterable[str] = change.affected.instances
        if change.affected.members or not change.affected.kinds.isdisjoint(_MAKING):
            # instances came, disabled from the beginning, or went
            affected = {*self._mirror.state.instances, *(name for name, _ in self._known)}
        self._look(affected, change.time, change.user, change.host)

    def _begin(self) -> None:
        self._known.clear()
        self._look(self._mirror.state.instances, self._mirror.now, "", "")

    def _look(self, names: Iterable[str], time: float, user: str, host: str) -> None:
        instances = self._mirror.state.instances
        for name in names:
            instance = instances.get(name)
            for letter, flag in _FLAGS.items():
                if instance is None or not getattr(instance, flag):
                    self._known.pop((name, letter), None)
                elif (name, letter) not in self._known:
                    self._known[name, letter] = PutAside(letter, time, user, host)
