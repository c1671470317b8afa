"""Start and end of a command with Slurm's name: an error is one line, `NAME: error: …`, and status 1."""

import sys

from clients import program
from clients.slurm.arguments import SlurmError
from gridengine.options.option import OptionError

TYPE_CHECKING = False  # as typing has it: clients pay for every import
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from clients.slurm.arguments import SlurmOption


def run(name: str, command: "Callable[[list[str]], int]", rows: "Sequence[SlurmOption]", operands: str) -> int:
    """Run a command with the arguments of this process, and end the process. `operands`: their names in the help."""
    arguments = sys.argv[1:]

    def careful(_: list[str]) -> int:
        if arguments[:1] == ["--version"] or arguments[:1] == ["-V"]:
            return program.show_version()
        if arguments[:1] == ["--help"]:
            print(f"Usage: {name} [OPTIONS] {operands}\n")
            print("\n".join("  " + ", ".join(row.names) + ("=VALUE" if row.takes_value else "") for row in rows))
            return 0
        try:
            return command(arguments)
        except SlurmError as error:
            program.print_error(f"{name}: error: {error}")
            return error.status
        except OptionError as error:
            program.print_error(f"{name}: error: {error.text}")
        return 1

    return program.run(name, careful, [])
