"""Runs a module that imports Ray, without what Ray would load and not use: `ray_program.py [FLAGS] MODULE ARGUMENTS`.

Started by `ray_node` for the node (`ray_process`), and by the raylet for each actor, in place of Ray's own `setup_worker.py`:
that imports all of Ray only to set up an environment, which no actor has here, and has a shell start the worker, which imports it
again.
"""

from __future__ import annotations

import sys

if not sys.flags.safe_path:
    del sys.path[0]  # the directory of this file, whose modules are no top-level ones

from runpy import run_module  # noqa: E402

from daemons.runtime.cycles import load_seldom_looking  # noqa: E402
from daemons.runtime.late_modules import load_late  # noqa: E402

_OF_SETUP = ("--language=", "--serialized-runtime-env-context=")
"""Options for the program in whose place this is."""


def module_and_arguments(words: list[str]) -> tuple[str, list[str]]:
    """The module, after the flags of the interpreter that Ray puts before it, and what it is given."""
    first = next(number for number, word in enumerate(words) if not word.startswith("-"))
    return words[first], [word for word in words[first + 1 :] if not word.startswith(_OF_SETUP)]


if __name__ == "__main__":
    load_seldom_looking()
    load_late()
    module, arguments = module_and_arguments(sys.argv[1:])
    sys.argv[1:] = arguments
    run_module(module, run_name="__main__", alter_sys=True)
