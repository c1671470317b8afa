"""The command line of the job itself: shell_start_mode, login shells, -S, -shell n, binaries, starter_method.

Pure: configuration in, argument list out. Called by `plan`; nothing here reads the disk.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from gridengine.protocols.task_file import TaskConfig
from shepherd.methods import expand, split

_PLAIN = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_@%+:,./-")
_C_SHELLS = ("csh", "tcsh")


@dataclass(frozen=True, slots=True)
class CommandLine:
    """`executable` is looked up in PATH when it has no slash. `script_on_stdin`: file that becomes standard input.

    `interpreter`: `executable` is a command interpreter that the job requested, so its absence is a missing shell.
    """

    executable: str
    argv: list[str]
    script_on_stdin: str | None = None
    interpreter: bool = False
    environment: dict[str, str] = field(default_factory=dict)


def job_command_line(config: TaskConfig) -> CommandLine:
    """The call of the job. Raises ValueError when starter_method cannot be read.

    Source: queue_conf(5) shell, shell_start_mode, starter_method (QC-20 to QC-23, QC-26), SO-33.
    """
    if config.login:
        return _in_login_shell(config)
    what = config.command if config.binary else config.script
    assert what is not None  # the task file was checked
    if config.starter_method is not None:
        return _through_starter(config, config.starter_method, what)
    if config.binary and not config.no_shell:
        return _binary_in_shell(config, what)
    if config.binary or config.shell_start_mode == "unix_behavior":
        return CommandLine(what, [what, *config.args])
    name = shell_argv0(config)
    if config.shell_start_mode == "script_from_stdin":
        return CommandLine(config.shell, [name, "-s", *config.args], script_on_stdin=what, interpreter=True)
    return CommandLine(config.shell, [name, what, *config.args], interpreter=True)


def _in_login_shell(config: TaskConfig) -> CommandLine:
    """The call of qlogin and qrsh: a login shell, or a command in the owner's login shell, its arguments joined by blanks so that
    the shell on the host expands them, as rsh and ssh do. Source: sge_submit(1) qrsh, -noshell, QRSH_WRAPPER (IA-7, SO-24).
    """
    name = _base_name(config.login_shell)
    if config.command is None:
        return CommandLine(config.login_shell, [f"-{name}"], interpreter=True)
    if config.starter_method is not None:
        return _through_starter(config, config.starter_method, config.command)
    if config.no_shell:
        return CommandLine(config.command, [config.command, *config.args])
    text = " ".join([config.command, *config.args])
    if config.wrapper is not None:
        return CommandLine(config.wrapper, [config.wrapper, text], interpreter=True)
    return CommandLine(config.login_shell, [name, "-c", text], interpreter=True)


def is_login_shell(config: TaskConfig) -> bool:
    """Source: sge_conf(5) login_shells (QC-22): the shell's base name is in the list."""
    return _base_name(config.shell) in config.login_shells


def shell_argv0(config: TaskConfig) -> str:
    """Base name of the shell, with a dash before it when it is to be a login shell."""
    return ("-" if is_login_shell(config) else "") + _base_name(config.shell)


def _binary_in_shell(config: TaskConfig, command: str) -> CommandLine:
    """A binary in the job's shell: `command` as the user wrote it, arguments as positional parameters.

    Deviation: 8.1.9 joins command and arguments with spaces and lets the shell split them again, so that arguments with
    spaces, quotes or `$` change. Here they arrive unchanged. A command that is more than a plain name (`-b y 'a; b'`) is text
    for the shell, as in 8.1.9.
    """
    plain = _PLAIN.issuperset(command)
    arguments = [command, *config.args] if plain else list(config.args)
    is_c_shell = _base_name(config.shell) in _C_SHELLS
    text = _c_shell_parameters(arguments) if is_c_shell else '"$@"'
    if not plain:
        text = f"{command} {text}" if arguments else command
    name = shell_argv0(config)
    if not is_c_shell:
        arguments.insert(0, name)  # `sh -c text` takes the next argument as $0
    return CommandLine(config.shell, [name, "-c", text, *arguments], interpreter=True)


def _c_shell_parameters(arguments: list[str]) -> str:
    """Return all arguments of a C shell unchanged; the shell would drop the empty arguments from `$argv:q`."""
    return " ".join(f"$argv[{number}]:q" if argument else '""' for number, argument in enumerate(arguments, 1))


def _through_starter(config: TaskConfig, starter_method: str, what: str) -> CommandLine:
    starter = expand(split(starter_method), config.variables)
    environment = {
        "SGE_STARTER_SHELL_PATH": config.shell,
        "SGE_STARTER_SHELL_START_MODE": config.shell_start_mode,
    }
    if is_login_shell(config):
        environment["SGE_STARTER_USE_LOGIN_SHELL"] = "true"
    script_on_stdin = None
    arguments = [what, *config.args]
    if not config.binary and not config.login and config.shell_start_mode == "script_from_stdin":
        script_on_stdin, arguments[0] = what, "-s"  # the script is read from stdin, not named as an argument
    return CommandLine(starter[0], [*starter, *arguments], script_on_stdin, interpreter=True, environment=environment)


def _base_name(path: str) -> str:
    return path.rpartition("/")[2]
