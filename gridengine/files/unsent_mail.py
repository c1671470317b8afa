"""The last mail message that a daemon could not send, from its `messages` file.

Owns the recognition of the line that `daemons.runtime.mail_sender` writes. Called by `gridengine doctor` and the web server.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

_TAIL_BYTES = 1_000_000
"""The end of the file that is searched."""
_UNSENT = b" was not sent: "


def last_unsent_mail(messages: Path) -> tuple[float, str] | None:
    """Time (epoch s) and text of that line. None: there is none, or the file cannot be read."""
    try:
        with messages.open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - _TAIL_BYTES))
            tail = file.read(_TAIL_BYTES)
    except OSError:
        return None
    end = tail.rfind(_UNSENT)
    if end < 0:
        return None
    line = tail[tail.rfind(b"\n", 0, end) + 1 :].partition(b"\n")[0].decode(errors="replace")
    logged, _, _ = line.partition("|")
    try:
        return time.mktime(time.strptime(logged, "%m/%d/%Y %H:%M:%S")), line.rpartition("|")[2]
    except (ValueError, OverflowError):
        return None
