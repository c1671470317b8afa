"""How each kind of configuration object is called in answers, and how it refers to others.

Owns the words of `qconf` answers (QF-37, QF-38): noun of an object, name of its list, and what an answer to a list of
bare names says. Formats follow 8.1.9, because scripts match them; so do the few places where it varies its words (O).
"""

from __future__ import annotations

from msgspec import Struct


class Words(Struct, frozen=True):
    """`noun`: in refusals (`cluster queue "x" does not exist`); `listing`: in successes (`… to cluster queue list`).

    `removed_from`, `missing`: other words for these in the answers to a deletion.
    """

    noun: str
    listing: str
    hosts: bool = False
    removed_from: str = ""
    missing: str = ""


WORDS: dict[str, Words] = {
    "cluster_queue": Words("cluster queue", "cluster queue list"),
    "host_group": Words("host group", "host group list", removed_from="host group entry list"),
    "exec_host": Words(
        "exechost", "exechost list", hosts=True, removed_from="execution host list", missing="execution host"
    ),
    "admin_host": Words("adminhost", "administrative host list", hosts=True, missing="administrative host"),
    "submit_host": Words("submithost", "submit host list", hosts=True, missing="submit host"),
    "manager": Words("manager", "manager list"),
    "operator": Words("operator", "operator list"),
    "complex": Words("complex attribute", "complex entry list", removed_from="complex list"),
    "parallel_environment": Words("parallel environment", "parallel environment list"),
    "checkpoint": Words(
        "checkpoint interface", "checkpoint interface list", removed_from="checkpointing environment list"
    ),
    "calendar": Words("calendar", "calendar list"),
    "userset": Words("userset", "userset list"),
    "user": Words("user", "user list"),
    "project": Words("project", "project list"),
    "resource_quota": Words("resource quota set", "resource quota set list"),
    "share_tree": Words("sharetree", "sharetree list"),
    "scheduler": Words("scheduler configuration", "scheduler configuration"),
    "configuration": Words("configuration", "configuration list", hosts=True),
}
BARE = frozenset(("admin_host", "submit_host", "manager", "operator"))
"""Kinds that are a name and nothing else."""
SINGLE = frozenset(("scheduler", "share_tree"))
"""Kinds of which there is one object, stored under the name ""."""


def title(kind: str, name: str) -> str:
    """An object as messages name it: `cluster queue "all.q"`."""
    return f'{WORDS[kind].noun} "{name}"' if name else WORDS[kind].noun
