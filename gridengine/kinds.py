"""The kinds of configuration objects: their names and properties.

Owns one row a kind; the models are `gridengine.config.KINDS`. Must not import anything: clients load it. Nouns and lists
follow 8.1.9, with its few variations of wording (O), because scripts match them. Source: QF-2, QF-37, QF-38.
"""


class Kind:
    """A kind. Defaults are the values of most kinds."""

    def __init__(
        self,
        name: str,
        *,
        #: the attribute that names an object in its file, "" if none does
        key: str = "name",
        #: in refusals: `cluster queue "x" does not exist`
        noun: str,
        #: in successes: `… to cluster queue list`
        listing: str = "",
        #: qconf's text for an empty list
        empty: str = "nothing defined",
        #: variants of `listing` and `noun` in the responses to a deletion
        removed_from: str = "",
        missing: str = "",
        #: qconf's message if the object to be shown does not exist; {}: its name
        not_shown: str = "",
        #: type name of the events of its objects
        event_type: str,
        #: its names in qconf's options that change attributes, such as -aattr; () if they do not support it
        option_names: "tuple[str, ...]" = (),
        #: location of its objects in saved cells: a directory with a file each, a file, or both; the name for save_sge_config.sh
        directory: str = "",
        file: str = "",
        saved_as: str = "",
        #: columns of attribute names in its files; 1: a blank between name and value
        name_width: int = 1,
        #: the field of a job that names such an object
        job_field: str = "",
        #: objects that qconf does not list; `global` can never be removed
        unlisted: "tuple[str, ...]" = (),
        #: effects of a change: `instances` (members of groups by rule, calendars), `suspension`, `quotas`
        affects: "tuple[str, ...]" = (),
        #: names are host names; a name is the whole object
        hosts: bool = False,
        bare: bool = False,
        #: there is one object, stored under the name ""
        single: bool = False,
        #: qconf puts an empty line between several
        divided: bool = False,
        #: all objects are shown if none is named
        shown_together: bool = False,
        #: every cell has it
        always_there: bool = False,
        #: -mx makes an object that is missing (O)
        made_by_editing: bool = False,
        #: the template is an object as soon as it has a name (O)
        made_by_name: bool = False,
        #: an unchanged text from the editor is no failure (O)
        unchanged_is_fine: bool = False,
    ) -> None:
        self.name, self.key, self.noun, self.empty = name, key, noun, empty
        self.listing, self.missing = listing or f"{noun} list", missing or noun
        self.removed_from = removed_from or self.listing
        self.not_shown = not_shown or f'denied: {self.missing} "{{}}" does not exist'
        self.event_type, self.option_names, self.job_field, self.affects = event_type, option_names, job_field, affects
        self.directory, self.file, self.saved_as, self.name_width = directory, file, saved_as, name_width
        self.unlisted, self.hosts, self.bare, self.single, self.divided = unlisted, hosts, bare, single, divided
        self.shown_together, self.always_there, self.made_by_editing = shown_together, always_there, made_by_editing
        self.made_by_name, self.unchanged_is_fine = made_by_name, unchanged_is_fine


_ALL = (
    Kind(
        "complex", noun="complex attribute", listing="complex entry list", removed_from="complex list",
        event_type="COMPLEX", file="complexes", saved_as="centry", affects=("instances", "quotas"), shown_together=True,
        always_there=True, unchanged_is_fine=True,
    ),
    Kind(
        "configuration", key="", noun="configuration", empty="no config defined",
        not_shown="configuration {} not defined", event_type="CONFIG", directory="local_configurations",
        saved_as="configurations", file="configuration", name_width=29, unlisted=("global",), hosts=True,
        made_by_editing=True,
    ),
    Kind(
        "scheduler", key="", noun="scheduler configuration", listing="scheduler configuration", event_type="SCHED_CONF",
        file="sched_configuration", saved_as="schedconf", name_width=34, single=True, shown_together=True,
        always_there=True,
    ),
    Kind(
        "userset", noun="userset", empty="no userset list defined", not_shown='denied: access list "{}" does not exist',
        event_type="USERSET", option_names=("userset",), directory="usersets", name_width=8, affects=("quotas",),
        divided=True, made_by_editing=True, unchanged_is_fine=True,
    ),
    Kind(
        "project", noun="project", empty="no project list defined", not_shown="{} is not known as a project",
        event_type="PROJECT", option_names=("project",), directory="projects", job_field="project",
    ),
    Kind(
        "user", noun="user", empty="no user list defined", not_shown="{} is not known as a user", event_type="USER",
        option_names=("user",), directory="users", divided=True,
    ),
    Kind(
        "calendar", key="calendar_name", noun="calendar", empty="no calendar defined", not_shown="{} is not a calendar",
        event_type="CALENDAR", option_names=("calendar",), directory="calendars", name_width=17, affects=("instances",),
    ),
    Kind(
        "checkpoint", key="ckpt_name", noun="checkpoint interface", empty="no ckpt interface definition defined",
        removed_from="checkpointing environment list", not_shown="{} is not a checkpointing interface definition",
        event_type="CKPT", option_names=("ckpt",), directory="checkpoints", saved_as="ckpt", name_width=19,
        job_field="checkpoint",
    ),
    Kind(
        "parallel_environment", key="pe_name", noun="parallel environment", empty="no parallel environment defined",
        not_shown="{} is not a parallel environment", event_type="PE", option_names=("pe",), directory="pe",
        name_width=19, job_field="pe",
    ),
    Kind(
        "exec_host", key="hostname", noun="exechost", empty="no execution host defined",
        removed_from="execution host list", missing="execution host", event_type="EXECHOST", option_names=("exechost",),
        directory="exec_hosts", saved_as="execution", name_width=22, unlisted=("global", "template"),
        affects=("instances", "suspension"), hosts=True,
    ),
    Kind(
        "host_units", key="hostname", noun="host units", empty="no host units defined",
        not_shown='host units of "{}" are not defined', event_type="HOST_UNITS", option_names=("unit",),
        directory="host_units", name_width=9, hosts=True, divided=True, made_by_editing=True,
    ),
    Kind(
        "host_group", key="group_name", noun="host group", empty="no host group list defined",
        removed_from="host group entry list", not_shown='Host group "{}" does not exist', event_type="HOST_GROUP",
        option_names=("hostgroup",), directory="hostgroups", affects=("instances", "suspension"), made_by_name=True,
    ),
    Kind(
        "admin_host", noun="adminhost", listing="administrative host list", empty="no administrative host defined",
        missing="administrative host", event_type="ADMINHOST", file="admin_hosts", hosts=True, bare=True,
    ),
    Kind(
        "submit_host", noun="submithost", listing="submit host list", empty="no submit host defined",
        missing="submit host", event_type="SUBMITHOST", file="submit_hosts", hosts=True, bare=True,
    ),
    Kind("manager", noun="manager", empty="no manager defined", event_type="MANAGER", file="managers", bare=True),
    Kind("operator", noun="operator", empty="no operator defined", event_type="OPERATOR", file="operators", bare=True),
    Kind(
        "cluster_queue", key="qname", noun="cluster queue", empty="no cluster queue list defined",
        event_type="CLUSTERQUEUE", option_names=("queue",), directory="queues", saved_as="cqueues", name_width=22,
        affects=("instances", "suspension"), divided=True, made_by_name=True, unchanged_is_fine=True,
    ),
    Kind(
        "resource_quota", noun="resource quota set", empty="no resource quota set list defined",
        not_shown="No resource quota set found", event_type="RQS", option_names=("rqs", "resource_quota"),
        directory="resource_quotas", affects=("quotas",), shown_together=True,
    ),
    Kind(
        "share_tree", key="", noun="sharetree", event_type="SHARETREE", file="share_tree", saved_as="sharetree",
        single=True, shown_together=True, made_by_editing=True,
    ),
)
#: kind by name, in an order in which each refers to earlier kinds only, except for the groups within host groups
KIND: dict[str, Kind] = {kind.name: kind for kind in _ALL}
#: name of a kind by its name in qconf's attribute options (QF-2)
KIND_BY_OPTION_NAME = {name: kind.name for kind in _ALL for name in kind.option_names}
#: name of a kind by the type of its events
EVENT_TYPES = {kind.event_type: kind.name for kind in _ALL}


def kinds_affecting(effect: str) -> "frozenset[str]":
    """The kinds whose changes have this effect, an element of `Kind.affects`."""
    return frozenset(kind.name for kind in _ALL if effect in kind.affects)


def title(kind: str, name: str) -> str:
    """The name of an object in messages: `cluster queue "all.q"`."""
    return f'{KIND[kind].noun} "{name}"' if name else KIND[kind].noun
