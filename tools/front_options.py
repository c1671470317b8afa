"""`python -m tools.front_options`: the options that the native front understands, as a C header out of the table of options.

Owns which folds the front has (`clients/front/folds.c`). An option that is not in the header is handed over to the command in
Python. Called by `clients/front/Makefile`. Source: adr/0261.
"""

from __future__ import annotations

import inspect
import json
import signal
import sys
from collections.abc import Callable, Iterator
from typing import Any

from clients.progress import PENDING_S
from clients.render.accounting import LINES, RULE
from clients.render.jobs import JobTable
from gridengine.errors import EXIT_SYNC_FAILED
from gridengine.options import fields
from gridengine.options import submit_folds as fold
from gridengine.options.option import Option, options_of
from gridengine.options.script_options import PREFIX
from gridengine.options.status import STATUS_OPTIONS
from gridengine.options.submit import SUBMIT_OPTIONS
from gridengine.usage import failed
from gridengine.usage.accounting import FIELDS, WIDTH

#: functions of `submit_folds` that the front has, too
_FOLDS: dict[Callable[..., Any], str] = {
    fold.account: "NOT_EMPTY",
    fold.add_names: "NAMES",
    fold.addresses: "ADDRESS",
    fold.all_variables: "ALL_VARIABLES",
    fold.hard: "NOTHING",
    fold.holds: "USER_HOLD",
    fold.mail_options: "MAIL_OPTIONS",
    fold.name: "JOB_NAME",
    fold.opposite: "OPPOSITE",
    fold.parallel_environment: "PARALLEL",
    fold.paths: "PATH",
    fold.predecessors: "PREDECESSORS",
    fold.queues: "QUEUES",
    fold.requests: "REQUESTS",
    fold.setting_switch: "SYNC",
    fold.switch: "SWITCH",
    fold.tasks: "TASKS",
    fold.text: "TEXT",
    fold.true: "TRUE",
    fold.validation: "VALIDATION",
    fold.variables: "VARIABLES",
    fold.working_directory: "DIRECTORY",
}
_SETTINGS = {"-terse": "TERSE"}
"""Options that are settings of the command itself."""
_HANDED_OVER = frozenset(("-now",))
"""Options that have such a fold, and an effect on the command besides."""


def fold_of(option: Option) -> tuple[str, int, int]:
    """The front's fold of an option of qsub with the limits of a number; "" if the option is handed over."""
    if option.name in _HANDED_OVER:
        return "", 0, 0
    if option.fold.__qualname__ == "number.<locals>.fold":
        limits = inspect.getclosurevars(option.fold).nonlocals
        return "NUMBER", limits["low"], limits["high"]
    name = _SETTINGS.get(option.name, "") if option.fold is fold.setting else _FOLDS.get(option.fold, "")
    return name, 0, 0


def understood(command: str) -> dict[str, tuple[Option, str, int, int]]:
    """The options that the front understands, by name, with their folds and limits."""
    if command == "qsub":
        table = options_of("qsub", SUBMIT_OPTIONS)
        return {name: (option, *fold_of(option)) for name, option in table.items() if fold_of(option)[0]}
    users = {name: option for name, option in options_of("qstat", STATUS_OPTIONS).items() if option.field == "users"}
    return {name: (option, "USERS", 0, 0) for name, option in users.items() if option.fold is fields.names}


def _accounting() -> Iterator[str]:
    """The lines of a record as qacct prints it."""
    rows = [(json.dumps(label), FIELDS.index(field), f"KIND_{kind.upper().replace(' ', '_')}") for label, field, kind in LINES]
    yield f"enum kind {{ {', '.join(dict.fromkeys(kind for _, _, kind in rows))} }};"
    yield f"#define ACCOUNTING_FIELDS {WIDTH}"
    yield f"#define ACCOUNTING_RULE {json.dumps(RULE)}"
    yield f"#define ACCOUNTING_LINES {{{', '.join(f'{{{label}, {place}, {kind}}}' for label, place, kind in rows)}}}"
    yield f"#define FAILURES {{{', '.join(f'[{number}] = {json.dumps(text)}' for number, text in failed.TEXTS.items())}}}"
    yield f"#define UNKNOWN_FAILURE {json.dumps(failed.UNKNOWN)}"


def header() -> Iterator[str]:
    """The lines of the header."""
    commands = ("qsub", "qstat")
    kinds = sorted({kind for command in commands for _, kind, _, _ in understood(command).values()})
    yield "/* Made by tools/front_options.py. */\n#ifndef OPTION_ROWS"
    yield f"enum fold {{ {', '.join(f'FOLD_{kind}' for kind in kinds)} }};"
    yield f"#define SCRIPT_PREFIX {json.dumps(PREFIX)}"
    yield f"#define PENDING_MS {PENDING_S * 1000:.0f}"
    yield f"#define EXIT_SYNC_FAILED {EXIT_SYNC_FAILED}"
    yield f"#define SIGNAL_NAMES {{{', '.join(f'[{number}] = {json.dumps(number.name)}' for number in signal.Signals)}}}"
    yield f"#define JOB_LIST_HEADER {json.dumps(JobTable().header())}"
    yield from _accounting()
    yield "#else"
    for command in commands:
        yield f"static const struct option {command}_options[] = {{"
        for name, (option, kind, low, high) in understood(command).items():
            yield f'    {{"{name}", {len(option.arguments)}, FOLD_{kind}, "{option.field}", {low}, {high}}},'
        yield "};"
    yield "#endif"


if __name__ == "__main__":
    sys.stdout.write("".join(f"{line}\n" for line in header()))
