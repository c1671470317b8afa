"""Random requests, made from the types of the requests themselves: a new request or field is tried without a word here.

Values for a type: tokens that mean something in the cell, its bounds and the next value beyond them, garbage, other types.
A seed gives the same requests again. Used by the fuzzer in this process and by that on the sockets of a cell.
"""

from __future__ import annotations

import json
import random
import types
from functools import cache
from typing import Annotated, Any, Literal, NotRequired, Union, get_args, get_origin, get_type_hints, is_typeddict

import msgspec

from daemons.qmaster.serve.requests.endpoints import ENDPOINTS
from gridengine.protocols.gdi.bounds import FieldsOf, Items, Number, Text
from gridengine.protocols.gdi.reading import BODIES
from gridengine.protocols.gdi.requests import REQUESTS

STREAMS = frozenset(name for name, row in ENDPOINTS.items() if row.kind == "streams")
TYPES: dict[str, Any] = {**REQUESTS, **{name: kind for name, kind in BODIES.items() if name not in STREAMS}}
"""Requests that are answered at once."""

GOOD: dict[str, list[Any]] = {
    "account": ["sge", "team"],
    "action": ["suspend", "unsuspend", "clear", "reschedule", "disable", "enable"],
    "allocation_rule": ["2", "$pe_slots", "$fill_up", "$round_robin"],
    "binding": ["set linear:1", "env striding:2:1", "pe explicit:0,0:0,1"],
    "checkpoint": ["ckpt"],
    "checkpoint_when": ["n", "s", "sx", "0:1:0"],
    "details": ["shares", "requests", "slaves"],
    "duration": [60, 3600.0],
    "explain": ["aAcdE"],
    "hard": ["h_rt=60", "arch=*", "mem_free=1M", "h=h1", "h_vmem=1G", "q=all.q", "s_rt=1:0:0", "num_proc=0x1", "hostname=h[12]"],
    "hard_queues": ["all.q", "all.q@h1", "*@@allhosts", "!all.q|*"],
    "holds": ["u", "n", "U", "uos"],
    "hold_jid": ["1", "job*", "2"],
    "hold_jid_ad": ["1", "3"],
    "host": ["h1", "h2"],
    "kind": ["cluster_queue", "exec_host", "parallel_environment", "complex", "calendar", "resource_quota", "userset", "project"],
    "mail_list": ["alice@h1", "bob"],
    "mail_options": ["bea", "n", "s"],
    "name": ["job", "job2", "all.q", "h1", "make", "@allhosts", "global", "mem_free"],
    "object": ["queue", "queue_domain", "queue_instance", "exechost"],
    "pe": ["make", "mpi", "m*"],
    "pe_range": ["2", "1-4", "2-", "-3,7"],
    "priority": [-5, 0],
    "queues": ["all.q", "all.q@h1", "*"],
    "rule": ["FREQ=DAILY;COUNT=3", "FREQ=WEEKLY;COUNT=2;BYDAY=MO,TU", "FREQ=HOURLY;COUNT=2;BYMONTH=2;BYMONTHDAY=30"],
    "script": ["#!/bin/sh\nsleep 1\n", "#$ -N x\ntrue\n"],
    "script_file": ["/bin/true", "job.sh"],
    "stdout": [["", "/tmp"], ["h1", "/tmp/x"]],
    "targets": ["*", "job*", "1.1-3"],
    "tasks": ["1-5", "1-9:2", "3"],
    "users": ["alice", "bob", "*", "@users", "$user"],
    "verify": ["", "n", "v", "p"],
}
"""Values that a field may well have, so that many requests are accepted and go far."""
TOKENS = [
    "", " ", "a", "job", "*", "?", "[", "[a-", "\\", "!", "|", "a|b", "(", "((a)", "1", "0", "-1", "1-", "1.1",
    "1.", "1-5:2", "all.q", "all.q@h1", "@allhosts", "*@@all*", "alice", "root", "@users", "$user", "!alice",
    "h1", "nosuch", "global", "template", "a=1", "=", "a=", "=1", "h_rt=INFINITY", "h_rt=1e30", "mem_free=-1",
    "slots=3", "NONE", "none", "TRUE", "4G", "0x10", "1e400", "nan", "inf", "99999999999999999999", "a,b", ",",
    ",,", "a b", "/", "/tmp", "../x", "\xe4", "\u4e2d", "\U0001f600", "a:b", "%s", "{}", "2026-01-01", "0:10:0",
    "::", ":", "9" * 30, "\u0663", "\xb2", "1\u0663", "- 1", "+5", "1_000", "a" * 300, "*a" * 200, "?" * 100,
    "FREQ=DAILY",
]
GARBAGE = ["\0", "\x1b[2J", "\n", "\r\n", "\u2028", "\x9b", "\u202e", "a\0b", "\x7f", "\ufffe"]
SCALARS = [None, True, False, -1, 0, 2**31, 2**63, 2**64, -(2**70), 1.5, -0.0, 1e308, "", "x", [], {}, [[]], [None], {"": None}]


class Shapes:
    """Requests of one seed. `pools`: for names of fields, further values that mean something in the cell just now."""

    def __init__(self, seed: int, names: list[str] | None = None) -> None:
        self.random = random.Random(seed)
        self.names = names or list(TYPES)
        self.pools: dict[str, list[Any]] = {}

    def request(self) -> tuple[str, bytes]:
        """Name and body of a request."""
        chance = self.random.random
        # submissions and changes of jobs are what users send
        name = self.random.choice(("submit", "alter_jobs")) if chance() < 0.3 else self.random.choice(self.names)
        if name not in self.names:
            name = self.random.choice(self.names)
        if chance() < 0.01:
            return name, self._raw()
        body = json.dumps(self.value(TYPES[name], name)).encode()
        if chance() < 0.005:
            body = body[: self.random.randrange(len(body) + 1)]
        return name, body

    def _raw(self) -> bytes:
        """Values that are no request."""
        depth = self.random.choice((1, 30, 3000))
        nested = (b"[" * depth, b'{"changes":' * depth, b'{"changes":{"x":' + b"[" * depth)
        return self.random.choice(
            (b"", b"[]", b"null", b"5", b'"x"', b"{", b"\xff\xfe", b'{"job_id":1e999}', b'{"a":NaN}', *nested)
        )

    def value(self, of: Any, field: str = "") -> Any:
        """A value for a type, seldom of another type."""
        if self.random.random() < 0.004:
            return self.random.choice(SCALARS)
        kind, details = _kind(of)
        return getattr(self, f"_{kind}")(details, field)

    def _fields(self, of: Any, field: str) -> dict[str, Any]:
        fields, needed = of
        some = self.random.sample(list(fields), min(len(fields), self.random.choice((0, 1, 2, 2, 3, 3, 4, 6, 9))))
        chosen = dict.fromkeys([*(name for name in needed if self.random.random() < 0.97), *some])
        made = {name: self.value(fields[name], name) for name in chosen}
        if "binary" in fields and "script" not in made and self.random.random() < 0.9:
            made |= {"binary": True, "script_file": "/bin/true"}
        for name, other in (("pe", "pe_range"), ("pe_range", "pe"), ("name", "kind"), ("start_time", "end_time")):
            if name in made and other in fields and other not in made and self.random.random() < 0.8:
                made[other] = self.value(fields[other], other)
        if self.random.random() < 0.004:
            made[self.random.choice(TOKENS)] = 1
        return made

    def _text(self, bound: Text, field: str) -> str:
        draw = self.random.random()
        if draw < 0.75 and (good := self._good(field, str)):
            return str(self.random.choice(good))
        if draw < 0.96:
            return self.random.choice(TOKENS)
        if draw < 0.985:
            return self.random.choice(TOKENS) + self.random.choice(GARBAGE)
        # the largest texts are worth a try, but not half of the time
        length = bound.most + self.random.randrange(-1, 2)
        return self.random.choice("aé*?1,") * (length if length < 5000 or draw > 0.9995 else 5000)

    def _number(self, bound: Number, field: str) -> float:
        draw = self.random.random()
        if draw < 0.6 and (good := self._good(field, (int, float))):
            return self.random.choice(good)  # type: ignore[no-any-return]
        if draw < 0.9:
            return self.random.choice((0, 1, 2, 3, 7, 60, 1000))
        return self.random.choice((bound.low, bound.low - 1, bound.high, bound.high + 1, bound.high - 1, 10**300))

    def _good(self, field: str, kind: Any) -> list[Any]:
        found = self.pools.get(field) if self.random.random() < 0.7 else None
        return [value for value in found or GOOD.get(field, ()) if isinstance(value, kind)]

    def _list(self, of: Any, field: str) -> list[Any]:
        item, bound = of
        draw = self.random.random()
        if draw < 0.1 and (good := GOOD.get(field)):
            return [self.random.choice(good)]
        if draw > 0.999:
            return [self.value(item, field)] * (bound.most + self.random.randrange(2))
        return [self.value(item, field) for _ in range(self.random.choice((0, 1, 1, 1, 2, 3)))]

    def _table(self, of: Any, field: str) -> dict[str, Any]:
        key, item = of
        return {str(self.value(key, field)): self.value(item, field) for _ in range(self.random.choice((0, 1, 1, 2, 3)))}

    def _tuple(self, of: Any, field: str) -> list[Any]:
        return [self.value(part, field) for part in of]

    def _choice(self, of: Any, field: str) -> Any:
        return self.random.choice(of)

    def _maybe(self, of: Any, field: str) -> Any:
        return None if self.random.random() < 0.3 else self.value(of, field)


@cache
def _kind(of: Any) -> tuple[str, Any]:
    """The function that makes a value of a type, and its parameters."""
    origin, arguments = get_origin(of), get_args(of)
    if isinstance(of, type) and issubclass(of, msgspec.Struct):
        needed = [each.name for each in msgspec.structs.fields(of) if each.required]
        return "fields", (get_type_hints(of, include_extras=True), needed)
    if is_typeddict(of):
        return "fields", (get_type_hints(of, include_extras=True), list(of.__required_keys__))
    if origin is NotRequired:
        return _kind(arguments[0])
    if origin in (Union, types.UnionType):
        return "maybe", next(each for each in arguments if each is not type(None))
    if origin is Literal:
        return "choice", list(arguments)
    if of is bool:
        return "choice", [True, False]
    if origin is tuple:
        return "tuple", arguments
    if origin is Annotated:
        bound = arguments[1]
        if isinstance(bound, FieldsOf):
            return "fields", (get_type_hints(bound.request, include_extras=True), [])
        if isinstance(bound, Items):
            of_items = get_args(arguments[0])
            return ("list", (of_items[0], bound)) if get_origin(arguments[0]) in (list, tuple) else ("table", of_items)
        return ("text" if isinstance(bound, Text) else "number"), bound
    raise TypeError(of)
