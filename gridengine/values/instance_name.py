"""The name of a queue instance: `queue@host`.

Owns the division into its parts. Pure. Called wherever an instance is known by its name. Source: sge_types(1) queue instances.
"""


def queue_of(instance: str) -> str:
    """The cluster queue."""
    return instance.partition("@")[0]


def host_of(instance: str) -> str:
    """The host; "" if the name has none, and so is not an instance's."""
    return instance.partition("@")[2]


def queue_and_host(instance: str) -> tuple[str, str]:
    """Both parts."""
    queue, _, host = instance.partition("@")
    return queue, host
