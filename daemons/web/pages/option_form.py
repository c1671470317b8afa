"""Forms made of a command's options: each field is an option with the same meaning as on a command line.

Owns the conversion of fields to command-line arguments and to a request. The table of `gridengine.options` defines the options.
Called by the pages that submit jobs and reserve slots.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

from gridengine.options.option import Option, OptionError, Setting, options_of, read_options, split_words
from gridengine.options.submit_folds import Submission

_SOFT = "soft "


class FormField(NamedTuple):
    """A field for `option`, with a `label` for people. `name`: of the option, with the prefix `soft` for a soft request.
    `example`: of a value."""

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
        """Whether the field is a soft request."""
        return self.name.startswith(_SOFT)


class FormInput(NamedTuple):
    """A filled-in form: the `arguments` of the command line, and errors by field (`faults`)."""

    arguments: list[str]
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

    def read(self, values: Mapping[str, str], target: Submission, cleared: Collection[str] = ()) -> FormInput:
        """Fold the filled-in fields into a request, as the command does; `cleared` fields are given without a value."""
        form_input = FormInput([], {})
        for field, arguments in self._given(values, cleared):
            target.soft = field.soft
            try:
                settings, rest = read_options(arguments, self.options)
                if rest:
                    raise OptionError(f'unexpected argument "{rest[0]}"')
                fold(target, settings)
            except OptionError as error:
                form_input.faults[field.name] = error.text
            form_input.arguments.extend(["-soft", *arguments, "-hard"] if field.soft else arguments)
        return form_input

    def _given(self, values: Mapping[str, str], cleared: Collection[str]) -> Iterator[tuple[FormField, list[str]]]:
        """The filled-in fields, with their arguments on a command line."""
        for field in self.fields.values():
            value = values.get(field.name, "").strip()
            if not value and field.name not in cleared:
                continue
            arguments = [value]
            if field.kind == "flag":
                arguments = []
            elif len(field.option.arguments) > 1:
                try:
                    arguments = split_words(value)
                except OptionError:
                    pass  # the option reports the error in the value
            yield field, [field.option.name, *arguments]


def fold(target: Submission, settings: list[Setting]) -> None:
    """Fold options into a request. Raises OptionError."""
    for option, given, location in settings:
        option.apply(target, given, location)
