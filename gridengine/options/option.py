"""The shape of an option, and the parser of command lines and request files.

Owns the grammar that all q* commands share: options with one dash and exact names, arguments as declared, options and
operands in order. Called by clients with the rows of `gridengine.options.*`; must import nothing slow.

Declarations of an option's arguments: `date_time` (one argument), `[user_list]` (taken unless an option follows),
`[env|pe|set] strategy` (an optional argument before a required argument is taken if the declaration names it),
`target...` (all tokens up to the next option, at least one), `[target...]` (the same, or none).
"""

from gridengine.errors import InvalidValueError, UserError

TYPE_CHECKING = False  # as typing has it: clients pay for every import
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Fold = Callable[[Any, str, list[str]], None]

#: exit status of qsub and its family for an unknown option or a missing argument, and for a value that is wrong
BAD_OPTION = 2
BAD_VALUE = 7

VERSION = "SGE 8.1.9"


class OptionError(UserError):
    """Options that cannot be used. `text`: the reason, without the command's name; `location`: "" for the command line,
    else the position in a file (`FILE, line 3`). `hint`: a helpful line; `unknown`: the token that is no option."""

    def __init__(
        self, text: str, location: str = "", exit_status: int = BAD_OPTION, hint: str = "", unknown: str = ""
    ) -> None:
        self.text = f"{location}: {text}" if location else text
        self.exit_status = exit_status
        self.hint = hint
        self.unknown = unknown
        super().__init__(self.text)


class Option:
    """One option: its names (with dashes), its arguments, the commands that take it, and its effect.

    `fold(target, field, values)` puts the values into a request, and raises InvalidValueError for an invalid value. The target is
    the command's collection of options (`Submission`, a dict …).
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
        """The option with its arguments and its effect, as one line."""
        return f"{' '.join([self.name, *self.arguments])}: {self.help}"

    def apply(self, target: "Any", values: list[str], location: str = "") -> None:
        """Fold the values into the target; an invalid value becomes an OptionError that names its place."""
        try:
            self.fold(target, self.field, values)
        except InvalidValueError as fault:
            exit_status = fault.exit_status if fault.exit_status > 1 else BAD_VALUE
            raise OptionError(str(fault), location, exit_status, self.call) from None


Setting = tuple[Option, list[str], str]
"""(option, its values, location)"""


def options_of(command: str, *tables: tuple[Option, ...]) -> dict[str, Option]:
    """The options that a command takes, by name."""
    return {name: option for table in tables for option in table if command in option.commands for name in option.names}


def read_options(
    tokens: list[str],
    options: dict[str, Option],
    location: str = "",
    ignored: dict[str, Option] | None = None,
    mixed: bool = False,
    operand: Option | None = None,
    dashes: tuple[str, ...] = (),
) -> tuple[list[Setting], list[str]]:
    """Divide tokens into settings, in order, and operands.

    `ignored`: options of other commands, which are read and dropped (SB-5). `mixed`: options may follow operands;
    otherwise the first operand ends the options, so that a script keeps its own. `--` always ends them. `operand`: an
    option without a name; each operand becomes a setting of it, and the returned operands are empty. `dashes`: operands in
    place of `--`.
    Raises OptionError.
    """
    settings: list[Setting] = []
    operands: list[str] = []
    position = 0
    while position < len(tokens):
        token = tokens[position]
        if token[:1] != "-" or token == "-":
            if operand is not None:
                settings.append((operand, [token], location))
            elif not mixed:
                return settings, tokens[position:]
            else:
                operands.append(token)
            position += 1
            continue
        if token == "--":
            return settings, [*operands, *dashes, *tokens[position + 1 :]]
        option = options.get(token)
        known = option or (ignored or {}).get(token)
        if known is None:
            raise OptionError(f'invalid option argument "{token}"', location, unknown=token)
        values, position = _take_values(known, tokens, position + 1, location)
        if option is not None:
            settings.append((option, values, location))
    return settings, operands


def _take_values(option: Option, tokens: list[str], position: int, location: str) -> tuple[list[str], int]:
    """The tokens that are arguments of the option, and the position behind them."""
    values: list[str] = []
    last = len(option.arguments) - 1
    for index, argument in enumerate(option.arguments):
        optional = argument[0] == "["
        following = tokens[position] if position < len(tokens) else None
        if optional and index < last:
            if following is None or following not in argument.strip("[]").split("|"):
                continue
        elif following is None or (optional and following[:1] == "-" and len(following) > 1):
            if optional:
                continue
            raise OptionError(f"{option.name} option must have argument", location, hint=option.call)
        values.append(tokens[position])
        position += 1
        if argument.endswith(("...", "...]")):
            while position < len(tokens) and not (tokens[position][:1] == "-" and len(tokens[position]) > 1):
                values.append(tokens[position])
                position += 1
    return values, position


#: dividers of tokens; other white space belongs to a token, as in 8.1.9
_BLANKS = " \t\r\n"


def split_line(line: str) -> list[str]:
    """Tokens of a line of a script or a request file: a `#` ends the line, also within a token or quotes.

    Deviation: in 8.1.9 the rest after a quote is one token, whether the quote is closed or not. Source: O.
    """
    return split_words(line.partition("#")[0], closed=False)


def split_words(text: str, closed: bool = True) -> list[str]:
    """Tokens of a text, divided by blanks; single and double quotes keep a token together.

    `closed`: a quote that is not closed raises OptionError; otherwise it ends with the text.
    """
    tokens: list[str] = []
    token, inside, quote = "", False, ""
    for character in text:
        if quote:
            if character == quote:
                quote = ""
            else:
                token += character
        elif character in "'\"":
            quote, inside = character, True
        elif character not in _BLANKS:
            token += character
            inside = True
        elif inside:
            tokens.append(token)
            token, inside = "", False
    if quote and closed:
        raise OptionError(f"a {quote} is not closed")
    return [*tokens, token] if inside else tokens
