"""The options of Slurm's commands: `--name=value`, `--name value`, `-nvalue`, and abbreviated names.

Owns this grammar and the form of a row; each command has its own rows. Source: sbatch(1) of 22.05.
"""
from gridengine.errors import UserError

TYPE_CHECKING = False  # as typing has it: clients pay for every import
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    Fold = Callable[[Any, str], None]


MISUSED = 255


class SlurmError(UserError):
    """An error, without the command's name, with its exit status: 1, or MISUSED for options as in Slurm (O)."""

    def __init__(self, text: str, status: int = 1) -> None:
        self.status = status
        super().__init__(text)


class SlurmOption:
    """One option: its names, whether it takes a value (`optional`: only after `=`), and the function that applies it."""

    __slots__ = ("fold", "names", "optional", "takes_value")

    def __init__(self, names: str, fold: "Fold", takes_value: bool = True, optional: bool = False) -> None:
        self.names, self.fold, self.takes_value, self.optional = names.split(), fold, takes_value, optional


def flag(names: str, fold: "Fold") -> SlurmOption:
    """A row of an option without a value."""
    return SlurmOption(names, fold, takes_value=False)


def read_options(arguments: "Sequence[str]", rows: "Sequence[SlurmOption]", target: "Any") -> "list[str]":
    """Fold all options into the target, in their order; return the arguments from the first operand on. Raises SlurmError."""
    names = {name: row for row in rows for name in row.names}
    at = 0
    while at < len(arguments):
        argument = arguments[at]
        if argument == "--":
            return list(arguments[at + 1 :])
        if not argument.startswith("-") or argument == "-":
            return list(arguments[at:])
        at += 1
        name, row, value = _long(argument, names) if argument.startswith("--") else _short(argument, names)
        if value is None and row.takes_value and not row.optional:
            if at == len(arguments):
                raise SlurmError(f"option '{name}' requires an argument", MISUSED)
            value, at = arguments[at], at + 1
        row.fold(target, value or "")
        if not row.takes_value and not argument.startswith("--") and len(argument) > 2:
            # several flags in one argument: the rest follows
            arguments = [*arguments[:at], f"-{argument[2:]}", *arguments[at:]]
    return []


def _long(argument: str, names: "dict[str, SlurmOption]") -> "tuple[str, SlurmOption, str | None]":
    name, sign, value = argument.partition("=")
    near = [known for known in names if known.startswith(name)]
    if name not in names and len(near) != 1:
        raise SlurmError(f"option '{name}' is ambiguous" if near else f"unrecognized option '{argument}'", MISUSED)
    row = names[name if name in names else near[0]]
    if sign and not row.takes_value:
        raise SlurmError(f"option '{name}' doesn't allow an argument", MISUSED)
    return name, row, value if sign else None


def _short(argument: str, names: "dict[str, SlurmOption]") -> "tuple[str, SlurmOption, str | None]":
    name = argument[:2]
    if name not in names:
        raise SlurmError(f"invalid option -- '{name[1:]}'", MISUSED)
    row = names[name]
    return name, row, argument[2:] if row.takes_value and len(argument) > 2 else None
