"""What the navigation of all pages lists, and where in it a page is."""

from __future__ import annotations

#: heading: (label, address) each
NAVIGATION = {
    "Work": (("Overview", "/"), ("Jobs", "/jobs"), ("Submit", "/submit"), ("Reservations", "/reservations")),
    "Cluster": (
        *(("Queue instances", "/instances"), ("Cluster queues", "/queues")),
        *(("Hosts", "/hosts"), ("Host groups", "/hostgroups"), ("Complexes", "/complexes"), ("Quotas", "/quotas")),
        *(("Policies", "/policies"), ("Configuration", "/config")),
    ),
    "Reports": (("Accounting", "/accounting"), ("History", "/history"), ("Messages", "/messages")),
}


def place_of(path: str) -> str:
    """The address of the navigation that the page at `path` belongs to; "" for one that belongs to none."""
    addresses = {address for entries in NAVIGATION.values() for _, address in entries}
    return "/" if path == "/" else next((each for each in addresses if f"/{path.split('/')[1]}" == each), "")
