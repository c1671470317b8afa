"""Entry point of the program `gridengine`: a user error is one line on stderr and exit code 1."""

from __future__ import annotations

import os
import re
import sys

from typer.exceptions import Abort, TyperException

import gridengine.terminal.typer_values  # noqa: F401  no pydantic for texts and flags
from clients.admin.errors import AdminError
from clients.admin.program import app
from clients.program import show_version
from gridengine.errors import plain_fault
from gridengine.extensions import MissingLibraryError
from gridengine.terminal.standard_output import is_write_error, with_output_check

_REASONS = {
    "Input should be a valid integer": "a whole number is expected",
    "Input should be a valid number": "a number is expected",
    "Input should be greater than or equal to ": "must be at least ",
    "Input should be less than or equal to ": "must be at most ",
}


@with_output_check
def main() -> int:
    """Run the command line and return the exit code. The first argument may be `-help`, `-version` or `version`, as for the other
    commands.
    """
    arguments = ["--help" if index == 0 and argument == "-help" else argument for index, argument in enumerate(sys.argv[1:])]
    if arguments in (["--version"], ["-version"], ["version"]):
        return _show_version()
    try:
        return app(arguments, standalone_mode=False) or 0
    except (AdminError, MissingLibraryError) as refusal:
        return _give_up(str(refusal))
    except TyperException as error:
        return _give_up(f"{plain_reason(error.format_message())} (gridengine --help explains)")
    except (OSError, ValueError) as error:
        if is_write_error(error):
            raise
        # a fault in the files of a broken cell that the command did not explain
        if "SGE_DEBUG_LEVEL" in os.environ:
            raise
        return _give_up(f"{plain_fault(error)} (gridengine doctor checks the cell; SGE_DEBUG_LEVEL=1 shows where)")
    except (KeyboardInterrupt, Abort):
        print("gridengine: interrupted", file=sys.stderr)
        return 130


def _show_version() -> int:
    """The version, and of an installed program its release with the date of its source."""
    from clients.admin.installation import own_release

    show_version()
    if (release := own_release()) is not None:
        print(f"release {release}")
    return 0


def plain_reason(message: str) -> str:
    """The library's message on a wrong argument, in the terms of this program."""
    value = re.fullmatch(r"Invalid value for '(?P<place>[^']*)': (?P<reason>.*)", message, re.DOTALL)
    if value is None:
        return message
    reason = value["reason"].removeprefix("Value error, ").removesuffix(".")
    for theirs, ours in _REASONS.items():
        if reason.startswith(theirs):
            reason = ours + (reason.removeprefix(theirs) if ours.endswith(" ") else "")
    return f"{value['place']}: {reason}"


def _give_up(reason: str) -> int:
    print(f"gridengine: {reason}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
