"""The kinds of configuration objects: what each is called, and what it is like.

Owns one row a kind; the models are `gridengine.config.KINDS`. Must not import anything: clients load it. Nouns and lists
follow 8.1.9, because scripts match them; so do the few places where it varies its words (O). Source: QF-2, QF-37, QF-38.
"""


class Kind:
    """A kind. `key`: the attribute that names an object in its file, "" if none does. `noun`: in refusals (`cluster queue "x"
    does not exist`); `listing`: in successes (`… to cluster queue list`); `removed_from`, `missing`: other words for these in
    the answers to a deletion. `empty`: what qconf says when there is no object. `hosts`: names are those of hosts. `bare`: a
    name and nothing else. `single`: there is one object, stored under the name "". `divided`: qconf puts an empty line between
    several.
    """

    __slots__ = (
        *("name", "key", "noun", "listing", "removed_from", "missing", "empty", "hosts", "bare", "single", "divided"),
    )

    def __init__(
        self,
        name: str,
        key: str,
        noun: str,
        listing: str,
        empty: str = "nothing defined",
        *,
        removed_from: str = "",
        missing: str = "",
        hosts: bool = False,
        bare: bool = False,
        single: bool = False,
        divided: bool = False,
    ) -> None:
        self.name, self.key, self.noun, self.listing, self.empty = name, key, noun, listing, empty
        self.removed_from, self.missing = removed_from, missing
        self.hosts, self.bare, self.single, self.divided = hosts, bare, single, divided


_ALL = (
    Kind("complex", "name", "complex attribute", "complex entry list", removed_from="complex list"),
    Kind("configuration", "", "configuration", "configuration list", "no config defined", hosts=True),
    Kind("scheduler", "", "scheduler configuration", "scheduler configuration", single=True),
    Kind("userset", "name", "userset", "userset list", "no userset list defined", divided=True),
    Kind("project", "name", "project", "project list", "no project list defined"),
    Kind("user", "name", "user", "user list", "no user list defined", divided=True),
    Kind("calendar", "calendar_name", "calendar", "calendar list", "no calendar defined"),
    Kind(
        "checkpoint",
        "ckpt_name",
        "checkpoint interface",
        "checkpoint interface list",
        "no ckpt interface definition defined",
        removed_from="checkpointing environment list",
    ),
    Kind(
        "parallel_environment",
        "pe_name",
        "parallel environment",
        "parallel environment list",
        "no parallel environment defined",
    ),
    Kind(
        "exec_host",
        "hostname",
        "exechost",
        "exechost list",
        "no execution host defined",
        removed_from="execution host list",
        missing="execution host",
        hosts=True,
    ),
    Kind(
        "host_group",
        "group_name",
        "host group",
        "host group list",
        "no host group list defined",
        removed_from="host group entry list",
    ),
    Kind(
        "admin_host",
        "name",
        "adminhost",
        "administrative host list",
        "no administrative host defined",
        missing="administrative host",
        hosts=True,
        bare=True,
    ),
    Kind(
        "submit_host",
        "name",
        "submithost",
        "submit host list",
        "no submit host defined",
        missing="submit host",
        hosts=True,
        bare=True,
    ),
    Kind("manager", "name", "manager", "manager list", "no manager defined", bare=True),
    Kind("operator", "name", "operator", "operator list", "no operator defined", bare=True),
    Kind("cluster_queue", "qname", "cluster queue", "cluster queue list", "no cluster queue list defined", divided=True),
    Kind("resource_quota", "name", "resource quota set", "resource quota set list", "no resource quota set list defined"),
    Kind("share_tree", "", "sharetree", "sharetree list", single=True),
)
#: kind by name, in an order in which each only refers to earlier ones, but for the groups within host groups
KIND: dict[str, Kind] = {kind.name: kind for kind in _ALL}


def title(kind: str, name: str) -> str:
    """An object as messages name it: `cluster queue "all.q"`."""
    return f'{KIND[kind].noun} "{name}"' if name else KIND[kind].noun
