"""What every q* command does around its own work: run, print answers, end with the right status, never a traceback.

Owns the guard of the commands. Called by each `clients.qX.main`.
"""

import gc
import os
import sys

from clients import gdi
from gridengine import __version__, json_text
from gridengine.errors import ConfigError, SyntaxFault
from gridengine.options.option import VERSION, Option, OptionError, options_of, read_options

TYPE_CHECKING = False  # as typing has it: clients pay for every import
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from typing import IO, Any, AnyStr, TextIO

    Command = Callable[[list[str]], int]

EXIT_INTERRUPTED = 130
#: what is read of a file of options, in bytes or characters
OPTIONS_MOST = 1 << 20
#: of a script, or of a file with configuration; the qmaster's own limits are lower by default (max_submit_size)
SCRIPT_MOST = 1 << 26
#: as the first word, of every command, with or without a cell
_OF_ALL = ("-help", "--help", "-version", "--version")


def run(name: str, command: "Command", arguments: "list[str] | None" = None) -> int:
    """Run `command(arguments) -> exit status`, without any with the arguments of this process, and end the process.

    The process ends here, without the interpreter's own tidying up, which costs a command 2 ms.
    """
    gc.disable()
    _ensure_standard_streams()
    status = guarded(name, command, sys.argv[1:] if arguments is None else arguments)
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError as error:
        from gridengine.standard_output import handle_write_error

        status = handle_write_error(error)
    os._exit(status)


def _ensure_standard_streams() -> None:
    """A stream that the caller has closed leads nowhere; its number must not become that of a file or a connection."""
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest number that is free, which is this one
    for name, descriptor in (("stdin", 0), ("stdout", 1), ("stderr", 2)):
        if getattr(sys, name) is None:
            setattr(sys, name, open(descriptor, "r" if descriptor == 0 else "w", closefd=False))


def guarded(name: str, command: "Command", arguments: list[str]) -> int:
    """The exit status of a command; whatever goes wrong becomes one line on stderr."""
    try:
        status = _common(name, arguments) if arguments[:1] and arguments[0] in _OF_ALL else command(arguments)
        sys.stdout.flush()
        return status
    except CommandEnded as end:
        return end.status
    except OptionError as error:
        complain(f"{name}: {error.text}")
        explain(name, error)
        return error.exit_status
    except Failure as failure:
        complain(failure.text)
        return failure.status
    except gdi.Unreachable as error:
        complain(f"error: {error}")
        return 1
    except (SyntaxFault, ConfigError) as error:
        complain(f"{name}: {error}")
        return 1
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except Exception as error:
        from gridengine.standard_output import handle_write_error, is_write_error

        if isinstance(error, OSError) and is_write_error(error):
            return handle_write_error(error)
        if "SGE_DEBUG_LEVEL" in os.environ:
            raise
        complain(f"{name}: internal error: {type(error).__name__}: {error}")
        return 1


def _common(name: str, arguments: list[str]) -> int:
    return show_help(name) if arguments[0].endswith("help") else show_version()


def callers_environment() -> "Mapping[str, str]":
    """The variables as the caller set them: in the C locale Python sets LC_CTYPE for itself (PEP 538)."""
    if os.environ.get("LC_CTYPE") not in ("C.UTF-8", "C.utf8", "UTF-8"):
        return os.environ
    with open("/proc/self/environ", "rb") as file:
        given = [os.fsdecode(item) for item in file.read().split(b"\0") if item.startswith(b"LC_CTYPE=")]
    environment = {name: value for name, value in os.environ.items() if name != "LC_CTYPE"}
    return {**environment, "LC_CTYPE": given[0].partition("=")[2]} if given else environment


def show(lines: "Iterable[str]", file: "TextIO | None" = None) -> None:
    """Write pieces of a text for people, with their line ends, to stdout: nothing that a user wrote steers the terminal."""
    to = file or sys.stdout
    for text in lines:
        if not text.replace("\n", "").isprintable():
            from gridengine.printable import printable_lines

            text = printable_lines(text)
        to.write(text)


def complain(text: str) -> None:
    """A line on stderr."""
    show([f"{text}\n"], sys.stderr)


def show_answers(answer: gdi.Answer) -> int:
    """Print the texts of an answer, info to stdout and the others to stderr; the exit status."""
    for level, text in answer.answers:
        if level == "hint":
            hint(text)
        else:
            show([f"{text}\n"], sys.stdout if level == "info" else sys.stderr)
    return answer.status


def request(name: str, body: object) -> int:
    """Send a changing request and print its answers; the exit status."""
    return show_answers(gdi.change(name, body))


def read(name: str, body: object, answer_s: float = gdi.ANSWER_S) -> "Any":
    """The data of a reading request, which must begin within `answer_s` seconds. Errors of the qmaster are printed and end the
    command."""
    answer = gdi.call(name, body, answer_s)
    if show_answers(answer):
        sys.stdout.flush()
        raise CommandEnded(answer.status)
    return answer.data


def read_lines(name: str, body: object) -> "tuple[Any, Iterator[Any]]":
    """A reading request that is answered in lines: the data of the first, and the others as they come.

    Errors of the qmaster are printed and end the command.
    """
    lines = gdi.stream(name, body, gdi.ANSWER_S)
    first = next(lines, None)
    if first is None:
        raise gdi.Unreachable(f"the qmaster gave no readable answer to the request {name}")
    answer = gdi.Answer(first["status"], first["answers"], first["data"])
    if show_answers(answer):
        raise CommandEnded(answer.status)
    return answer.data, lines


def print_json(value: object) -> None:
    """A value as one line of JSON (-json; the shapes are in docs/schemas)."""
    sys.stdout.write(json_text.encode(value).decode() + "\n")


def read_limited(file: "IO[AnyStr]", most: int) -> "AnyStr":
    """All that a file holds which a user named: a device without an end, or one of gigabytes by mistake, takes no memory.

    Raises OSError, also when that is more than `most`.
    """
    found = file.read(most + 1)
    if len(found) > most:
        import errno

        raise OSError(errno.EFBIG, f"it holds more than {most >> 20} MB")
    return found


def file_text(path: str) -> str:
    """The text of a file that the user named. Raises SyntaxFault."""
    try:
        with open(path, encoding="utf-8", errors="strict") as file:
            return read_limited(file, SCRIPT_MOST)
    except OSError as error:
        raise SyntaxFault(f"cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise SyntaxFault(f"cannot read {path}: it is no text in UTF-8") from None


class Failure(Exception):
    """The command ends with a line on stderr that is known as it is, without the command's name."""

    def __init__(self, text: str, status: int) -> None:
        self.text = text
        self.status = status
        super().__init__(text)


class CommandEnded(Exception):
    """The command has said what there was to say and ends with a status."""

    def __init__(self, status: int) -> None:
        self.status = status
        super().__init__(status)


def simple_options(
    name: str,
    table: tuple[Option, ...],
    arguments: list[str],
    now: float = 0.0,
    operand: Option | None = None,
    status: int = 1,
) -> "tuple[dict[str, Any], list[str]]":
    """Fold the arguments of a command whose options fill a dict: (fields, operands).

    Prints the help and ends the command for -help; a fault exits with `status`, or its own if `status` is 0. `operand`: see
    `read_options`.
    """
    options = options_of(name, table)
    fields: dict[str, Any] = {"now": now} if now else {}
    try:
        settings, rest = read_options(arguments, options, mixed=True, operand=operand)
        for option, values, place in settings:
            option.apply(fields, values, place)
    except OptionError as error:
        error.exit_status = status or error.exit_status
        raise
    fields.pop("now", None)
    if fields.get("help"):
        raise CommandEnded(show_help(name))
    return fields, rest


def job_lists(fields: "dict[str, Any]") -> "list[dict[str, Any]]":
    """The fields once for each list of jobs, which came with tasks of its own or without; once without any list for -u."""
    lists = fields.pop("lists", [])
    return [{**fields, **jobs} for jobs in lists] or ([{**fields, "targets": []}] if fields.get("users") else [])


def requests_for_jobs(name: str, bodies: "list[dict[str, Any]]") -> int:
    """Send changing requests for lists of jobs one after the other; the first exit status that is not 0.

    Below a refusal it is said how those jobs ended that are gone.
    """
    status = 0
    for body in bodies:
        outcome = request(name, body)
        status = status or outcome
    if status:
        from clients.ended_jobs import hint_at_ends

        hint_at_ends(target for body in bodies for target in body["targets"])
    return status


def misused(name: str, text: str) -> int:
    """Report a call that cannot be meant so, and its form; exit 1."""
    from gridengine.options.hints import usage_line

    complain(text)
    complain(usage_line(name))
    return 1


def hint(text: str) -> None:
    """A line on stderr below a fault, with what may have been meant."""
    complain(f"hint: {text}")


def show_help(name: str) -> int:
    """The options of a command, in groups; exit 0."""
    from gridengine.options.help_text import help_text

    sys.stdout.write(help_text(name))
    return 0


def show_version() -> int:
    """The version whose commands these are, and the one of this system; exit 0."""
    print(f"{VERSION} (gridengine {__version__})")
    return 0


def explain(name: str, error: OptionError) -> None:
    """A line on stderr below the fault: what may have been meant, or the form of the call."""
    if error.unknown:
        from gridengine.options.hints import unknown_option_hint

        complain(unknown_option_hint(name, error.unknown))
    elif error.hint:
        hint(error.hint)
