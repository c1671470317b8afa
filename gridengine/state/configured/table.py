"""A table of the typed objects of one kind.

Owns the cache of parsed objects: an object is parsed at its first use, and again only after a change. Part of
`gridengine.state.state.State`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

Attributes = dict[str, str]
T = TypeVar("T")


class Table(Generic[T]):
    """The objects of a kind by name. `objects`: kind -> name -> texts, owned by the state; `read`: the parser of an object."""

    __slots__ = ("kind", "_objects", "_read", "_made")

    def __init__(self, objects: dict[str, dict[str, Attributes]], kind: str, read: Callable[[str, Attributes], T]) -> None:
        self.kind = kind
        self._objects = objects
        self._read = read
        self._made: dict[str, T] = {}

    def get(self, name: str) -> T | None:
        """The object, None if there is none of this name."""
        found = self._made.get(name)
        if found is None and (text := self._objects.get(self.kind, {}).get(name)) is not None:
            found = self._made[name] = self._read(name, text)
        return found

    def __getitem__(self, name: str) -> T:
        """The object. Raises KeyError."""
        found = self.get(name)
        if found is None:
            raise KeyError(name)
        return found

    def __contains__(self, name: str) -> bool:
        return name in self._objects.get(self.kind, {})

    def __iter__(self) -> Iterator[str]:
        """The names, in the order of creation."""
        return iter(self._objects.get(self.kind, {}))

    def forget(self, name: str) -> None:
        """Drop the parsed object, since it has changed."""
        self._made.pop(name, None)

    def branch(self, objects: dict[str, dict[str, Attributes]]) -> Table[T]:
        """The table of a branch of the state; parsed objects are shared."""
        made = Table(objects, self.kind, self._read)
        made._made = dict(self._made)
        return made
