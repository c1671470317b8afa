"""The settings of `bootstrap`: which there are, how each is read, and which values are refused.

Owns that table, for the daemons (`daemons.runtime.cell`) and for programs that look at a cell without being one of them
(`clients.admin`). Who opens the file differs. Source: sge_bootstrap(5), docs/architecture.md section 3.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Literal, get_args

from gridengine.errors import SyntaxFault
from gridengine.units import parse_memory

WaitFor = Literal["one", "none", "majority"]

#: settings that must be there
REQUIRED = ("admin_user", "qmaster_spool_dir", "execd_spool_dir", "run_dir", "qmaster_port", "ray_port")
#: what Ray's nodes and interactive sessions listen on where bootstrap says nothing: enough for four nodes on a machine
RAY_PORTS = (6447, 6510)
#: ports that one node may need: two of its raylet, one an actor, one of interactive sessions
PORT_BLOCK = 16
_LARGEST_SIZE = 2**30
_LAST_PORT = 65535


def _number(text: str, low: int, high: int, what: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 10 and low <= int(text) <= high):
        raise SyntaxFault(f"is not a {what} from {low} to {high}")
    return int(text)


def _choice(text: str, choices: tuple[str, ...]) -> str:
    if text not in choices:
        raise SyntaxFault(f"is not {choices[0] if len(choices) == 1 else 'one of ' + ', '.join(choices)}")
    return text


def _switch(text: str) -> bool:
    return _choice(text.lower(), ("true", "false")) == "true"


def _directory(text: str) -> Path:
    if not text.startswith("/"):
        raise SyntaxFault("is not an absolute path")
    return Path(text)


def _size(text: str) -> int:
    """A number with or without a letter for its unit: `16M`."""
    try:
        found = parse_memory(text)
    except SyntaxFault:
        found = 0
    if not 1 <= found <= _LARGEST_SIZE:
        raise SyntaxFault("is not a number from 1 to 1G")
    return int(found)


def _port_range(text: str) -> tuple[int, int]:
    first, _, last = text.partition("-")
    try:
        low, high = (_number(word, 1, _LAST_PORT, "port") for word in (first, last))
    except SyntaxFault:
        low, high = 0, 0
    if high - low + 1 < PORT_BLOCK:
        raise SyntaxFault(f"is not FIRST-LAST, {PORT_BLOCK} ports or more from 1 to {_LAST_PORT}")
    return low, high


def _domain(text: str) -> str:
    return "" if text.lower() == "none" else text


_port = partial(_number, low=1, high=_LAST_PORT, what="port")

#: setting -> what reads its text, and raises SyntaxFault with what is wrong with it
SETTINGS: dict[str, Callable[[str], Any]] = {
    **dict.fromkeys(("qmaster_port", "ray_port", "execd_port", "shadow_port"), _port),
    **dict.fromkeys(("qmaster_spool_dir", "execd_spool_dir", "run_dir"), _directory),
    "admin_user": str,
    "spooling_method": partial(_choice, choices=("sqlite",)),
    "security_mode": partial(_choice, choices=("tls",)),
    **dict.fromkeys(("json_log", "ignore_fqdn"), _switch),
    **dict.fromkeys(("max_request_size", "max_submit_size", "max_user_connections"), _size),
    "ray_ports": _port_range,
    "backup_hour": partial(_number, low=0, high=23, what="number"),
    "backup_keep": partial(_number, low=0, high=1000, what="number"),
    "answers_wait_for": partial(_choice, choices=get_args(WaitFor)),
    "default_domain": _domain,
}
#: settings of 8.1.9 that have no meaning here and may stand in a file
_EARLIER = (
    *("spooling_lib", "spooling_params", "binary_path", "listener_threads", "worker_threads", "scheduler_threads"),
    *("jvm_threads", "event_master_threads", "gdi_threads", "pop_execd_timeout"),
)


def read_values(settings: Mapping[str, str]) -> dict[str, Any]:
    """The values of the settings that have a meaning here. Raises SyntaxFault for the first wrong one."""
    found = {}
    for key, text in settings.items():
        if key in SETTINGS:
            try:
                found[key] = SETTINGS[key](text)
            except SyntaxFault as fault:
                raise SyntaxFault(f'{key} "{text}" {fault}') from None
    return found


def wrong_values(settings: Mapping[str, str]) -> Iterator[str]:
    """What is wrong with the values of a bootstrap file, a sentence each, none for a sound one."""
    for key, text in settings.items():
        try:
            read_values({key: text})
        except SyntaxFault as fault:
            yield str(fault)


def unknown_settings(settings: Mapping[str, str]) -> list[str]:
    """The keys that no daemon reads."""
    return [key for key in settings if key not in SETTINGS and key not in _EARLIER]
