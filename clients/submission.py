"""From the arguments of a submitting command to a request: sources of options in their order, the script, the environment.

Owns the reading of request files, `-@` files and scripts, and the variables that a job inherits. The option table defines the
options. Called by qsub and its relatives. Source: statements SB-1 … SB-5, SB-9, EN-3.
"""

import os
import sys
import time

from clients import gdi
from clients.path_aliases import add_path_aliases
from clients.program import MAX_OPTIONS_SIZE, MAX_SCRIPT_SIZE, CommandError, callers_environment, hint, read_limited
from gridengine.api.origin import add_origin
from gridengine.options.option import OptionError, options_of, read_options
from gridengine.options.script_options import PREFIX, script_settings
from gridengine.options.sources import file_settings, fold_sources, with_option_files
from gridengine.options.submit import SUBMIT_OPTIONS
from gridengine.options.submit_folds import Submission

#: exit status when the script cannot be read, and when nothing comes from the standard input
NO_SCRIPT = 14
NO_INPUT = 4
#: the operand for a script from the standard input
STDIN = "-"

TYPE_CHECKING = False  # as typing has it: clients pay for every import
if TYPE_CHECKING:
    from typing import Any

    from gridengine.options.option import Option
    from gridengine.options.sources import Source


class ReadSubmission:
    """A submission that was read: the folded options, the operands, and the script to send.

    `script`: its bytes, None for a program.
    """

    def __init__(self, target: Submission, operands: list[str], script: bytes | None) -> None:
        self.target = target
        self.operands = operands
        self.script = script

    @property
    def settings(self) -> "dict[str, Any]":
        return self.target.settings


def read_submission(command: str, arguments: list[str], script_read: "bytes | None" = None) -> ReadSubmission:
    """All options of a submission, folded in their order (SB-3), its operands and script. `script_read`: the script, where
    the caller has read it for lines of its own. Raises OptionError."""
    try:
        return _read_submission(command, arguments, script_read)
    except OptionError as error:
        if command != "qsub":
            error.exit_status = 1  # each other code is that of a command on the host (O)
        raise


def _read_submission(command: str, arguments: list[str], script_read: "bytes | None") -> ReadSubmission:
    options = options_of(command, SUBMIT_OPTIONS)
    target = Submission(command, callers_environment(), _working_directory(), time.time())
    # arguments behind -- are those of a script from the standard input
    given, operands = read_options(arguments, options, dashes=(STDIN,) if command == "qsub" else ())
    if operands == [STDIN] and arguments[-1] == "--":
        raise OptionError("-- option must be followed by job arguments")
    command_line = with_option_files(given, options, _read)
    fold_sources(Submission(command, target.environment, target.cwd, target.now), [[command_line]])
    files = _request_file_settings(target.cwd, options)
    sources = [[with_option_files(line, options, _read) for line in source] for source in files]
    last_values: dict[str, str] = {}
    for line in (*(line for source in sources for line in source), command_line):
        for option, values, _ in line:
            last_values[option.name] = values[0] if values else ""
    if "-tasks" in last_values and "-help" not in last_values:
        from clients.task_list_script import check_use

        operands = check_use(last_values, operands)
    elif names := [option.name for option, _, _ in command_line if option.name.startswith(("-tasks-", "-max-fails"))]:
        raise OptionError(f"{names[0]}: it is for a task list, and -tasks is not given")
    # besides qsub only qrsh can send a script
    binary = last_values.get("-b", "n" if command == "qsub" else "y")[:1].lower() == "y"
    if binary and operands[:1] == [STDIN]:
        operands = operands[1:]
    script = None
    if not binary and "-help" not in last_values and (operands or command == "qsub"):
        script = _read_script(operands) if script_read is None else script_read
        if script_read is None and "-tasks" not in last_values:
            _hint_at_foreign_lines(script)
        prefix = last_values.get("-C", PREFIX)
        if prefix:
            name = operands[0] if operands and operands[0] != STDIN else "standard input"
            sources.append(script_settings(script, prefix, name, options))
    fold_sources(target, [*sources, [command_line]])
    if script is not None and "-tasks" in last_values:
        from clients.task_list_script import with_runner

        script = with_runner(script, target, operands[0])
    return ReadSubmission(target, operands, script)


def _working_directory() -> str:
    try:
        return os.getcwd()
    except OSError as error:
        raise OptionError(f"the working directory cannot be used: {error.strerror}") from None


def _request_file_settings(cwd: str, options: "dict[str, Option]") -> "list[Source]":
    """The settings of the default request files that exist: of the cell, the caller, the working directory, in this order."""
    cells, home = f"{gdi.common_directory()}/sge_request", os.environ.get("HOME") or "/"
    sources = [file_settings(_read(cells), cells, options)] if os.path.exists(cells) else []
    for path in dict.fromkeys(f"{directory}/.sge_request" for directory in (home, cwd)):
        if os.path.lexists(path) and (text := _read_own(path)) is not None:
            sources.append(file_settings(text, path, options))
    return sources


def _read_own(path: str) -> str | None:
    """The text of a file that the caller or root has written, else None."""
    from clients.own_files import read_own

    try:
        return read_own(path)
    except OSError as error:
        raise OptionError(f"cannot read {path}: {error.strerror}") from None


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            return read_limited(file, MAX_OPTIONS_SIZE)
    except OSError as error:
        raise OptionError(f"cannot read {path}: {error.strerror}") from None


def _read_script(operands: list[str]) -> bytes:
    """The script named by the first operand, or the standard input for none and for `-`."""
    if not operands or operands[0] == STDIN:
        try:
            script: bytes = read_limited(sys.stdin.buffer, MAX_SCRIPT_SIZE)
        except OSError as error:
            raise CommandError(f"Unable to read script file because of error: {error.strerror}", NO_INPUT) from None
        if not script:
            raise CommandError("Unable to read script file because of error: no input read from stdin", NO_INPUT)
        return script
    try:
        with open(operands[0], "rb") as file:
            return read_limited(file, MAX_SCRIPT_SIZE)
    except OSError as error:
        text = f"Unable to read script file because of error: error opening {operands[0]}: {error.strerror}"
        raise CommandError(text, NO_INPUT if isinstance(error, IsADirectoryError) else NO_SCRIPT) from None


def _hint_at_foreign_lines(script: bytes) -> None:
    """Print a hint if a script has option lines of another batch system and no `#$` lines."""
    if PREFIX.encode() in script:
        return
    for mark, system in ((b"#SBATCH", "Slurm"), (b"#PBS", "PBS")):
        if number := sum(line.startswith(mark) for line in script.split(b"\n")):
            lines = "1 line" if number == 1 else f"{number} lines"
            example = f'example of a line that is read: "{PREFIX} -l h_rt=1:0:0"'
            hint(f"{lines} of the script for {system} ({mark.decode()}) not read; {example}")


def submit_request(job: ReadSubmission, kind: str = "batch") -> "dict[str, Any]":
    """The body of the request `submit`. Raises OptionError for arguments that no request can carry."""
    request = job.target.request
    arguments = job.operands[1:]
    if kind != "batch":
        request["kind"] = kind
    if kind not in ("batch", "qrsh"):
        arguments = job.operands
        request["binary"] = True
    elif job.script is None:
        if not job.operands or not job.operands[0]:
            raise OptionError("command required for a binary job")
        request["binary"] = True
        request["script_file"] = job.operands[0]
    else:
        request["script_file"] = job.operands[0] if job.operands and job.operands[0] != STDIN else "STDIN"
        try:
            request["script"] = job.script.decode()
        except UnicodeDecodeError:
            import binascii

            request["script"] = binascii.b2a_base64(job.script, newline=False).decode()
            request["script_encoding"] = "base64"
    request["args"] = arguments
    for argument in job.operands:
        if "\0" in argument or any("\ud800" <= character <= "\udfff" for character in argument):
            raise OptionError(f"the argument {argument!a} is not text in UTF-8")
    add_origin(request, job.target.cwd)
    add_path_aliases(request)
    if job.settings.get("jsv"):
        from clients.verifiers import verify_request

        request = verify_request(job.target.command, request, job.settings["jsv"])
    return request


def default_name(request: "dict[str, Any]") -> str:
    """The name that a job without -N gets (SB-9); the qmaster decides, this is for -verify."""
    return str(request.get("name") or os.path.basename(str(request["script_file"])))
