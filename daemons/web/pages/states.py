"""State codes with labels and tones, for the badges of pages.

Owns the labels and the severity of each state. Pure; called by the macros of the templates. Codes: sge_status(5), qrstat(1).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import NamedTuple

from gridengine.state.conditions import CONDITIONS
from gridengine.state.state import State
from gridengine.values.instance_name import host_of


class Badge(NamedTuple):
    """State codes as the commands print them (`codes`), a `label` with their meaning, and a `tone` of style.css.

    Tones: ok busy wait warn bad off mark.
    """

    codes: str
    label: str
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
#: conditions of tasks, by the command for the host
_TONES = {"suspend": "warn", "kill": "off", "end": "off"}
#: tasks of jobs, the most severe state first. `q` and `w` appear together. Source: ST-32.
JOB = {
    "E": ("error", "bad"),
    **{row.code: (row.noun, _TONES[row.command]) for row in CONDITIONS.values() if row.code},
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


def job_badge(codes: str, failed: bool = False) -> Badge:
    """The badge of a task: a single badge for all its codes (`hqw`: held, waiting), in the tone of the most severe state.

    `failed`: whether a finished task failed.
    """
    if codes == "z" and failed:
        return Badge(codes, "failed", "bad")
    known = [JOB[code] for code in JOB if code in codes]
    labels = dict.fromkeys(label for label, _ in known)
    return Badge(codes, ", ".join(labels) or "unknown", known[0][1] if known else "off")


def instance_badges(codes: str) -> list[Badge]:
    """The badges of a queue instance, a badge per code; the badge `ready` without codes."""
    badges = [Badge(code, *INSTANCE.get(code, ("unknown", "off"))) for code in codes]
    return badges or [Badge("", "ready", "ok")]


def reservation_badge(code: str) -> Badge:
    """The badge of a reservation."""
    return Badge(code, *RESERVATION.get(code, ("unknown", "off")))


def host_badge(up: bool) -> Badge:
    """The badge of a host: whether its execd reports."""
    return Badge("", "up", "ok") if up else Badge("u", "unreachable", "bad")


UNREACHABLE = Badge("", "host unreachable", "bad")
"""The badge of a task on an unreachable host: the state of the task is unknown."""


def silent_hosts(state: State) -> set[str]:
    """Exec hosts that do not report."""
    names = (name for name in state.kind("exec_host") if name not in ("global", "template"))
    return {name for name in names if name not in state.hosts or not state.hosts[name].up}


def is_lost(instances: Iterable[str], silent: Collection[str]) -> bool:
    """Whether any of these queue instances is on a host that does not report."""
    return any(host_of(instance) in silent for instance in instances)


def message_badge(code: str) -> Badge:
    """The badge of a line of a messages file."""
    return Badge(code, *_MESSAGE[code])
