"""The settings of `bootstrap`: their names, and the parser of each, which refuses invalid values.

Owns that table, for the daemons (`daemons.runtime.cell`) and for programs that inspect a cell from outside
(`clients.admin`). The callers open the file. Source: sge_bootstrap(5), docs/architecture.md section 3.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Literal, get_args

from gridengine.errors import InvalidValueError
from gridengine.values.units import parse_memory

WaitFor = Literal["one", "none", "majority"]

#: required settings
REQUIRED = ("admin_user", "qmaster_spool_dir", "execd_spool_dir", "run_dir", "qmaster_port", "ray_port")
#: default ports of Ray's nodes and interactive sessions: enough for four nodes on a machine
RAY_PORTS = (6447, 6510)
#: ports that one node may need: two of its raylet, one an actor, one of interactive sessions
PORT_BLOCK = 16
_MAX_SIZE = 2**30
_MAX_PORT = 65535


def _number(text: str, low: int, high: int, noun: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 10 and low <= int(text) <= high):
        raise InvalidValueError(f"is not a {noun} from {low} to {high}")
    return int(text)


def _choice(text: str, choices: tuple[str, ...]) -> str:
    if text not in choices:
        raise InvalidValueError(f"is not {choices[0] if len(choices) == 1 else 'one of ' + ', '.join(choices)}")
    return text


def _switch(text: str) -> bool:
    return _choice(text.lower(), ("true", "false")) == "true"


def _directory(text: str) -> Path:
    if not text.startswith("/"):
        raise InvalidValueError("is not an absolute path")
    return Path(text)


def _size(text: str) -> int:
    """A number with or without a suffix for its unit: `16M`."""
    try:
        found = parse_memory(text)
    except InvalidValueError:
        found = 0
    if not 1 <= found <= _MAX_SIZE:
        raise InvalidValueError("is not a number from 1 to 1G")
    return int(found)


def _port_range(text: str) -> tuple[int, int]:
    first, _, last = text.partition("-")
    try:
        low, high = (_number(port, 1, _MAX_PORT, "port") for port in (first, last))
    except InvalidValueError:
        low, high = 0, 0
    if high - low + 1 < PORT_BLOCK:
        raise InvalidValueError(f"is not FIRST-LAST, {PORT_BLOCK} ports or more from 1 to {_MAX_PORT}")
    return low, high


def _domain(text: str) -> str:
    return "" if text.lower() == "none" else text


_port = partial(_number, low=1, high=_MAX_PORT, noun="port")

#: setting -> its parser, which raises InvalidValueError with the fault of the text
SETTINGS: dict[str, Callable[[str], Any]] = {
    **dict.fromkeys(("qmaster_port", "ray_port", "execd_port", "shadow_port"), _port),
    **dict.fromkeys(("qmaster_spool_dir", "execd_spool_dir", "run_dir"), _directory),
    "admin_user": str,
    "spooling_method": partial(_choice, choices=("sqlite",)),
    "security_mode": partial(_choice, choices=("tls",)),
    **dict.fromkeys(("json_log", "ignore_fqdn"), _switch),
    **dict.fromkeys(("max_request_size", "max_submit_size", "max_user_connections"), _size),
    "ray_ports": _port_range,
    "backup_hour": partial(_number, low=0, high=23, noun="number"),
    "backup_keep": partial(_number, low=0, high=1000, noun="number"),
    "answers_wait_for": partial(_choice, choices=get_args(WaitFor)),
    "default_domain": _domain,
}
#: settings of 8.1.9 that have no meaning here and may stand in a file
_EARLIER = (
    "spooling_lib", "spooling_params", "binary_path", "listener_threads", "worker_threads", "scheduler_threads",
    "jvm_threads", "event_master_threads", "gdi_threads", "pop_execd_timeout",
)


def read_values(settings: Mapping[str, str]) -> dict[str, Any]:
    """The values of the settings that have a meaning here. Raises InvalidValueError for the first invalid value."""
    found = {}
    for key, text in settings.items():
        if key in SETTINGS:
            try:
                found[key] = SETTINGS[key](text)
            except InvalidValueError as fault:
                raise InvalidValueError(f'{key} "{text}" {fault}') from None
    return found


def invalid_values(settings: Mapping[str, str]) -> Iterator[str]:
    """A sentence for each invalid value of a bootstrap file."""
    for key, text in settings.items():
        try:
            read_values({key: text})
        except InvalidValueError as fault:
            yield str(fault)


def unknown_settings(settings: Mapping[str, str]) -> list[str]:
    """The keys that no daemon reads."""
    return [key for key in settings if key not in SETTINGS and key not in _EARLIER]
