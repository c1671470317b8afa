"""Where `gridengine join` has its token from: standard input, a file, or a prompt.

Never the command line, which every user of the host sees (`ps`) while the command runs. Called by `program`.
Source: docs/security.md.
"""

from __future__ import annotations

import getpass
import os
import stat
import sys
from pathlib import Path

from clients.admin.refusal import Refusal
from gridengine.errors import SyntaxFault
from gridengine.joining import parse_token

#: bytes that are read at most: a token has fewer
_LONGEST = 4096


def read_token(given: str | None, file: Path | None) -> str:
    """The token that was meant: `given` is None or -. Refusal: it was said openly, others may read the file, or there is none."""
    if given is not None and file is not None:
        raise Refusal("--token and --token-file: say one of them")
    if given not in (None, "-"):
        raise Refusal(_said_openly(str(given)))
    if file is not None:
        return _of_file(file)
    if sys.stdin.isatty():
        return _prompted()
    if given is None:
        raise Refusal("which token: --token - reads it from standard input, --token-file FILE from a file")
    return sys.stdin.read(_LONGEST).strip()


def _said_openly(text: str) -> str:
    """The refusal of a token on the command line, which has been shown by now, with what to do about it."""
    how = "--token - reads it from standard input, --token-file FILE from a file, and without either you are asked for it"
    try:
        number = parse_token(text).number
    except SyntaxFault:
        return f"--token: {how}"
    return (
        f"--token: every user of this host sees what is on the command line: {how}. This token was seen: on the master host, "
        f"gridengine token revoke {number}, and gridengine token join makes another"
    )


def _of_file(path: Path) -> str:
    try:
        with path.open(encoding="ascii", errors="replace") as file:
            status = os.fstat(file.fileno())
            if stat.S_ISREG(status.st_mode) and status.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
                raise Refusal(f"--token-file {path}: others than its owner may read it (chmod 600 {path})")
            return file.read(_LONGEST).strip()
    except OSError as error:
        raise Refusal(f"--token-file {path}: {error.strerror}") from error


def _prompted() -> str:
    try:
        return getpass.getpass("Token of gridengine token join: ").strip()
    except (EOFError, KeyboardInterrupt):
        raise Refusal("no token was given") from None
