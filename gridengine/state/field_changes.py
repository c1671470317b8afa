"""Field changes: a partial update of a struct, with the types of its fields; other fields are unset.

Owns the generation of such a type from the struct, so the fields are listed once. Its JSON contains the set fields, under their
names. Called by the modules of the structs. Reason: docs/adr/0120.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Union, cast

import msgspec
from msgspec import UNSET, Struct, UnsetType


class FieldChanges(Struct, frozen=True):
    """Base of these types."""

    if TYPE_CHECKING:

        def __init__(self, **given: Any) -> None: ...

    def given(self) -> dict[str, Any]:
        """The fields that change, with their new values."""
        found = ((name, getattr(self, name)) for name in self.__struct_fields__)
        return {name: value for name, value in found if value is not UNSET}


def field_changes(name: str, kept: type[Struct], names: Iterable[str]) -> type[FieldChanges]:
    """Make the type of changes of these fields of a struct. Other fields are refused when JSON is read."""
    types = {field.name: field.type for field in msgspec.structs.fields(kept)}
    fields = [(each, Union[types[each], UnsetType], UNSET) for each in names]  # noqa: UP007 - annotated types know no bar
    made = msgspec.defstruct(
        name,
        fields,
        bases=(FieldChanges,),
        module=kept.__module__,
        frozen=True,
        kw_only=True,
        forbid_unknown_fields=True,
    )
    return cast("type[FieldChanges]", made)
