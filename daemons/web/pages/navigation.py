"""The navigation of all pages, the entry for a page, and the keys that lead to pages."""

from __future__ import annotations

#: heading: (label, address) each
NAVIGATION = {
    "Work": (
        ("Overview", "/"), ("Alarms", "/alarms"), ("Jobs", "/jobs"), ("Submit", "/submit"), ("Reservations", "/reservations"),
    ),
    "Cluster": (
        ("Queue instances", "/instances"), ("Cluster queues", "/queues"),
        ("Hosts", "/hosts"), ("Host groups", "/hostgroups"), ("Complexes", "/complexes"), ("Quotas", "/quotas"),
        ("Policies", "/policies"), ("Configuration", "/config"),
    ),
    "Reports": (
        ("Reports", "/reports"), ("Failures", "/failures"), ("Accounting", "/accounting"), ("History", "/history"),
        ("Messages", "/messages"),
    ),
}
GO = {
    "o": "/", "a": "/alarms", "j": "/jobs", "s": "/submit", "r": "/reservations", "i": "/instances", "q": "/queues",
    "h": "/hosts", "u": "/quotas", "p": "/policies", "c": "/config", "f": "/failures", "t": "/history",
}
"""Keys after `g`, with the addresses of their pages."""


def go_keys() -> list[tuple[str, str, str]]:
    """(key, label, address) of each page with a key."""
    labels = {address: label for entries in NAVIGATION.values() for label, address in entries}
    return [(key, labels[address], address) for key, address in GO.items() if address in labels]


def entry_of(path: str) -> str:
    """The address of the navigation entry for the page at `path`, "" if there is no entry."""
    addresses = {address for entries in NAVIGATION.values() for _, address in entries}
    return "/" if path == "/" else next((each for each in addresses if f"/{path.split('/')[1]}" == each), "")
