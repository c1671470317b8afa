"""Changes of the configuration by a transaction: the history that `gridengine config history` shows.

Owns its rows, each an object with its texts before and after. Pure. Called by `master`.
"""

from __future__ import annotations

import msgspec

from gridengine.state.affected import Affected
from gridengine.state.state import State


def configuration_changes(state: State, affected: Affected) -> list[tuple[str, str, str, str]]:
    """(kind, name, before, after) of each changed object, "" if there was or is none; `state`: after the transaction."""
    changes = []
    for (kind, name), before in affected.objects.items():
        after = state.kind(kind).get(name)
        texts = [msgspec.json.encode(text).decode() if text is not None else "" for text in (before, after)]
        changes.append((kind, name, texts[0], texts[1]))
    return changes
