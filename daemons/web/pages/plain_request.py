"""The plain fields of the submit page: cores, memory, time and GPUs in the units of people, as options of qsub.

Owns the choice of the cell's resource attributes and of the parallel environment for several cores on one host. Source:
submit(1) -l, -pe, -alloc; sge_pe(5) allocation_rule; AR-126.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from gridengine.errors import InvalidValueError
from gridengine.placement.access import user_sets_of, users_allowed
from gridengine.protocols.gdi.requests import Caller
from gridengine.state.state import State
from gridengine.values.gpus import GPUS
from gridengine.values.units import format_time, parse_time

FIELDS = ("cores", "memory", "time", "gpus")
_MEMORY, _TIMES = ("h_vmem", "virtual_free", "mem_free"), ("h_rt", "s_rt")
"""Attributes for memory and for the run time, the preferred first."""
_ONE_HOST = "$pe_slots"
_MOST_CORES = 9_999_999
_SIZE = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,3})?) ?([KMGT])(?:I?B)?", re.ASCII | re.IGNORECASE)
_UNIT = r"(?:(d)(?:ays?)?|(h)(?:ours?|rs?)?|(m)(?:in(?:ute)?s?)?|(s)(?:ec(?:ond)?s?)?)(?![a-z])"
_PART = re.compile(r"([0-9]{1,9}) ?" + _UNIT + "[ ,]*", re.ASCII | re.IGNORECASE)
_SECONDS = {"d": 86_400, "h": 3600, "m": 60, "s": 1}


class PlainFields(NamedTuple):
    """The attributes of a cell for `memory`, `time` and `gpus`, "" for none. `per_job`: memory is of the whole job, else of each
    core. `pe`: the parallel environment for two cores, "" for an allocation rule alone."""

    memory: str
    time: str
    gpus: str
    per_job: bool
    pe: str


class PlainOptions(NamedTuple):
    """`values`: options with their values, and all other fields of the form; `faults`: errors by field."""

    values: dict[str, str]
    faults: dict[str, str]


def plain_fields(state: State, caller: Caller) -> PlainFields:
    """The fields that the cell offers to a user."""
    memory = _attribute(state, _MEMORY)
    gpus = GPUS if GPUS in state.complexes and state.complexes[GPUS].is_consumable else ""
    per_job = bool(memory) and state.complexes[memory].per_job
    return PlainFields(memory, _attribute(state, _TIMES), gpus, per_job, choose_pe(state, caller, 2))


def _attribute(state: State, names: Iterable[str]) -> str:
    """The first attribute that is consumable, since the scheduler counts it; else the first that can be requested."""
    found = [name for name in names if name in state.complexes and state.complexes[name].requestable != "NO"]
    return next((name for name in found if state.complexes[name].is_consumable), found[0] if found else "")


def choose_pe(state: State, caller: Caller, cores: int) -> str:
    """The parallel environment with all slots on one host that most queue instances have, "" for none."""
    sets = user_sets_of(state, caller.user, caller.group)
    usable = {
        name
        for name in state.pes
        if (pe := state.pes[name]).allocation_rule == _ONE_HOST and pe.slots >= cores
        and users_allowed(sets, pe.user_lists, pe.xuser_lists)
    }
    counts = Counter(name for config in state.configs.values() for name in config.pe_list & usable)
    return min(counts, key=lambda name: (-counts[name], name), default="")


def plain_options(state: State, caller: Caller, values: Mapping[str, str]) -> PlainOptions:
    """The options of a form: those of the plain fields added to -l, -pe and -alloc."""
    offered = plain_fields(state, caller)
    options, faults = dict(values), dict[str, str]()
    requests: list[str] = []
    readers = {"memory": (offered.memory, memory_value), "time": (offered.time, time_value), "gpus": (offered.gpus, _count)}
    for field, (name, read) in readers.items():
        text = values.get(field, "").strip()
        if text and not name:
            faults[field] = "this cell has no such resource"
        elif text and name in _requested(values.get("-l", "")):
            faults[field] = f"{name} is among the resource requests (-l), too"
        elif text:
            try:
                requests.append(f"{name}={read(text)}")
            except InvalidValueError as error:
                faults[field] = str(error)
    if requests:
        options["-l"] = ",".join(filter(None, [*requests, values.get("-l", "").strip()]))
    if text := values.get("cores", "").strip():
        _add_cores(state, caller, text, options, faults)
    return PlainOptions(options, faults)


def _add_cores(state: State, caller: Caller, text: str, options: dict[str, str], faults: dict[str, str]) -> None:
    try:
        cores = int(_count(text))
    except InvalidValueError as error:
        faults["cores"] = str(error)
        return
    if options.get("-pe") or options.get("-alloc"):
        faults["cores"] = "-pe or -alloc below has the number of slots, too"
    elif cores > 1:
        pe = choose_pe(state, caller, cores)
        options |= {"-pe": f"{pe} {cores}"} if pe else {"-alloc": f"{_ONE_HOST} {cores}"}


def _requested(text: str) -> set[str]:
    return {part.partition("=")[0].strip() for part in text.split(",")}


def memory_value(text: str) -> str:
    """`2G` for `2 G` or `2 GB`. Raises InvalidValueError."""
    match = _SIZE.fullmatch(text)
    if match is None:
        raise InvalidValueError(f'"{text}" is not a memory size with its unit, such as 2 G or 500 M')
    return match[1] + match[2].upper()


def time_value(text: str) -> str:
    """`01:30:00` for `1 h 30 m`, `90 min` or `1:30:00`. Raises InvalidValueError."""
    if text.count(":") == 2:
        return format_time(parse_time(text))
    parts = _PART.findall(text)
    if not parts or _PART.sub("", text).strip():
        raise InvalidValueError(f'"{text}" is not a time with its units, such as 1 h 30 m, 2 d or 1:30:00')
    return format_time(sum(int(number) * _SECONDS["".join(unit).lower()] for number, *unit in parts))


def _count(text: str) -> str:
    if not (text.isascii() and text.isdigit() and len(text) < 8 and 0 < int(text) <= _MOST_CORES):
        raise InvalidValueError(f'"{text}" is not a number from 1 on')
    return str(int(text))
