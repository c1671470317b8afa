"""The name of a queue instance: `queue@host`. Which part is which is said here alone.

Pure. Called wherever an instance is known by its name. Source: sge_types(1) queue instances.
"""


def queue_of(instance: str) -> str:
    """The cluster queue."""
    return instance.partition("@")[0]


def host_of(instance: str) -> str:
    """The host; "" for a name that has none, which is no instance's."""
    return instance.partition("@")[2]


def queue_and_host(instance: str) -> tuple[str, str]:
    """Both parts."""
    queue, _, host = instance.partition("@")
    return queue, host
