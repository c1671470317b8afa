"""Start of the program `gridengine`: every failure that a person can cause is one line on stderr, exit code 1."""

from __future__ import annotations

import sys

from typer.exceptions import Abort, TyperException

from clients.admin.program import app
from clients.admin.refusal import Refusal
from clients.program import show_version


def main() -> int:
    """Run the command line and return the exit code. First words are as those of the other commands, too."""
    words = ["--help" if index == 0 and word == "-help" else word for index, word in enumerate(sys.argv[1:])]
    if words[:1] in (["--version"], ["-version"]):
        return show_version()
    try:
        return app(words, standalone_mode=False) or 0
    except Refusal as refusal:
        return _give_up(str(refusal))
    except TyperException as error:
        return _give_up(f"{error.format_message()} (gridengine --help explains)")
    except (KeyboardInterrupt, Abort):
        print("gridengine: interrupted", file=sys.stderr)
        return 130


def _give_up(reason: str) -> int:
    print(f"gridengine: {reason}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
