"""The hosts that the qmaster trusts, each by a key of its own.

Owns the reading of the keys that `gridengine host keys` and `host revoke` write: a revoked host is refused from the next
request on. Called by the GDI server and by the sessions. Source: docs/adr/0101, adr/0133.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

KeyOf = Callable[[str], str]
"""The key of a host, "" for a host that is not trusted."""

_HOST_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9.-]{0,253}")


class KnownHosts:
    """`directory` holds HOST/gdi_key of exec hosts; a master host that is no exec host, `own`, uses `own_key`."""

    def __init__(self, directory: Path, own: str = "", own_key: str = "") -> None:
        self._directory = directory
        self._own, self._own_key = own, own_key
        self._known: dict[str, tuple[int, str]] = {}

    def key(self, host: str) -> str:
        """Return the key of a host, "" for a host that has no key, or no longer a key. Checks its small file each time."""
        if not _HOST_NAME.fullmatch(host):
            return ""
        path = self._directory / host / "gdi_key"
        try:
            written = path.stat().st_mtime_ns
            if self._known.get(host, (0, ""))[0] != written:
                self._known[host] = (written, path.read_text().strip())
        except (OSError, ValueError):
            self._known.pop(host, None)
            return self._own_key if host == self._own else ""
        return self._known[host][1]
