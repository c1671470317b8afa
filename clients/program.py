"""The frame of every q* command: run it, print answers, exit with the right status, never with a traceback.

Owns the handling of all errors of a command. Called by each `clients.qX.main`.
"""

import gc
import os
import sys

from clients import gdi
from gridengine import __version__, json_text
from gridengine.errors import ConfigError, GridEngineError, InvalidValueError, UserError
from gridengine.options.option import VERSION, Option, OptionError, options_of, read_options

TYPE_CHECKING = False  # as typing has it: clients pay for every import
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from typing import IO, Any, AnyStr, TextIO

    Command = Callable[[list[str]], int]

EXIT_INTERRUPTED = 130
#: maximum size of a file of options, in bytes or characters
MAX_OPTIONS_SIZE = 1 << 20
#: maximum size of a script or a configuration file; the qmaster's own limits are lower by default (max_submit_size)
MAX_SCRIPT_SIZE = 1 << 26
#: accepted as the first argument of every command, with or without a cell
_COMMON_OPTIONS = ("-help", "--help", "-version", "--version")


def run(name: str, command: "Command", arguments: "list[str] | None" = None) -> int:
    """Run `command(arguments) -> exit status`, without any with the arguments of this process, and end the process.

    The process ends here, without the interpreter's own clean-up, which costs a command 2 ms.
    """
    gc.disable()
    _ensure_standard_streams()
    status = run_guarded(name, command, sys.argv[1:] if arguments is None else arguments)
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError as error:
        from gridengine.terminal.standard_output import handle_write_error

        status = handle_write_error(error)
    os._exit(status)


def _ensure_standard_streams() -> None:
    """Open /dev/null for each standard stream that the caller closed: no file or connection may get its descriptor."""
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest number that is free, which is this one
    for name, descriptor in (("stdin", 0), ("stdout", 1), ("stderr", 2)):
        if getattr(sys, name) is None:
            setattr(sys, name, open(descriptor, "r" if descriptor == 0 else "w", closefd=False))


def run_guarded(name: str, command: "Command", arguments: list[str]) -> int:
    """Run a command; the exit status. Every error becomes one line on stderr."""
    try:
        status = _run_common_option(name, arguments) if arguments[:1] and arguments[0] in _COMMON_OPTIONS else command(arguments)
        sys.stdout.flush()
        return status
    except CommandEndedError as end:
        return end.status
    except OptionError as error:
        print_error(f"{name}: {error.text}")
        print_option_hint(name, error)
        return error.exit_status
    except CommandError as failure:
        print_error(failure.text)
        return failure.status
    except gdi.Unreachable as error:
        print_error(f"error: {error}")
        return 1
    except (InvalidValueError, ConfigError) as error:
        print_error(f"{name}: {error}")
        return 1
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except Exception as error:  # no traceback reaches a user
        from gridengine.terminal.standard_output import handle_write_error, is_write_error

        if isinstance(error, OSError) and is_write_error(error):
            return handle_write_error(error)
        if "SGE_DEBUG_LEVEL" in os.environ:
            raise
        print_error(f"{name}: internal error: {type(error).__name__}: {error}")
        return 1


def _run_common_option(name: str, arguments: list[str]) -> int:
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
    """Write pieces of a text for people, with their line ends, to stdout. Control characters in users' texts are escaped."""
    to = file or sys.stdout
    for text in lines:
        if not text.replace("\n", "").isprintable():
            from gridengine.values.printable import printable_lines

            text = printable_lines(text)
        to.write(text)


def print_error(text: str) -> None:
    """Print a line on stderr."""
    show([f"{text}\n"], sys.stderr)


def show_answers(answer: gdi.Answer) -> int:
    """Print the texts of an answer, info to stdout and all other levels to stderr; the exit status."""
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
        raise CommandEndedError(answer.status)
    return answer.data


def read_lines(name: str, body: object) -> "tuple[Any, Iterator[Any]]":
    """Send a reading request that is answered in lines: the data of the first line, and the further lines as they come.

    Errors of the qmaster are printed and end the command.
    """
    lines = gdi.stream(name, body, gdi.ANSWER_S)
    first = next(lines, None)
    if first is None:
        raise gdi.Unreachable(f"the qmaster gave no readable answer to the request {name}")
    answer = gdi.Answer(first["status"], first["answers"], first["data"])
    if show_answers(answer):
        raise CommandEndedError(answer.status)
    return answer.data, lines


def print_json(value: object) -> None:
    """A value as one line of JSON (-json; the shapes are in docs/schemas)."""
    sys.stdout.write(json_text.encode(value).decode() + "\n")


def read_limited(file: "IO[AnyStr]", limit: int) -> "AnyStr":
    """The content of a file that a user named. The limit keeps endless devices and huge files out of memory.

    Raises OSError, also when the content is larger than `limit`.
    """
    content = file.read(limit + 1)
    if len(content) > limit:
        import errno

        raise OSError(errno.EFBIG, f"larger than {limit >> 20} MB")
    return content


def file_text(path: str) -> str:
    """The text of a file that the user named. Raises InvalidValueError."""
    try:
        with open(path, encoding="utf-8", errors="strict") as file:
            return read_limited(file, MAX_SCRIPT_SIZE)
    except OSError as error:
        raise InvalidValueError(f"cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise InvalidValueError(f"cannot read {path}: not UTF-8 text") from None


class CommandError(UserError):
    """The command ends with a line on stderr that programs may parse: it has no prefix with the command's name."""

    def __init__(self, text: str, status: int) -> None:
        self.text = text
        self.status = status
        super().__init__(text)


class CommandEndedError(GridEngineError):
    """The command has printed all its messages and ends with a status."""

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
        for option, values, location in settings:
            option.apply(fields, values, location)
    except OptionError as error:
        error.exit_status = status or error.exit_status
        raise
    fields.pop("now", None)
    if fields.get("help"):
        raise CommandEndedError(show_help(name))
    return fields, rest


def job_lists(fields: "dict[str, Any]") -> "list[dict[str, Any]]":
    """The fields once for each list of jobs, which may have its own tasks; once without a list for -u alone."""
    lists = fields.pop("lists", [])
    return [{**fields, **jobs} for jobs in lists] or ([{**fields, "targets": []}] if fields.get("users") else [])


def requests_for_jobs(name: str, bodies: "list[dict[str, Any]]") -> int:
    """Send changing requests for lists of jobs in sequence; the first exit status that is not 0.

    Below a refusal a hint is printed for each job that has ended.
    """
    status = 0
    for body in bodies:
        outcome = request(name, body)
        status = status or outcome
    if status:
        print_end_hints(target for body in bodies for target in body["targets"])
    return status


def print_end_hints(targets: "Iterable[str]") -> None:
    """Print a hint for each job named by number that has ended."""
    from clients.ended_jobs import end_hints

    for text in end_hints(targets):
        hint(text)


def report_misuse(name: str, text: str) -> int:
    """Report an invalid call, and print the form of the call; exit 1."""
    from gridengine.options.hints import usage_line

    print_error(text)
    print_error(usage_line(name))
    return 1


def hint(text: str) -> None:
    """Print a line on stderr below a fault, with a suggestion."""
    print_error(f"hint: {text}")


def show_help(name: str) -> int:
    """Print the options of a command, in groups; exit 0."""
    from gridengine.options.help_text import help_text

    sys.stdout.write(help_text(name))
    return 0


def show_version() -> int:
    """Print the version of Grid Engine that the commands follow, and the version of this system; exit 0."""
    print(f"{VERSION} (gridengine {__version__})")
    return 0


def print_option_hint(name: str, error: OptionError) -> None:
    """Print a line on stderr below the fault: the option that was probably intended, or a hint."""
    if error.unknown:
        from gridengine.options.hints import unknown_option_hint

        print_error(unknown_option_hint(name, error.unknown))
    elif error.hint:
        hint(error.hint)
