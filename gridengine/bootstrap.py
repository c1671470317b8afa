"""The settings of `bootstrap`: which there are, and which of their values the daemons refuse.

Owns that table for programs that look at a cell without being one of its daemons, which read the file themselves
(`daemons.runtime.cell`). Called by `clients.admin`. Source: sge_bootstrap(5), docs/architecture.md section 3.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

#: settings that must be there
REQUIRED = (
    "admin_user",
    "spooling_method",
    "qmaster_spool_dir",
    "execd_spool_dir",
    "run_dir",
    "qmaster_port",
    "ray_port",
    "security_mode",
)
_PORTS = ("qmaster_port", "ray_port", "execd_port", "shadow_port")
#: the largest value of numbers that may be 0
_NUMBERS = {"backup_hour": 23, "backup_keep": 1000}
_CHOICES = {"answers_wait_for": ("none", "one", "majority"), "json_log": ("true", "false"), "ignore_fqdn": ("true", "false")}
_DIRECTORIES = ("qmaster_spool_dir", "execd_spool_dir", "run_dir")
_TEXTS = ("max_request_size", "max_submit_size", "max_user_connections", "default_domain", "ray_ports")
#: settings of 8.1.9 that have no meaning here and may stand in a file
_EARLIER = (
    *("spooling_lib", "spooling_params", "binary_path", "listener_threads", "worker_threads", "scheduler_threads"),
    *("jvm_threads", "event_master_threads", "gdi_threads", "pop_execd_timeout"),
)
KNOWN = frozenset((*REQUIRED, *_PORTS, *_NUMBERS, *_CHOICES, *_DIRECTORIES, *_TEXTS, *_EARLIER))


def wrong_values(settings: Mapping[str, str]) -> Iterator[str]:
    """What is wrong with the values of a bootstrap file, a sentence each, none for a sound one."""
    for key, text in settings.items():
        if key in _PORTS and not 1 <= _number(text) <= 65535:
            yield f'{key} "{text}" is not a port from 1 to 65535'
        elif key in _NUMBERS and not 0 <= _number(text) <= _NUMBERS[key]:
            yield f'{key} "{text}" is not a number from 0 to {_NUMBERS[key]}'
        elif key in _CHOICES and text.lower() not in _CHOICES[key]:
            yield f'{key} "{text}" is not one of {", ".join(_CHOICES[key])}'
        elif key in _DIRECTORIES and not text.startswith("/"):
            yield f'{key} "{text}" is not an absolute path'
        elif key == "ray_ports" and not _is_port_range(text):
            yield f'ray_ports "{text}" is not FIRST-LAST, 16 ports or more from 1 to 65535'


def unknown_settings(settings: Mapping[str, str]) -> list[str]:
    """The keys that no daemon reads."""
    return [key for key in settings if key not in KNOWN]


def _number(text: str) -> int:
    """-1 for what is no number."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else -1


def _is_port_range(text: str) -> bool:
    first, _, last = text.partition("-")
    return 1 <= _number(first) and _number(first) + 15 <= _number(last) <= 65535
