"""Complex attributes: one object per line of the complex table, the rules between its columns, the built-in attributes.

Owns CX-1..15. Called through `gridengine.config.KINDS`; each change of the table calls `check_table` and `check_change`.
Source: complex(5), S3, S4; O for the built-in set and for the refused combinations.
"""

from collections.abc import Iterable, Mapping
from typing import Annotated, ClassVar, Self

from gridengine.config.attribute_types import AttributeType, TypedCheck, choice, given, object_name, typed
from gridengine.config.objects import ConfigObject
from gridengine.errors import ConfigError, InvalidValueError
from gridengine.syntax.lists import is_none
from gridengine.syntax.resource_map import PER_HOST, RSMAP, amount_text, parse_map
from gridengine.values.units import INFINITY, parse_bool, parse_double, parse_memory, parse_quantity, parse_time

NUMERIC_TYPES = frozenset(("INT", "DOUBLE", "TIME", "MEMORY", RSMAP))
STRING_TYPES = frozenset(("STRING", "CSTRING", "RESTRING", "HOST"))
#: types that a built-in attribute may be changed between (CX-14)
_INTERCHANGEABLE = frozenset(("STRING", "CSTRING", "RESTRING"))
_RELOPS = ("==", "!=", "<", "<=", ">", ">=", "EXCL")

BUILT_IN = frozenset(
    "arch calendar cpu display_win_gui h_core h_cpu h_data h_fsize h_rss h_rt h_stack h_vmem hostname load_avg "
    "load_long load_medium load_short m_core m_socket m_thread m_topology m_topology_inuse mem_free mem_total mem_used "
    "min_cpu_interval np_load_avg np_load_long np_load_medium np_load_short num_proc qname rerun s_core s_cpu s_data "
    "s_fsize s_rss s_rt s_stack s_vmem seq_no slots swap_free swap_rate swap_rsvd swap_total swap_used tmpdir "
    "virtual_free virtual_total virtual_used".split()
)


def _abbreviated(**values: str) -> AttributeType:
    """A value or its one-letter form."""

    def check(text: str) -> str:
        value = values.get(given(text).lower())
        if value is None:
            raise InvalidValueError(f'"{text}" is not one of {", ".join(values)}')
        return value

    return AttributeType(TypedCheck(check, "choice", *dict.fromkeys(values.values())))


@typed("number")
def _urgency(text: str) -> str:
    parse_double(given(text))
    return text


def _whole(text: str) -> float:
    value = parse_quantity(text)
    if value not in (INFINITY, -INFINITY) and not value.is_integer():
        raise InvalidValueError(f'"{text}" is not an integer')
    return value


def value_of(kind_of_value: str, text: str) -> float | str:
    """The value of a text by the type of its complex.

    A number for numeric types (TIME in s, MEMORY in bytes) and BOOL (1 or 0), else the text itself.
    INT and DOUBLE may be negative. The value of a resource map is its amount. Raises InvalidValueError. Source: CX-4.
    """
    if kind_of_value == "INT":
        return _whole(text)
    if kind_of_value == "DOUBLE":
        return parse_quantity(text)
    if kind_of_value == "TIME":
        return parse_time(text)
    if kind_of_value == "MEMORY":
        return parse_memory(text)
    if kind_of_value == "BOOL":
        return 1.0 if parse_bool(text) else 0.0
    if kind_of_value == RSMAP:
        parse_map(text)
        return float(amount_text(text))
    return text


class Complex(ConfigObject):
    """One complex attribute."""

    kind: ClassVar[str] = "complex"

    name: Annotated[str, AttributeType(object_name)]
    shortcut: Annotated[str, AttributeType(object_name)]
    type: Annotated[
        str,
        AttributeType(choice("INT", "STRING", "TIME", "MEMORY", "BOOL", "CSTRING", "HOST", "DOUBLE", "RESTRING", RSMAP)),
    ] = "INT"
    relop: Annotated[str, AttributeType(choice(*_RELOPS))] = "=="
    requestable: Annotated[str, _abbreviated(y="YES", yes="YES", n="NO", no="NO", f="FORCED", forced="FORCED")] = "YES"
    consumable: Annotated[
        str, _abbreviated(y="YES", yes="YES", n="NO", no="NO", j="JOB", job="JOB", h=PER_HOST, host=PER_HOST)
    ] = "NO"
    default: Annotated[str, AttributeType(given)] = "0"
    urgency: Annotated[str, AttributeType(_urgency)] = "0"

    @property
    def is_consumable(self) -> bool:
        """Whether its use is accounted: YES, JOB or HOST."""
        return self.consumable != "NO"

    @classmethod
    def template(cls, name: str = "template") -> Self:
        """A complex of type INT that is no consumable."""
        return cls.model_construct(name=name, shortcut=name)

    def _refuse(self, attribute: str, reason: str) -> ConfigError:
        return ConfigError(self.kind, self.name, attribute, reason)

    def check(self) -> None:
        """Refuse combinations that make no sense. Raises ConfigError. Source: CX-5..10, CX-13, X-5, X-7."""
        self._check_relop()
        self._check_consumable()
        self._check_default()

    def _check_relop(self) -> None:
        if self.relop == "EXCL":
            if self.type != "BOOL":
                raise self._refuse("relop", "EXCL is for the type BOOL only")
            if not self.is_consumable:
                raise self._refuse("relop", "EXCL is for consumables only")
        elif self.is_consumable and self.type in NUMERIC_TYPES and self.relop != "<=":
            raise self._refuse("relop", f"a consumable can only have <=, not {self.relop}")
        elif self.type in STRING_TYPES and self.relop not in ("==", "!="):
            raise self._refuse("relop", f"the type {self.type} can only have ==, not {self.relop}")
        elif self.type == "BOOL" and self.relop != "==":
            raise self._refuse("relop", f"the type BOOL can only have ==, or EXCL as a consumable, not {self.relop}")

    def _check_consumable(self) -> None:
        if self.type == RSMAP and not self.is_consumable:
            raise self._refuse("consumable", f"the type {RSMAP} is always consumed: YES, JOB or HOST")
        if self.consumable == PER_HOST and self.type != RSMAP:
            raise self._refuse("consumable", f"{PER_HOST} is for the type {RSMAP} only")
        if not self.is_consumable:
            return
        if self.type in STRING_TYPES:
            raise self._refuse("consumable", f"the type {self.type} cannot be consumed")
        if self.type == "BOOL" and self.relop != "EXCL":
            raise self._refuse("consumable", "a consumable of the type BOOL needs the relational operator EXCL")

    def _check_default(self) -> None:
        if self.type in STRING_TYPES:
            if not is_none(self.default):
                raise self._refuse("default", f"must be NONE for the type {self.type}, not {self.default}")
            return
        if self.type == RSMAP and "(" in self.default:
            raise self._refuse("default", f"must be an amount, not a list of units: {self.default}")
        try:
            value = value_of(self.type, "0" if is_none(self.default) else self.default)
        except InvalidValueError as fault:
            raise self._refuse("default", str(fault)) from None
        if not self.is_consumable:
            if value:
                raise self._refuse("default", f"must be 0 for what is not consumable, not {self.default}")
        elif self.requestable == "NO" and not value:
            raise self._refuse("default", "a consumable that cannot be requested needs a default other than 0")
        elif self.requestable == "FORCED" and value:
            raise self._refuse("default", "must be 0 for a consumable that must be requested")


def check_table(complexes: Iterable[Complex]) -> None:
    """Refuse a name or shortcut of two attributes. Raises ConfigError. Source: CX-2."""
    owner: dict[str, str] = {}
    for entry in complexes:
        for column, value in (("name", entry.name), ("shortcut", entry.shortcut)):
            if value in owner and not (column == "shortcut" and value == entry.name and owner[value] == entry.name):
                reason = f'"{value}" is already the name or shortcut of "{owner[value]}"'
                raise ConfigError("complex", entry.name, column, reason)
            owner[value] = entry.name


def check_change(old: Mapping[str, Complex], new: Mapping[str, Complex]) -> None:
    """Refuse to remove a built-in attribute or to change its type. Raises ConfigError. Source: CX-14.

    STRING, CSTRING and RESTRING may be changed into each other.
    """
    for name in sorted(BUILT_IN & old.keys()):
        if name not in new:
            raise ConfigError("complex", name, "", "a built-in attribute cannot be removed")
        types = {old[name].type, new[name].type}
        if len(types) > 1 and not types <= _INTERCHANGEABLE:
            raise ConfigError("complex", name, "type", "the type of a built-in attribute cannot be changed")
