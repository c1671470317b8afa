"""Runs a module that imports Ray, without the unused imports of Ray: `ray_program.py [FLAGS] MODULE ARGUMENTS`.

Started by `ray_node` for the node (`ray_process`), and by the raylet for each actor, instead of Ray's own `setup_worker.py`:
that imports all of Ray only to set up an environment, which no actor has here, and has a shell start the worker, which imports it
again.
"""

from __future__ import annotations

import sys

if not sys.flags.safe_path:
    del sys.path[0]  # the directory of this file: its modules are not top-level modules

from runpy import run_module  # noqa: E402

from daemons.runtime.garbage_collection import tune_collection_for_loading  # noqa: E402
from daemons.runtime.lazy_modules import load_lazily  # noqa: E402

_OF_SETUP = ("--language=", "--serialized-runtime-env-context=")
"""Options for the program that this one replaces."""


def module_and_arguments(command_line: list[str]) -> tuple[str, list[str]]:
    """The module, after the interpreter's flags that Ray puts before it, and its arguments."""
    first = next(number for number, argument in enumerate(command_line) if not argument.startswith("-"))
    return command_line[first], [argument for argument in command_line[first + 1 :] if not argument.startswith(_OF_SETUP)]


if __name__ == "__main__":
    tune_collection_for_loading()
    load_lazily()
    module, arguments = module_and_arguments(sys.argv[1:])
    sys.argv[1:] = arguments
    run_module(module, run_name="__main__", alter_sys=True)
