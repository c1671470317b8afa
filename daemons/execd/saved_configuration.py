"""The configuration of an exec host that is in force, kept in its spool.

Owns that file. Separate from `site`, which the supervisor imports as well: the types of all configuration objects would
double the supervisor's imports. Called by the execd actor. Source: sge_conf(5).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from gridengine.files.durable import atomic_write
from gridengine.state.configured.configuration import HostConfiguration

_FILE = "configuration.json"


def save_configuration(spool: Path, text: Mapping[str, str]) -> None:
    """Save the configuration in force: an actor that restarts uses it until the qmaster sends a new configuration."""
    atomic_write(spool / _FILE, json.dumps(dict(text)).encode())


def read_configuration(spool: Path) -> HostConfiguration | None:
    """Return the configuration that was in force last, None on a host that never had a configuration."""
    try:
        return HostConfiguration.of(json.loads((spool / _FILE).read_text()))
    except (OSError, ValueError, AttributeError, TypeError):
        return None
