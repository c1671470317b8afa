"""The number of the language that the daemons of a cell speak with each other, and how far two may differ.

Owns that rule, and the names that both sides of a socket must spell alike. Light: commands load it. The number is exchanged at
`execd_hello`, whose own shape is for all versions: fields that one side does not know are left alone, and one that is missing is
0 or "". Source: docs/adr/0149.
"""

#: Goes up when a daemon of the release before would misread what is sent to it, or not be understood.
PROTOCOL = 1

#: A cell is upgraded host by host, so its daemons are of two releases for a while; of more never.
MOST_APART = 1
WORD_FILE = "master_word"
"""In the spool directory of an exec host: what the master last said to its hello: nothing but a welcome, or why it is refused."""

SENSOR_FAULTS_FILE = "sensor_faults"
"""In the spool directory of an exec host: what is wrong with its load sensors now, one sentence a line."""


def disagreement(host: str, theirs: int, master: int, rays: tuple[str, str] = ("", "")) -> str:
    """Why an exec host and a master cannot work together, "" if they can. `rays`: of both, "" where nothing is said.

    The nodes of a Ray cluster must have the same versions of Ray and Python.
    """
    if abs(theirs - master) > MOST_APART:
        older = f"host {host}" if theirs < master else "the master"
        return f"host {host} speaks protocol {theirs}, the master {master}: they may differ by {MOST_APART}; upgrade {older}"
    if all(rays) and rays[0] != rays[1]:
        return f"host {host} has {rays[0]}, the master {rays[1]}: it joins again when both are of one release"
    return ""


MASTER_REACHED = "master_reached"
"""The one request that a gateway answers itself: whether it reaches the master."""
