"""Command lines of the methods (prolog, epilog, pe_start, suspend_method, ...) and their environment.

Pure text work: splitting without a shell, the `user@` prefix, `$variables`, the variables that must not reach a method.
Called by `plan`, `command_line` and `control`.
"""

from __future__ import annotations

import re
import shlex
import signal
from collections.abc import Mapping
from dataclasses import dataclass

from gridengine.errors import UserError

_VARIABLE = re.compile(r"\$(?:\{([A-Za-z_]\w*)\}|([A-Za-z_]\w*))")
_USER_PREFIX = re.compile(r"([^/\s@]+)@(?=/)")

# Variables through which users could run code of their own in place of a method: dynamic linker, C library, shells,
# interpreters. Source: sge_conf(5) SECURITY (EX-20), ld.so(8) secure-execution mode, sudo(8).
_DANGEROUS_PREFIXES = ("LD_", "_RLD", "DYLD_", "MALLOC_", "BASH_FUNC_", "PYTHON", "PERL", "RUBY", "NIS_")
_DANGEROUS = frozenset(
    "GCONV_PATH GETCONF_DIR GLIBC_TUNABLES HOSTALIASES LOCALDOMAIN LOCPATH NLSPATH RESOLV_HOST_CONF RES_OPTIONS "
    "TZDIR IFS CDPATH ENV BASH_ENV SHELLOPTS BASHOPTS PS4 PROMPT_COMMAND ZDOTDIR TERMINFO TERMINFO_DIRS TERMPATH "
    "TERMCAP JAVA_TOOL_OPTIONS _JAVA_OPTIONS JDK_JAVA_OPTIONS CLASSPATH NODE_OPTIONS LUA_INIT TCLLIBPATH "
    "KRB5_CONFIG KRB5_KTNAME OPENSSL_CONF OPENSSL_MODULES".split()
)
SAFE_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class MethodError(UserError, ValueError):
    """A method's command line is invalid; the text is the reason."""


@dataclass(frozen=True, slots=True)
class Method:
    """A method as configured: its user (None: the job's owner) and its arguments, `$variables` not yet expanded."""

    user: str | None
    arguments: list[str]


def split(text: str) -> list[str]:
    """Split a command line into arguments, with the quoting of a shell, but no other shell syntax. Raises MethodError."""
    try:
        arguments = shlex.split(text)
    except ValueError as error:
        raise MethodError(f"can't split {text!r} into arguments: {str(error).lower()}") from error
    if not arguments:
        raise MethodError("empty command line")
    return arguments


def parse_method(text: str) -> Method:
    """`[user@]/path [argument ...]`. Source: sge_conf(5) prolog (QC-25). Raises MethodError."""
    prefix = _USER_PREFIX.match(text)
    return Method(prefix[1], split(text[prefix.end() :])) if prefix else Method(None, split(text))


def expand(arguments: list[str], variables: Mapping[str, str]) -> list[str]:
    """Replace `$name` and `${name}` inside each argument, after splitting: values with spaces stay one argument.

    Source: queue_conf(5) suspend_method (QC-27). As in 8.1.9 an unknown name is an error: raises MethodError.
    """

    def value(match: re.Match[str]) -> str:
        name = match[1] or match[2]
        if name not in variables:
            raise MethodError(f'unknown variable "${name}"')
        return variables[name]

    return [_VARIABLE.sub(value, argument) for argument in arguments]


def parse_signal(text: str) -> int:
    """Number of a signal given as number, `SIGTERM` or `TERM`. Raises MethodError."""
    if text.isascii() and text.isdecimal():
        number = int(text)
    else:
        name = text.upper()
        number = getattr(signal.Signals, name if name.startswith("SIG") else f"SIG{name}", 0)
    if 0 < number < signal.NSIG:
        return int(number)
    raise MethodError(f'"{text}" is no signal')


def parse_control_method(text: str | None) -> Method | int | None:
    """suspend_method, resume_method, terminate_method: None for the default, a signal's number, or a command.

    Source: queue_conf(5) suspend_method (QC-27). Raises MethodError.
    """
    if text is None or text.upper() in ("NONE", ""):
        return None
    if text.startswith("/") or _USER_PREFIX.match(text):
        return parse_method(text)
    return parse_signal(text)


def safe_start(environment: Mapping[str, str]) -> dict[str, str]:
    """The job's environment for a method that runs as its owner, without variables that would run the user's own code in its
    place: the method is configured by the administrator, and its failure may stop the queue.

    Deviation: 8.1.9 starts such methods in the whole environment, with a PATH whose first directory is writable for the user.
    """
    kept = {
        name: value
        for name, value in environment.items()
        if name not in _DANGEROUS and not name.startswith(_DANGEROUS_PREFIXES) and not _names_a_locale_file(name, value)
    }
    return kept | {"PATH": SAFE_PATH, "PYTHONNOUSERSITE": "1"}


def _names_a_locale_file(name: str, value: str) -> bool:
    is_locale = name in ("LANG", "LANGUAGE") or name.startswith("LC_")
    return (is_locale and ("/" in value or "%" in value)) or value.startswith("() {")
