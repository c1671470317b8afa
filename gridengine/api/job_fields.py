"""What a program says of a job or a reservation, in Python's types, and how it becomes a request.

Owns the keyword arguments of `submit`, `alter` and `reserve`: names and meaning are those of the fields of docs/gdi.md (`Submit`,
`Reserve`), but `queue`, which is -q. Texts in which options stand are read by the option table. Called by `operations`.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypedDict

from gridengine.options.option import Option, OptionError, options_of, read_options, split_words
from gridengine.options.script_options import PREFIX, script_settings
from gridengine.options.submission import Submission

Texts = str | int | Iterable[str | int]
Requests = Mapping[str, object] | str | Iterable[str]
PathText = str | os.PathLike[str]


class JobFields(TypedDict, total=False):
    """Keyword arguments that describe a job. `hard`, `soft`: resources as {"h_rt": 60}, or "h_rt=60". Times are epoch seconds.

    `queue`: -q; `environment`: variables of -v; the others are fields of `Submit`.
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
    """Keyword arguments that describe an advance reservation: `queue` is -q, the others are fields of `Reserve`."""

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
    return [f"{name}={amount}" for name, amount in value.items()] if isinstance(value, Mapping) else texts(value)


def _on_hosts(value: PathText) -> list[list[str]]:
    return [["", os.fspath(value)]]


def _directory(value: PathText) -> str:
    return os.path.abspath(value)


_FORMS: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys(("hard_queues", "soft_queues", "master_queues", "mail_list", "users"), texts),
    **dict.fromkeys(("hold_jid", "hold_jid_ad", "hold_jid_ok", "hold_jid_fail"), texts),
    **dict.fromkeys(("hard", "soft"), _resources),
    **dict.fromkeys(("stdout", "stderr", "stdin", "shells"), _on_hosts),
    **dict.fromkeys(("pe_range", "tasks"), str),
    "cwd": _directory,
    "environment": dict,
    "context": dict,
}
"""How a field becomes what the request has; what is not here is taken as it is."""


def request_fields(fields: Mapping[str, Any], of: type) -> dict[str, Any]:
    """The fields of a request. `of`: JobFields or ReservationFields. Raises TypeError for a name that is none of it."""
    request = {}
    for name, value in fields.items():
        if name not in of.__annotations__:
            raise TypeError(f"there is no field {name!r} of a {'job' if of is JobFields else 'reservation'}")
        field = _NAMES.get(name, name)
        request[field] = _FORMS[field](value) if field in _FORMS else value
    if "environment" in request and of is JobFields:
        request["environment_names"] = list(request["environment"])
    return request


def options_in(text: str | Sequence[str], script: bytes, name: str) -> dict[str, Any]:
    """The fields of a request that options give: those of a script's `#$` lines, then those of `text`. Raises ValueError."""
    words = split_words(text) if isinstance(text, str) else list(text)
    if not words and PREFIX.encode() not in script:
        return {}
    from gridengine.options.submit import SUBMIT_OPTIONS

    options = options_of("qsub", SUBMIT_OPTIONS)
    target = Submission("qsub", os.environ, os.getcwd(), time.time())
    try:
        for level, lines in enumerate((script_settings(script, PREFIX, name, options), [_settings(words, options)])):
            target.level = level
            for line in lines:
                target.soft = False
                for option, values, place in line:
                    option.apply(target, values, place)
    except OptionError as error:
        raise ValueError(str(error)) from None
    return target.request


def _settings(words: list[str], options: dict[str, Option]) -> list[tuple[Option, list[str], str]]:
    settings, operands = read_options(words, options, "options")
    if operands:
        raise OptionError(f'"{operands[0]}" is no option', "options")
    return settings
