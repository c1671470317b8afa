"""Proposal: some changes of configuration objects, and the resulting configuration.

Owns the view that checks look at, so that the same code checks one object and a whole cell, and the order of the events. Made
by the handlers of configuration requests; `references` decides whether it may be carried out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gridengine.config import KINDS
from gridengine.config.objects import ConfigObject
from gridengine.kinds import KIND
from gridengine.state.events import AnyEvent
from gridengine.state.groups import HostGroups
from gridengine.state.machines.configuration import ObjectRemoved, ObjectSet
from gridengine.state.state import State
from gridengine.syntax.lists import split_names

Attributes = dict[str, str]
Reference = tuple[str, str]
"""(kind, name)"""


class Proposal:
    """Changes over a state. `changed`: attributes by (kind, name), None for a removed object."""

    def __init__(self, state: State) -> None:
        self.state = state
        self.changed: dict[Reference, Attributes | None] = {}
        self._changed_of: dict[str, dict[str, Attributes | None]] = {}  # the same by kind
        self._models: dict[Reference, ConfigObject] = {}

    def set(self, kind: str, name: str, model: ConfigObject) -> None:
        """Add or replace an object."""
        self._change(kind, name, model.attributes())
        self._models[kind, name] = model

    def set_attributes(self, kind: str, name: str, attributes: Mapping[str, str]) -> None:
        """Add or replace an object by its texts, which are checked. Raises ConfigError."""
        self.set(kind, name, KINDS[kind].from_attributes(attributes, name=name))

    def remove(self, kind: str, name: str) -> None:
        """Remove an object; an exec host with the properties of its units, which are nothing without the host."""
        self._change(kind, name, None)
        if kind == "exec_host" and self.has("host_units", name):
            self._change("host_units", name, None)

    def _change(self, kind: str, name: str, attributes: Attributes | None) -> None:
        self.changed[kind, name] = self._changed_of.setdefault(kind, {})[name] = attributes

    def get(self, kind: str, name: str) -> Attributes | None:
        """The proposed attributes of an object, None if there would be no such object."""
        if (kind, name) in self.changed:
            return self.changed[kind, name]
        return self.state.kind(kind).get(name)

    def model(self, kind: str, name: str) -> ConfigObject:
        """The proposed attributes as an object of its model; the object must exist."""
        key = (kind, name)
        if key not in self._models or self._models[key].attributes() != self.get(kind, name):
            self._models[key] = KINDS[kind].from_attributes(self.get(kind, name) or {}, name=name)
        return self._models[key]

    def has(self, kind: str, name: str) -> bool:
        if (kind, name) in self.changed:
            return self.changed[kind, name] is not None
        return self.state.has(kind, name)

    def kind(self, kind: str) -> dict[str, Attributes]:
        """All proposed objects of a kind."""
        objects = self.state.kind(kind)
        own = self._changed_of.get(kind)
        if not own:
            return objects
        merged: dict[str, Attributes | None] = {**objects, **own}
        return {name: text for name, text in merged.items() if text is not None}

    def host_groups(self) -> HostGroups:
        """The proposed host groups, with the hosts that match their rules now."""
        if not any(kind == "host_group" for kind, _ in self.changed):
            return self.state.groups
        rules = self.state.rule_members
        members = self.kind("host_group").items()
        return HostGroups({name: (*split_names(text["hostlist"]), *rules.get(name, ())) for name, text in members})

    def sets(self) -> Iterator[tuple[str, str, Attributes]]:
        """(kind, name, attributes) of each added or changed object."""
        for (kind, name), attributes in self.changed.items():
            if attributes is not None:
                yield kind, name, attributes

    def removals(self) -> Iterator[Reference]:
        """(kind, name) of each removed object."""
        return (key for key, attributes in self.changed.items() if attributes is None)

    def events(self) -> list[AnyEvent]:
        """The events in the order of references: an object is added after the objects that it names, and removed before them.
        Changes without effect are left out."""
        rank = {kind: number for number, kind in enumerate(KIND)}
        sets = [
            (rank[kind], kind, name, attributes)
            for kind, name, attributes in self.sets()
            if self.state.kind(kind).get(name) != attributes
        ]
        sets.sort(key=lambda change: change[0])
        gone = [(rank[kind], kind, name) for kind, name in self.removals() if self.state.has(kind, name)]
        gone.sort(key=lambda change: -change[0])
        left = len(sets) + len(gone)
        events: list[AnyEvent] = []
        for _, kind, name, attributes in sets:
            left -= 1
            events.append(ObjectSet(kind, name, attributes, more=left > 0))
        for _, kind, name in gone:
            left -= 1
            events.append(ObjectRemoved(kind, name, more=left > 0))
        return events
