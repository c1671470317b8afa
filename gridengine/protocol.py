"""The number of the language that the daemons of a cell speak with each other. Source: docs/adr/0149."""

from __future__ import annotations

#: Goes up when a daemon of the release before would misread what is sent to it, or not be understood.
PROTOCOL = 1
