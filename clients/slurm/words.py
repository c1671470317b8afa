"""Options as Slurm's commands take them: `--name=value`, `--name value`, `-nvalue`, and names that are cut short.

Owns this grammar and the shape of a row; the rows are those of each command. Source: sbatch(1) of 22.05.
"""

TYPE_CHECKING = False  # as typing has it: clients pay for every import
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    Fold = Callable[[Any, str], None]


MISUSED = 255


class SlurmError(Exception):
    """What cannot be done, without the command's name, and the exit status: 1, and MISUSED for options as in Slurm (O)."""

    def __init__(self, text: str, status: int = 1) -> None:
        self.status = status
        super().__init__(text)


class SlurmOption:
    """One option: its names, whether it takes a value (`optional`: only behind `=`), and what it does with that."""

    __slots__ = ("fold", "names", "optional", "takes_value")

    def __init__(self, names: str, fold: "Fold", takes_value: bool = True, optional: bool = False) -> None:
        self.names, self.fold, self.takes_value, self.optional = names.split(), fold, takes_value, optional


def flag(names: str, fold: "Fold") -> SlurmOption:
    """A row of an option without a value."""
    return SlurmOption(names, fold, takes_value=False)


def read_words(words: "Sequence[str]", rows: "Sequence[SlurmOption]", target: "Any") -> "list[str]":
    """Fold all options into the target, in their order; the words from the first operand on. Raises SlurmError."""
    names = {name: row for row in rows for name in row.names}
    at = 0
    while at < len(words):
        word = words[at]
        if word == "--":
            return list(words[at + 1 :])
        if not word.startswith("-") or word == "-":
            return list(words[at:])
        at += 1
        name, row, value = _long(word, names) if word.startswith("--") else _short(word, names)
        if value is None and row.takes_value and not row.optional:
            if at == len(words):
                raise SlurmError(f"option '{name}' requires an argument", MISUSED)
            value, at = words[at], at + 1
        row.fold(target, value or "")
        if not row.takes_value and not word.startswith("--") and len(word) > 2:
            # several letters in one word: the others follow
            words = [*words[:at], f"-{word[2:]}", *words[at:]]
    return []


def _long(word: str, names: "dict[str, SlurmOption]") -> "tuple[str, SlurmOption, str | None]":
    name, sign, value = word.partition("=")
    near = [known for known in names if known.startswith(name)]
    if name not in names and len(near) != 1:
        raise SlurmError(f"option '{name}' is ambiguous" if near else f"unrecognized option '{word}'", MISUSED)
    row = names[name if name in names else near[0]]
    if sign and not row.takes_value:
        raise SlurmError(f"option '{name}' doesn't allow an argument", MISUSED)
    return name, row, value if sign else None


def _short(word: str, names: "dict[str, SlurmOption]") -> "tuple[str, SlurmOption, str | None]":
    name = word[:2]
    if name not in names:
        raise SlurmError(f"invalid option -- '{name[1:]}'", MISUSED)
    row = names[name]
    return name, row, word[2:] if row.takes_value and len(word) > 2 else None
