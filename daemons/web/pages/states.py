"""State letters in words and tones, for the badges of pages.

Owns the words and how grave each state is. Pure; called by the macros of the templates. Letters: sge_status(5), qrstat(1).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import NamedTuple

from gridengine.instance_name import host_of
from gridengine.state.state import State


class Badge(NamedTuple):
    """Letters as the commands print them, what they mean, and a tone of style.css: ok busy wait warn bad off mark."""

    letters: str
    words: str
    tone: str


#: queue instances, in the order of the commands. Source: QI-1 … QI-12.
INSTANCE = {
    "a": ("load alarm", "warn"),
    "A": ("suspend alarm", "warn"),
    "C": ("suspended by calendar", "off"),
    "D": ("disabled by calendar", "off"),
    "d": ("disabled", "off"),
    "u": ("unreachable", "bad"),
    "s": ("suspended", "off"),
    "E": ("error", "bad"),
    "S": ("subordinated", "off"),
    "c": ("configuration ambiguous", "bad"),
    "o": ("orphaned", "warn"),
    "P": ("preempted", "off"),
}
#: reservations. Source: AR-53.
RESERVATION = {
    "w": ("waiting", "wait"),
    "W": ("pending (warning)", "warn"),
    "r": ("running", "mark"),
    "E": ("error", "bad"),
    "x": ("over", "off"),
    "d": ("deleted", "off"),
}
#: tasks of jobs; the gravest comes first. `q` and `w` stand together. Source: ST-32.
_JOB = {
    "E": ("error", "bad"),
    "d": ("being deleted", "off"),
    "S": ("suspended by its queue", "warn"),
    "T": ("suspended by a threshold", "warn"),
    "s": ("suspended", "warn"),
    "t": ("starting", "busy"),
    "r": ("running", "busy"),
    "h": ("held", "off"),
    "R": ("restarted", "wait"),
    "q": ("waiting", "wait"),
    "w": ("waiting", "wait"),
    "z": ("finished", "off"),
}
#: lines of messages files. Source: sge_conf(5) loglevel.
_MESSAGE = {"C": ("critical", "bad"), "E": ("error", "bad"), "W": ("warning", "warn"), "I": ("info", "off")}


def job_badge(letters: str, failed: bool = False) -> Badge:
    """The badge of a task: one for all of its letters (`hqw`: held, waiting), in the tone of the gravest.

    `failed`: of one that has ended, whether it did not succeed.
    """
    if letters == "z" and failed:
        return Badge(letters, "failed", "bad")
    known = [_JOB[letter] for letter in _JOB if letter in letters]
    words = dict.fromkeys(word for word, _ in known)
    return Badge(letters, ", ".join(words) or "unknown", known[0][1] if known else "off")


def instance_badges(letters: str) -> list[Badge]:
    """The badges of a queue instance, one a letter; one that says so if nothing keeps jobs away."""
    found = [Badge(letter, *INSTANCE.get(letter, ("unknown", "off"))) for letter in letters]
    return found or [Badge("", "ready", "ok")]


def reservation_badge(letter: str) -> Badge:
    """The badge of a reservation."""
    return Badge(letter, *RESERVATION.get(letter, ("unknown", "off")))


def host_badge(up: bool) -> Badge:
    """The badge of a host: whether its execd reports."""
    return Badge("", "up", "ok") if up else Badge("u", "unreachable", "bad")


UNREACHABLE = Badge("", "host unreachable", "bad")
"""Of a task whose host does not report: whether it runs nobody knows."""


def silent_hosts(state: State) -> set[str]:
    """Exec hosts that do not report."""
    names = (name for name in state.kind("exec_host") if name not in ("global", "template"))
    return {name for name in names if name not in state.hosts or not state.hosts[name].up}


def is_lost(places: Iterable[str], silent: Collection[str]) -> bool:
    """Whether one of these queue instances is on a host that does not report."""
    return any(host_of(place) in silent for place in places)


def message_badge(letter: str) -> Badge:
    """The badge of a line of a messages file."""
    return Badge(letter, *_MESSAGE[letter])
