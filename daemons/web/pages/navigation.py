"""The navigation of all pages, and the entry for a page."""

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


def entry_of(path: str) -> str:
    """The address of the navigation entry for the page at `path`, "" if there is no entry."""
    addresses = {address for entries in NAVIGATION.values() for _, address in entries}
    return "/" if path == "/" else next((each for each in addresses if f"/{path.split('/')[1]}" == each), "")
