"""The protocol version of a cell's daemons, and the maximum difference between two of them.

Owns that rule, and names that are common to both sides of a socket. Light: commands load it. Daemons exchange the version in
`execd_hello`, whose own shape is the same for all versions: unknown fields are ignored, and a missing field is 0 or "". Source:
docs/adr/0149.
"""

#: Grows when a daemon of the release before would misread the messages of this release, or send unreadable messages.
PROTOCOL = 1

#: A cell is upgraded host by host, so its daemons may be of two successive releases for a while, never of more.
MAX_PROTOCOL_DIFFERENCE = 1
MASTER_REPLY_FILE = "master_word"
"""In the spool directory of an exec host: the master's last reply to its hello: empty if it was accepted, else the refusal."""

SENSOR_FAULTS_FILE = "sensor_faults"
"""In the spool directory of an exec host: present faults of its load sensors, one sentence a line."""
CGROUPS_FILE = "cgroups"
"""In the spool directory of an exec host, if the cell has cgroups switched on: three lines, the cgroups that its jobs have, why
memory is not limited by them, and why they close no devices."""


def incompatibility_reason(host: str, theirs: int, master: int, rays: tuple[str, str] = ("", "")) -> str:
    """The reason for which an exec host and a master cannot work together, "" if they can. `rays`: releases of Ray and Python on
    the host and on the master, "" if not known.

    The nodes of a Ray cluster must have the same versions of Ray and Python. The reason says what to do.
    """
    if abs(theirs - master) > MAX_PROTOCOL_DIFFERENCE:
        older = f"host {host}" if theirs < master else "the master"
        limit = f"they may differ by {MAX_PROTOCOL_DIFFERENCE}"
        return f"host {host} speaks protocol {theirs}, the master {master}: {limit}; upgrade {older}"
    if all(rays) and rays[0] != rays[1]:
        return f"host {host} has {rays[0]}, the master {rays[1]}: install the same package on all hosts, then gridengine upgrade"
    return ""


MASTER_REACHED = "master_reached"
"""The one request that a gateway answers itself: whether it reaches the master."""
