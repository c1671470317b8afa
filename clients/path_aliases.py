"""The path aliases that a job takes along: of the cell's `sge_aliases` and of the user's.

Owns their files; `gridengine.files.path_aliases` parses the lines. Called by the submitting commands and qalter.
Source: sge_aliases(5); SB-10; O for the exit code.
"""

import os

from clients import gdi
from gridengine.errors import InvalidValueError
from gridengine.options.option import BAD_VALUE, OptionError

TYPE_CHECKING = False  # as typing has it: clients pay for every import
if TYPE_CHECKING:
    from typing import Any


def add_path_aliases(request: "dict[str, Any]") -> None:
    """Put into a request the aliases that concern its working directory or its program. Raises OptionError."""
    paths = [request.get("cwd", ""), request.get("script_file", "") if request.get("binary") else ""]
    cells, users = f"{gdi.common_directory()}/sge_aliases", f"{os.environ.get('HOME', '')}/.sge_aliases"
    if not any(paths) or not any(map(os.path.exists, (cells, users))):
        return
    from clients.own_files import read_own
    from clients.program import MAX_OPTIONS_SIZE, read_limited
    from gridengine.files.path_aliases import parse_aliases, select_aliases

    lines = []
    for path in filter(os.path.exists, (cells, users)):
        try:
            if path == users:
                lines += parse_aliases(read_own(path) or "", path)
                continue
            with open(path, encoding="utf-8", errors="surrogateescape") as file:
                lines += parse_aliases(read_limited(file, MAX_OPTIONS_SIZE), path)
        except OSError as error:
            raise OptionError(f"cannot read {path}: {error.strerror}", exit_status=BAD_VALUE) from None
        except InvalidValueError as fault:
            raise OptionError(str(fault), exit_status=BAD_VALUE) from None
    if aliases := select_aliases(lines, os.uname().nodename, paths):
        request["path_aliases"] = aliases
