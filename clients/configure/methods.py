"""Notes of qconf on programs that a configuration names and this host cannot execute.

Owns the list of attributes that name programs, and the splitting of their values. Called by `clients.configure.change` and
`attributes` after the qmaster has accepted a change. A note refuses nothing: methods run on exec hosts, which may have the file.
"""

import os
import stat

from clients import program

TYPE_CHECKING = False  # as typing has it: clients pay for every import
if TYPE_CHECKING:
    from collections.abc import Iterable

#: attributes whose value is a command line, `[user@]/path [argument …]`
_COMMANDS = frozenset(
    "prolog epilog shell starter_method suspend_method resume_method terminate_method start_proc_args stop_proc_args "
    "ckpt_command migr_command restart_command clean_command shepherd_cmd "
    "qlogin_command qlogin_daemon rlogin_command rlogin_daemon rsh_command rsh_daemon".split()
)


def note_missing(kind: str, attributes: "Iterable[tuple[str, str]]") -> None:
    """Print a line on stderr for each program in (attribute, value) pairs that is not executable on this host."""
    for attribute, value in attributes:
        if "/" in value and (attribute in _COMMANDS or attribute == "load_sensor"):
            for path in dict.fromkeys(_paths(kind, attribute, value)):
                fault = _fault(path)
                if fault:
                    program.print_error(f"note: {attribute}: {path} {fault}")


def _paths(kind: str, attribute: str, value: str) -> "list[str]":
    """The absolute paths of programs in the value of an attribute, without paths that only a host can expand."""
    if attribute == "load_sensor":
        commands = value.replace(",", " ").split()
    elif kind == "cluster_queue":
        from gridengine.syntax.overrides import Overrides

        # -mattr takes tuples without a default
        commands = [text for _, text in Overrides.parse(f"NONE,{value}" if value.startswith("[") else value).values()]
    else:
        commands = [value]
    paths = [_program(command) for command in commands]
    return [path for path in paths if path.startswith("/") and "$" not in path]


def _program(command: str) -> str:
    """The program of a command line without its `user@`; "" for an invalid line."""
    import shlex

    try:
        tokens = shlex.split(command)
    except ValueError:
        return ""
    executable = tokens[0] if tokens else ""
    user, _, path = executable.partition("@/")
    return f"/{path}" if path and "/" not in user else executable


def _fault(path: str) -> str:
    """The reason for which this host cannot execute a file; "" if it can, or the caller has no access."""
    try:
        mode = os.stat(path).st_mode
    except (FileNotFoundError, NotADirectoryError):
        return "is not on this host"
    except OSError:
        return ""
    if not stat.S_ISREG(mode):
        return "is not a file on this host"
    return "" if mode & 0o111 else "is not executable on this host"
