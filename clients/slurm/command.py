"""How a command with Slurm's name begins and ends: its faults are one line, `NAME: error: …`, and status 1.

Called by the `main` of each.
"""

import sys

from clients import program
from clients.slurm.words import SlurmError
from gridengine.options.option import OptionError

TYPE_CHECKING = False  # as typing has it: clients pay for every import
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from clients.slurm.words import SlurmOption


def run(name: str, command: "Callable[[list[str]], int]", rows: "Sequence[SlurmOption]", operands: str) -> int:
    """Run a command with the arguments of this process, and end the process. `operands`: how they are named in the help."""
    words = sys.argv[1:]

    def careful(_: list[str]) -> int:
        if words[:1] == ["--version"] or words[:1] == ["-V"]:
            return program.show_version()
        if words[:1] == ["--help"]:
            print(f"Usage: {name} [OPTIONS] {operands}\n")
            print("\n".join("  " + ", ".join(row.names) + ("=VALUE" if row.takes_value else "") for row in rows))
            return 0
        try:
            return command(words)
        except SlurmError as error:
            program.complain(f"{name}: error: {error}")
            return error.status
        except OptionError as error:
            program.complain(f"{name}: error: {error.text}")
        return 1

    return program.run(name, careful, [])
