"""Forms made of a command's options: each field is an option, and means what it means on a command line.

Owns how a field becomes words and how these are folded into a request; the meaning is the table of `gridengine.options`. Called
by the pages that submit jobs and reserve slots.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

from gridengine.options.option import Option, OptionError, Setting, options_of, read_options, split_words
from gridengine.options.submission import Submission

_SOFT = "soft "


class FormField(NamedTuple):
    """A field. `name`: the option's own, with `soft` in front for a wish. `example`: of a value."""

    name: str
    label: str
    option: Option
    example: str = ""

    @property
    def kind(self) -> str:
        """`flag` without an argument, `switch` for yes or no, else `text`."""
        arguments = self.option.arguments
        return "flag" if not arguments else "switch" if arguments in (["y[es]|n[o]"], ["[y[es]|n[o]]"]) else "text"

    @property
    def soft(self) -> bool:
        """Whether it is a wish only."""
        return self.name.startswith(_SOFT)


class FormInput(NamedTuple):
    """A form as somebody filled it in: the words of the command line, and what is wrong by field."""

    words: list[str]
    faults: dict[str, str]


class OptionForm:
    """The form of a command. `rows`: under each heading (option, label, example) of its fields."""

    def __init__(self, command: str, table: tuple[Option, ...], rows: Mapping[str, tuple[tuple[str, str, str], ...]]) -> None:
        self.command = command
        self.options = options_of(command, table)
        self.groups = {
            heading: [FormField(name, label, self.options[name.removeprefix(_SOFT)], example) for name, label, example in fields]
            for heading, fields in rows.items()
        }
        self.fields = {field.name: field for fields in self.groups.values() for field in fields}

    def read(self, values: Mapping[str, str], target: Submission, emptied: Collection[str] = ()) -> FormInput:
        """Fold what was filled in into a request, as the command would; fields that were `emptied` are given without a value."""
        found = FormInput([], {})
        for field, words in self._given(values, emptied):
            target.soft = field.soft
            try:
                settings, rest = read_options(words, self.options)
                if rest:
                    raise OptionError(f'"{rest[0]}" is too much')
                fold(target, settings)
            except OptionError as error:
                found.faults[field.name] = error.text
            found.words.extend(["-soft", *words, "-hard"] if field.soft else words)
        return found

    def _given(self, values: Mapping[str, str], emptied: Collection[str]) -> Iterator[tuple[FormField, list[str]]]:
        """The fields that were filled in, with the words that they are on a command line."""
        for field in self.fields.values():
            value = values.get(field.name, "").strip()
            if not value and field.name not in emptied:
                continue
            words = [value]
            if field.kind == "flag":
                words = []
            elif len(field.option.arguments) > 1:
                try:
                    words = split_words(value)
                except OptionError:
                    pass  # the option says what is wrong with it
            yield field, [field.option.name, *words]


def fold(target: Submission, settings: list[Setting]) -> None:
    """Fold options into a request. Raises OptionError."""
    for option, given, place in settings:
        option.apply(target, given, place)
