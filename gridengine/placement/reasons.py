"""Reasons: why a job does not run somewhere, as data, and their sentences.

Owns the codes and the sentences: no other module makes the text of a refusal, and none parses it. Called by all rules that
refuse, and by the commands that print refusals: `qstat -j`, `-w v|p`, `qrsub`, `qalter -w`, `qexplain`.
"""

from __future__ import annotations

from typing import NamedTuple

from gridengine.placement.values import Offer, Value, format_value
from gridengine.state.configured.objects import ComplexEntry
from gridengine.values.units import format_time

DROPPED = {
    "dependencies": "of job dependencies",
    "task_dependencies": "of array job dependencies",
    "user_limit": "user {other} already has {number} running jobs (maxujobs)",
    "reservation_over": "advance reservation {number} is no longer available",
    "reservation_waiting": "advance reservation {number} has not started",
    "reservation_in_error": "advance reservation {number} is in error state",
}
"""Reasons that concern a job as a whole."""
ACCESS = {"h": "host", "q": "cluster queue"}
FORCED = {"g": "the cluster", "h": "host", "q": "queue"}
"""Nouns for levels."""

TEXTS = {
    # the job as a whole
    **{code: f"job dropped because {clause}" for code, clause in DROPPED.items()},
    "held": "Job is in hold state",
    "start_time": "execution time not reached",
    "in_error": "Job is in error state",
    "paused": "job dropped for some seconds because its last {number} attempts ended within a minute each",
    "task_limit": "not all array tasks may be started: {number} are running already",
    "not_reserved": "cannot run because {what} is not part of advance reservation {number}",
    "quota": 'cannot run because it exceeds limit "{left.consumers}" in rule "{left.rule}": {left}',
    # instances that accept no job at all
    "disabled": 'queue instance "{place}" dropped because it is disabled',
    "drained": 'queue instance "{place}" dropped because its host is drained: {other}',
    "suspended": 'queue instance "{place}" dropped because it is suspended',
    "preempted": 'queue instance "{place}" dropped because its slots are taken by superordinate queues',
    "unavailable": 'queue instance "{place}" dropped because it is temporarily not available',
    "in_error_state": 'queue instance "{place}" dropped because it is in error state',
    "ambiguous": 'queue instance "{place}" dropped because its configuration is ambiguous',
    "orphaned": 'queue instance "{place}" dropped because it is orphaned',
    "overloaded": 'queue instance "{place}" dropped because it is overloaded: {left}',
    "suspend_alarm": 'queue instance "{place}" is in suspend alarm: {left}',
    "full": 'queue instance "{place}" dropped because it is full',
    "off_time": 'cannot run in queue instance "{place}" because its calendar "{other}" closes it before the job would end',
    "kept": 'cannot run in queue instance "{place}" because needed resources are reserved for {left}',
    "calendar": 'queue instance "{place}" dropped because queue is calendar {other} in selected time frame',
    # the job and an instance, host, queue or PE
    "not_requested": 'cannot run in queue "{place}" because it is not contained in its hard queue list (-q)',
    "no_permission": 'has no permission for {access} "{place}"',
    "no_project": 'is not assigned to a project to get {access} "{place}"',
    "wrong_project": 'has no access to {access} "{place}" because of its project "{other}"',
    "not_batch": 'cannot run in queue instance "{place}" because it is not of type batch',
    "not_interactive": 'cannot run in queue instance "{place}" because it is not of type interactive',
    "no_checkpoint": 'cannot run in queue "{place}" because checkpointing environment "{other}" is not in its list',
    "not_in_pe": 'cannot run in queue "{place}" because PE "{other}" is not in PE list',
    "pe_offers": 'cannot run in PE "{place}" because it only offers {number} slots',
    "rule_offers": 'cannot run because the allocation rule "{other}" finds only {number} slots',
    "pe_permission": 'has no permission for PE "{place}"',
    "forced": 'does not request \'forced\' resource "{resource}" of {of} "{place}"',
    "unknown": '{asked}cannot run in queue "{place}" because job requests unknown resource ({resource})',
    "cluster_offers": "{asked}cannot run globally because it offers only {left}",
    "host_offers": '{asked}cannot run at host "{place}" because it offers only {left}',
    "queue_offers": '{asked}cannot run in queue "{place}" because it offers only {left}',
    "units": '{asked}cannot run at host "{place}" because {left}',
    "cluster_exclusive": "{asked}cannot run globally because exclusive resource ({resource}) is already in use",
    "host_exclusive": '{asked}cannot run at host "{place}" because exclusive resource ({resource}) is already in use',
    "queue_exclusive": '{asked}cannot run in queue "{place}" because exclusive resource ({resource}) is already in use',
}

DETAILED_TEXTS = {
    "unavailable": 'queue instance "{place}": its host does not answer',
    "in_error_state": 'queue instance "{place}" is in error state: {other}',
    "full": 'queue instance "{place}" is full',
}
"""More detailed sentences for people, where the sentence of 8.1.9, which programs parse, is less precise."""


class Violation(NamedTuple):
    """A reached threshold of the complex `name`. `codes`: level and source such as `hl`, "" without a value; `value`: as printed,
    or ""; `threshold`: as configured; `relop`: the fulfilled relation."""

    name: str
    codes: str
    value: str
    threshold: str
    relop: str = ""

    def __str__(self) -> str:
        if not self.value:
            return f"{self.name} has no value, the threshold is {self.threshold}"
        return f"{self.name}={self.value} {self.relop} {self.threshold}"


class Exceeded(NamedTuple):
    """A limit of a resource quota rule: its `consumers`, the `rule` as `set/rule`, `entry` of its complex, the `limit`, the
    `used` amount (None for a fixed attribute)."""

    consumers: str
    rule: str
    entry: ComplexEntry
    limit: Value
    used: float | None

    def __str__(self) -> str:
        limit = format_value(self.entry.type, self.limit)
        used = f"{format_value(self.entry.type, self.used)}/" if self.used is not None else ""
        return f"{self.entry.name}={used}{limit}"


class ReservedFor(NamedTuple):
    """Resources reserved for `label`, a job or reservation. `seconds` from now: until the end if `has_begun`, otherwise until the
    begin."""

    label: str
    has_begun: bool
    seconds: int

    def __str__(self) -> str:
        time = format_time(self.seconds)
        return f"{self.label} for another {time}" if self.has_begun else f"{self.label}, which is to begin in {time}"


class UnitsLeft(NamedTuple):
    """Named units of a `resource` that do not suffice: `free` units, `fitting` of them that have the `demands` properties.
    `configured`: all units of the host instead of the free units; `apart`: enough fit, but too few of them near each other."""

    resource: str
    free: int
    fitting: int
    demands: str
    configured: bool
    apart: bool

    def __str__(self) -> str:
        units = f"{self.free or 'no'} unit{'' if self.free == 1 else 's'} of {self.resource}"
        have = f"it has {units}" if self.configured else f"{units} {'is' if self.free == 1 else 'are'} free"
        if self.demands and self.free:
            which = "none has" if not self.fitting else f"{self.fitting} of them {'has' if self.fitting == 1 else 'have'}"
            have += f", {which} {self.demands}"
        return f"{have}, too few of them near each other" if self.apart else have


class Reason(NamedTuple):
    """A refusal: a `code` of TEXTS and its details, as far as the code uses them.

    `place`: queue, queue instance, host or PE that refuses; `level`: g, h or q; `resource`: complex name; `left`: the available
    amount, as data; `asked`: the requests of -l as they begin a sentence; `other`: the user, PE, project, calendar or last error
    of an instance that causes the refusal; `number`: of attempts, tasks, slots, or of a reservation.
    """

    code: str
    place: str = ""
    level: str = ""
    resource: str = ""
    left: Offer | Violation | Exceeded | ReservedFor | UnitsLeft | None = None
    asked: str = ""
    other: str = ""
    number: int = 0

    @property
    def text(self) -> str:
        """The sentence."""
        return self._format(TEXTS[self.code])

    @property
    def detailed_text(self) -> str:
        """The sentence for people."""
        return self._format(DETAILED_TEXTS.get(self.code) or TEXTS[self.code])

    @property
    def clause(self) -> str:
        """The sentence without "job dropped because"."""
        return self._format(DROPPED.get(self.code) or TEXTS[self.code])

    def _format(self, sentence: str) -> str:
        left = self.left.text(whole=False) if isinstance(self.left, Offer) else self.left
        what = self.resource or f"PE {self.other}"
        fields = {"left": left, "what": what, "access": ACCESS.get(self.level), "of": FORCED.get(self.level)}
        return sentence.format(**{**self._asdict(), **fields})
