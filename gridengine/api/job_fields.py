"""The fields of a job or a reservation in Python's types, and their conversion to a request.

Owns the keyword arguments of `submit`, `alter` and `reserve`: names and meaning as of the fields in docs/gdi.md (`Submit`,
`Reserve`), except `queue`, which is -q. The option table parses texts with options. Called by `operations`.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypedDict

from gridengine.options.option import Option, OptionError, options_of, read_options, split_words
from gridengine.options.script_options import PREFIX, script_settings
from gridengine.options.submit_folds import Submission
from gridengine.syntax.request_list import parse_requests

Texts = str | int | Iterable[str | int]
Requests = Mapping[str, object] | str | Iterable[str]
PathText = str | os.PathLike[str]


class JobFields(TypedDict, total=False):
    """Keyword arguments that describe a job. Times are epoch seconds.

    `hard`, `soft`: resources as {"gpu": 1, "h_rt": 60}, or as of -l: "gpu=1,h_rt=60".
    `queue`: -q; `environment`: variables of -v; the other arguments are fields of `Submit`.
    """

    name: str
    queue: Texts
    soft_queues: Texts
    master_queues: Texts
    hard: Requests
    soft: Requests
    pe: str
    pe_range: str | int
    allocation_rule: str
    binding: str
    tasks: str | int
    task_concurrency: int
    environment: Mapping[str, str]
    cwd: PathText
    stdout: PathText
    stderr: PathText
    stdin: PathText
    merge: bool
    shells: PathText
    no_shell: bool
    hold_jid: Texts
    hold_jid_ad: Texts
    hold_jid_ok: Texts
    hold_jid_fail: Texts
    holds: str
    start_after: float
    deadline: float
    priority: int
    job_share: int
    override_tickets: int
    ar: int
    reserve: bool
    now: bool
    rerun: bool
    notify: bool
    checkpoint: str
    checkpoint_when: str
    mail_options: str
    mail_list: Texts
    account: str
    project: str
    context: Mapping[str, str]
    comment: str
    transfer_files: str
    verify: str


class ReservationFields(TypedDict, total=False):
    """Keyword arguments that describe an advance reservation: `queue` is -q, the other arguments are fields of `Reserve`."""

    name: str
    start_time: float
    end_time: float
    duration: float
    queue: Texts
    master_queues: Texts
    hard: Requests
    pe: str
    pe_range: str | int
    allocation_rule: str
    users: Texts
    account: str
    checkpoint: str
    hard_errors: bool
    mail_options: str
    mail_list: Texts
    now: bool
    heal: bool
    idle_limit: float
    latest: float
    rule: str


_NAMES = {"queue": "hard_queues"}


def texts(value: Texts) -> list[str]:
    return [str(value)] if isinstance(value, (str, int)) else [str(each) for each in value]


def _resources(value: Requests) -> list[str]:
    if isinstance(value, str):
        value = dict(parse_requests(value))
    return [f"{name}={amount}" for name, amount in value.items()] if isinstance(value, Mapping) else texts(value)


def _host_paths(value: PathText) -> list[list[str]]:
    return [["", os.fspath(value)]]


def _directory(value: PathText) -> str:
    return os.path.abspath(value)


_CONVERSIONS: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys(("hard_queues", "soft_queues", "master_queues", "mail_list", "users"), texts),
    **dict.fromkeys(("hold_jid", "hold_jid_ad", "hold_jid_ok", "hold_jid_fail"), texts),
    **dict.fromkeys(("hard", "soft"), _resources),
    **dict.fromkeys(("stdout", "stderr", "stdin", "shells"), _host_paths),
    **dict.fromkeys(("pe_range", "tasks"), str),
    "cwd": _directory,
    "environment": dict,
    "context": dict,
}
"""Field -> conversion of its value for the request; other fields stay unchanged."""


def request_fields(fields: Mapping[str, Any], of: type) -> dict[str, Any]:
    """The fields of a request. `of`: JobFields or ReservationFields. Raises TypeError for an unknown name."""
    request = {}
    for name, value in fields.items():
        if name not in of.__annotations__:
            raise TypeError(f"there is no field {name!r} of a {'job' if of is JobFields else 'reservation'}")
        field = _NAMES.get(name, name)
        request[field] = _CONVERSIONS[field](value) if field in _CONVERSIONS else value
    if "environment" in request and of is JobFields:
        request["environment_names"] = list(request["environment"])
    return request


def options_in(text: str | Sequence[str], script: bytes, name: str) -> dict[str, Any]:
    """The fields of a request from options: first a script's `#$` lines, then `text`. Raises ValueError."""
    arguments = split_words(text) if isinstance(text, str) else list(text)
    if not arguments and PREFIX.encode() not in script:
        return {}
    from gridengine.options.submit import SUBMIT_OPTIONS

    options = options_of("qsub", SUBMIT_OPTIONS)
    target = Submission("qsub", os.environ, os.getcwd(), time.time())
    try:
        for level, lines in enumerate((script_settings(script, PREFIX, name, options), [_settings(arguments, options)])):
            target.level = level
            for line in lines:
                target.soft = False
                for option, values, location in line:
                    option.apply(target, values, location)
    except OptionError as error:
        raise ValueError(str(error)) from None
    if "task_list" in target.settings:
        raise ValueError("options: -tasks is for qsub: submit_list submits a task list")
    return target.request


def _settings(arguments: list[str], options: dict[str, Option]) -> list[tuple[Option, list[str], str]]:
    settings, operands = read_options(arguments, options, "options")
    if operands:
        raise OptionError(f'"{operands[0]}" is no option', "options")
    return settings
