"""The shape of an option, and the parser of command lines and request files.

Owns the grammar that all q* commands share: words with one dash and exact names, arguments as declared, options and
operands in order. Called by clients with the rows of `gridengine.options.*`; must import nothing slow.

Arguments of an option are declared as words: `date_time` (one argument), `[user_list]` (taken unless an option
follows), `[env|pe|set] strategy` (an optional one before a required one is taken when it is one of those named),
`target...` (all words up to the next option, at least one), `[target...]` (the same, or none).
"""

from gridengine.errors import SyntaxFault

TYPE_CHECKING = False  # as typing has it: clients pay for every import
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Fold = Callable[[Any, str, list[str]], None]

#: exit status of qsub and its family for an unknown option or a missing argument, and for a value that is wrong
BAD_OPTION = 2
BAD_VALUE = 7

VERSION = "SGE 8.1.9"


class OptionError(Exception):
    """Options that cannot be used. `text`: the reason, without the command's name; `place`: "" for the command line,
    else where the words came from (`FILE, line 3`). `hint`: a line that helps; `unknown`: the word that is no option."""

    def __init__(
        self, text: str, place: str = "", exit_status: int = BAD_OPTION, hint: str = "", unknown: str = ""
    ) -> None:
        self.text = f"{place}: {text}" if place else text
        self.exit_status = exit_status
        self.hint = hint
        self.unknown = unknown
        super().__init__(self.text)


class Option:
    """One option: its names (with dashes), its arguments, the commands that take it, and what it does.

    `fold(target, field, values)` puts the values into a request; it raises SyntaxFault for a bad value. The target is
    what the command collects its options in (`Submission`, a dict …).
    """

    __slots__ = ("arguments", "commands", "field", "fold", "help", "name", "names")

    def __init__(self, names: str, arguments: str, commands: str, fold: "Fold", field: str, help: str) -> None:
        self.names = names.split()
        self.name = self.names[0]
        self.arguments = arguments.split()
        self.commands = commands.split()
        self.fold = fold
        self.field = field
        self.help = help

    @property
    def call(self) -> str:
        """The option with its arguments and what it does, as one line."""
        return f"{' '.join([self.name, *self.arguments])}: {self.help}"

    def apply(self, target: "Any", values: list[str], place: str = "") -> None:
        """Fold the values into the target; a bad value becomes an OptionError that says where it came from."""
        try:
            self.fold(target, self.field, values)
        except SyntaxFault as fault:
            raise OptionError(str(fault), place, fault.exit_status if fault.exit_status > 1 else BAD_VALUE, self.call) from None


Setting = tuple[Option, list[str], str]
"""(option, its values, place)"""


def options_of(command: str, *tables: tuple[Option, ...]) -> dict[str, Option]:
    """The options that a command takes, by name."""
    return {name: option for table in tables for option in table if command in option.commands for name in option.names}


def read_options(
    words: list[str],
    options: dict[str, Option],
    place: str = "",
    ignored: dict[str, Option] | None = None,
    mixed: bool = False,
    operand: Option | None = None,
) -> tuple[list[Setting], list[str]]:
    """Divide words into settings, in order, and operands.

    `ignored`: options of other commands, that are read and dropped (SB-5). `mixed`: options may follow operands;
    otherwise the first operand ends the options, so that a script keeps its own. `--` ends them always. `operand`: an
    option without a name, of which each operand becomes a setting in its place; there are no other operands then.
    Raises OptionError.
    """
    settings: list[Setting] = []
    operands: list[str] = []
    position = 0
    while position < len(words):
        word = words[position]
        if word[:1] != "-" or word == "-":
            if operand is not None:
                settings.append((operand, [word], place))
            elif not mixed:
                return settings, words[position:]
            else:
                operands.append(word)
            position += 1
            continue
        if word == "--":
            return settings, operands + words[position + 1 :]
        option = options.get(word)
        known = option or (ignored or {}).get(word)
        if known is None:
            raise OptionError(f'invalid option argument "{word}"', place, unknown=word)
        values, position = _values(known, words, position + 1, place)
        if option is not None:
            settings.append((option, values, place))
    return settings, operands


def _values(option: Option, words: list[str], position: int, place: str) -> tuple[list[str], int]:
    """The words that are arguments of the option, and the position behind them."""
    values: list[str] = []
    last = len(option.arguments) - 1
    for index, argument in enumerate(option.arguments):
        optional = argument[0] == "["
        following = words[position] if position < len(words) else None
        if optional and index < last:
            if following is None or following not in argument.strip("[]").split("|"):
                continue
        elif following is None or (optional and following[:1] == "-" and len(following) > 1):
            if optional:
                continue
            raise OptionError(f"{option.name} option must have argument", place, hint=option.call)
        values.append(words[position])
        position += 1
        if argument.endswith(("...", "...]")):
            while position < len(words) and not (words[position][:1] == "-" and len(words[position]) > 1):
                values.append(words[position])
                position += 1
    return values, position


#: what divides words; other white space belongs to a word, as in 8.1.9
_BLANKS = " \t\r\n"


def split_line(line: str) -> list[str]:
    """Words of a line of a script or a request file: a `#` ends the line, also within a word or quotes.

    Deviation: in 8.1.9 all that follows a quote is one word, whether the quote is closed or not. Source: O.
    """
    return split_words(line.partition("#")[0], closed=False)


def split_words(text: str, closed: bool = True) -> list[str]:
    """Words of a text: blanks divide, single and double quotes keep them together.

    `closed`: a quote that is not closed raises OptionError; otherwise it ends with the text.
    """
    words: list[str] = []
    word, inside, quote = "", False, ""
    for letter in text:
        if quote:
            if letter == quote:
                quote = ""
            else:
                word += letter
        elif letter in "'\"":
            quote, inside = letter, True
        elif letter not in _BLANKS:
            word += letter
            inside = True
        elif inside:
            words.append(word)
            word, inside = "", False
    if quote and closed:
        raise OptionError(f"a {quote} is not closed")
    return [*words, word] if inside else words
