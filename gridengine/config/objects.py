"""Common behaviour of all configuration objects: reading, printing, references.

Owns `ConfigObject`, the pydantic base of the models in this package. Called by them and through `KINDS`.
Every field holds the canonical text of an attribute; field order is print order. The system stores and prints
`attributes()`; an object has no state beyond this dictionary.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, ValidationError

from gridengine.config.attribute_types import AttributeType, Reference
from gridengine.errors import ConfigError
from gridengine.syntax.object_file import Entry


class ConfigObject(BaseModel):
    """One configuration object. Subclasses name their kind, their key attribute and old spellings of attributes."""

    # defer_build: a program that reads a few kinds of objects does not build the validators of all kinds
    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=False, defer_build=True)

    kind: ClassVar[str]
    key: ClassVar[str] = "name"
    #: spellings of other versions, accepted with a warning (X-1)
    old_names: ClassVar[Mapping[str, str]] = {}
    #: attributes that a file may lack; if the default is "", the attribute is printed only when it is set
    optional: ClassVar[frozenset[str]] = frozenset()

    @property
    def object_name(self) -> str:
        """The name under which the object is stored."""
        return str(getattr(self, self.key))

    @classmethod
    def attribute_types(cls) -> dict[str, AttributeType]:
        """The type of each attribute, in print order."""
        return {
            name: next(item for item in field.metadata if isinstance(item, AttributeType))
            for name, field in cls.model_fields.items()
        }

    @classmethod
    def parse(
        cls, entries: Sequence[Entry], *, complete: bool = True, name: str = "", warnings: list[str] | None = None
    ) -> Self:
        """The object that these lines describe.

        complete: every attribute must be given; otherwise a missing attribute has the template's value. name: of objects
        whose file does not contain it. warnings: gets a line for each old spelling. Raises ConfigError.
        """
        values, lines = cls._collect(entries, name, warnings)
        if complete:
            for attribute in cls.model_fields:
                if attribute not in values and attribute not in cls.optional:
                    raise ConfigError(cls.kind, cls._name_of(values, name), attribute, "the attribute is missing")
        return cls._build(values, lines, name)

    @classmethod
    def from_attributes(cls, attributes: Mapping[str, str], *, name: str = "") -> Self:
        """The object whose `attributes()` these are. Raises ConfigError."""
        return cls._of_attributes(tuple(attributes.items()), name)

    @classmethod
    @lru_cache(maxsize=512)
    def _of_attributes(cls, attributes: tuple[tuple[str, str], ...], name: str) -> Self:
        """Cached, since a change of one object is checked against unchanged objects again and again."""
        return cls.parse([(attribute, text, 0) for attribute, text in attributes], name=name)

    @classmethod
    def template(cls, name: str = "template") -> Self:
        """The object that qconf opens in the editor for an addition. Source: QC-43, O."""
        return cls.model_construct(None, **{cls.key: name})

    def attributes(self) -> dict[str, str]:
        """Printed values by attribute in print order."""
        return {
            attribute: text
            for attribute in type(self).model_fields
            if (text := getattr(self, attribute)) is not None and not (text == "" and attribute in self.optional)
        }

    def references(self) -> list[Reference]:
        """(kind, name) of every object that this object names, each once: none of them may be deleted (US-8, HG-9)."""
        return self._referred(required_only=False)

    def requirements(self) -> list[Reference]:
        """References that must exist when this object is stored (CQ-33)."""
        return self._referred(required_only=True)

    def _referred(self, required_only: bool) -> list[Reference]:
        found: dict[Reference, None] = {}
        for attribute, kind_of in self.attribute_types().items():
            text = getattr(self, attribute)
            found.update(dict.fromkeys(kind_of.refers(text)))
            if not required_only:
                found.update(dict.fromkeys(kind_of.mentions(text)))
        return list(found)

    def check(self) -> None:
        """Refuse attributes that are valid by themselves but not together. Raises ConfigError."""

    @classmethod
    def _name_of(cls, values: Mapping[str, str], name: str) -> str:
        return name or values.get(cls.key, "")

    @classmethod
    def _collect(
        cls, entries: Sequence[Entry], name: str, warnings: list[str] | None
    ) -> tuple[dict[str, str], dict[str, int]]:
        """Values and lines by attribute. Refuses unknown and repeated attributes."""
        values: dict[str, str] = {}
        lines: dict[str, int] = {}
        known = cls.model_fields
        for written, text, line in entries:
            attribute = cls.old_names.get(written, written)
            if attribute not in known:
                raise ConfigError(cls.kind, cls._name_of(values, name), written, "the attribute is unknown", line)
            if attribute in values:
                raise ConfigError(cls.kind, cls._name_of(values, name), written, "the attribute is given twice", line)
            if attribute != written and warnings is not None:
                warnings.append(f'line {line}: the attribute "{written}" is called "{attribute}" now')
            values[attribute], lines[attribute] = text, line
        return values, lines

    @classmethod
    def _build(cls, values: Mapping[str, str], lines: Mapping[str, int], name: str) -> Self:
        shown = cls._name_of(values, name)
        try:
            made = cls.model_validate(values)
            made.check()
        except ValidationError as error:
            attribute, reason = _first_fault(error)
            raise ConfigError(cls.kind, shown, attribute, reason, lines.get(attribute, 0)) from None
        except ConfigError as error:
            line = lines.get(error.attribute, 0)
            raise ConfigError(cls.kind, shown, error.attribute, error.reason, line) from None
        return made


def _first_fault(error: ValidationError) -> tuple[str, str]:
    details: Any = error.errors(include_url=False, include_input=False)[0]
    fault = details.get("ctx", {}).get("error")
    return ".".join(map(str, details["loc"])), str(fault) if fault is not None else details["msg"].lower()
