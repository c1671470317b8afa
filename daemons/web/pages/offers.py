"""Buttons of the page of one job, queue instance or host: only actions that change something now; for all others the reason.

Owns the reasons. The qmaster decides on each action. Called by the pages of these objects.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from daemons.web.pages.forms import Action
from gridengine.state.conditions import SUSPENSION_CODES


class OfferedAction(NamedTuple):
    """A button of the page: `action` with its `label`. `off`: why it would change nothing, "" for a button that is shown;
    `is_apart`: it destroys work, so it stands apart from the others."""

    action: str
    label: str
    off: str
    is_apart: bool


def offers(
    actions: Mapping[str, Action], off: Mapping[str, str], why_not: str, apart: Collection[str] = ()
) -> list[OfferedAction]:
    """The buttons for `actions`. off: reasons by action; why_not: the reason for all, "" if there is none."""
    return [OfferedAction(name, each.label, why_not or off.get(name, ""), name in apart) for name, each in actions.items()]


def off_for_job(states: Iterable[str], holds: Collection[str]) -> dict[str, str]:
    """Reasons by action. states: state codes of all groups of tasks of the job; holds: kinds of its holds."""
    groups = list(states)
    waiting = [codes for codes in groups if "q" in codes]
    placed = [codes for codes in groups if "q" not in codes]
    suspended = [codes for codes in placed if not SUSPENSION_CODES.isdisjoint(codes)]
    off = {}
    if not waiting:
        off["hold"] = "No task is waiting."
    elif "user" in holds and all("h" in codes for codes in waiting):
        off["hold"] = "All waiting tasks have a user hold."
    if "user" not in holds:
        off["release"] = "Only holds of other kinds: choose the kind below." if holds else "No task is held."
    if not placed:
        off |= {"suspend": "No task is running.", "reschedule": "No task is running."}
    elif len(suspended) == len(placed):
        off["suspend"] = "All running tasks are suspended."
    if not suspended:
        off["unsuspend"] = "No task is suspended."
    if not any("E" in codes for codes in groups):
        off["clear"] = "No task is in error."
    return off


def off_for_instance(state_codes: str, used: int) -> dict[str, str]:
    """Reasons by action for a queue instance in these states with `used` slots."""
    off = {}
    for code, action, opposite, state in (("d", "enable", "disable", "disabled"), ("s", "unsuspend", "suspend", "suspended")):
        if code in state_codes:
            off[opposite] = f"It is {state}."
        else:
            off[action] = f"It is not {state}."
    if "E" not in state_codes:
        off["clear"] = "It is not in error."
    if not used:
        off |= {"reschedule": "No tasks run there.", "clean": "No tasks run there."}
    return off


def off_for_host(is_up: bool) -> dict[str, str]:
    """Reasons by action for an execution host."""
    return {} if is_up else dict.fromkeys(("daemon", "jobs"), "Its daemon does not respond.")
