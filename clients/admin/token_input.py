"""The input of the token of `gridengine join`: standard input, a file, or a prompt.

Never the command line, which every user of the host can see (`ps`) while the command runs. Called by `program`. Source:
docs/security.md.
"""

from __future__ import annotations

import getpass
import os
import stat
import sys
from pathlib import Path

from clients.admin.errors import AdminError
from gridengine.errors import InvalidValueError
from gridengine.protocols.joining import parse_token

#: limit of bytes read; a token is shorter
_LONGEST = 4096


def read_token(given: str | None, file: Path | None) -> str:
    """The token; `given` is None or -. AdminError: the token is on the command line, other users may read the file, or there is
    no token.
    """
    if given is not None and file is not None:
        raise AdminError("--token and --token-file: give only one of them")
    if given not in (None, "-"):
        raise AdminError(_exposed_token_text(str(given)))
    if file is not None:
        return _read_file(file)
    if sys.stdin.isatty():
        return _prompt()
    if given is None:
        raise AdminError("no token: --token - reads it from standard input, --token-file FILE from a file")
    return sys.stdin.read(_LONGEST).strip()


def _exposed_token_text(text: str) -> str:
    """The refusal of a token on the command line, which is exposed by now, with the next steps."""
    how = "--token - reads it from standard input, --token-file FILE from a file, and without either a prompt asks for it"
    try:
        number = parse_token(text).number
    except InvalidValueError:
        return f"--token: {how}"
    return (
        f"--token: every user of this host can see the command line: {how}. This token is exposed: on the master host,  "
        f"gridengine token revoke {number}, and gridengine token join makes another"
    )


def _read_file(path: Path) -> str:
    try:
        with path.open(encoding="ascii", errors="replace") as file:
            status = os.fstat(file.fileno())
            if stat.S_ISREG(status.st_mode) and status.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
                raise AdminError(f"--token-file {path}: users other than its owner may read it (chmod 600 {path})")
            return file.read(_LONGEST).strip()
    except OSError as error:
        raise AdminError(f"--token-file {path}: {error.strerror}") from error


def _prompt() -> str:
    try:
        return getpass.getpass("Token of gridengine token join: ").strip()
    except (EOFError, KeyboardInterrupt):
        raise AdminError("no token was given") from None
