"""Reasons: why a job does not run somewhere, as data, and their sentences.

Owns the codes and the sentences. Called by everything that refuses, and by what prints refusals: `qstat -j`,
`-w v|p`, `qrsub`, `qalter -w`.
"""

from __future__ import annotations

from typing import NamedTuple

TEXTS = {
    # the job as a whole
    "in_error": "Job is in error state",
    "held": "job dropped because of job hold",
    "dependencies": "job dropped because of job dependencies",
    "task_dependencies": "job dropped because of array job dependencies",
    "start_time": "job dropped because of execution time",
    "paused": "job dropped for some seconds because its last {0} tries ended within a minute each",
    "user_limit": "job dropped because user {0} already has {1} running jobs (maxujobs)",
    "task_limit": "not all array tasks may be started: {0} are running already",
    "reservation_over": "job dropped because advance reservation {0} is no longer available",
    "reservation_waiting": "job dropped because advance reservation {0} has not started",
    "reservation_in_error": "job dropped because advance reservation {0} is in error state",
    "not_reserved": "cannot run because {0} is not part of advance reservation {1}",
    "quota": 'cannot run because it exceeds limit "{0}" in rule "{1}": {2}',
    # instances that take no job at all
    "disabled": 'queue instance "{0}" dropped because it is disabled',
    "suspended": 'queue instance "{0}" dropped because it is suspended',
    "preempted": 'queue instance "{0}" dropped because its slots are taken by superordinate queues',
    "unavailable": 'queue instance "{0}" dropped because it is temporarily not available',
    "in_error_state": 'queue instance "{0}" dropped because it is in error state',
    "ambiguous": 'queue instance "{0}" dropped because its configuration is ambiguous',
    "orphaned": 'queue instance "{0}" dropped because it is orphaned',
    "overloaded": 'queue instance "{0}" dropped because it is overloaded: {1}',
    "full": 'queue instance "{0}" dropped because it is full',
    "off_time": 'cannot run in queue instance "{0}" because its calendar "{1}" closes it before the job would end',
    "kept": 'cannot run in queue instance "{0}" because what it needs there is kept for {1}',
    "calendar": 'queue instance "{0}" dropped because queue is calendar {1} in selected time frame',
    # the job and a place
    "not_requested": 'cannot run in queue "{0}" because it is not contained in its hard queue list (-q)',
    "no_permission": 'has no permission for {0} "{1}"',
    "no_project": 'is not assigned to a project to get {0} "{1}"',
    "wrong_project": 'has no access to {0} "{1}" because of its project "{2}"',
    "not_batch": 'cannot run in queue instance "{0}" because it is not of type batch',
    "not_interactive": 'cannot run in queue instance "{0}" because it is not of type interactive',
    "no_checkpoint": 'cannot run in queue "{0}" because checkpointing environment "{1}" is not in its list',
    "not_in_pe": 'cannot run in queue "{0}" because PE "{1}" is not in PE list',
    "pe_offers": 'cannot run in PE "{0}" because it only offers {1} slots',
    "rule_offers": 'cannot run because the allocation rule "{0}" finds only {1} slots',
    "pe_permission": 'has no permission for PE "{0}"',
    "no_master": 'cannot run because no queue for the master task (-masterq) can take it: "{0}"',
    "forced": 'does not request \'forced\' resource "{0}" of {1} "{2}"',
    "unknown": '{0}cannot run in queue "{1}" because job requests unknown resource ({2})',
    "cluster_offers": "{0}cannot run globally because it offers only {2}",
    "host_offers": '{0}cannot run at host "{1}" because it offers only {2}',
    "queue_offers": '{0}cannot run in queue "{1}" because it offers only {2}',
    "cluster_exclusive": "{0}cannot run globally because exclusive resource ({2}) is already in use",
    "host_exclusive": '{0}cannot run at host "{1}" because exclusive resource ({2}) is already in use',
    "queue_exclusive": '{0}cannot run in queue "{1}" because exclusive resource ({2}) is already in use',
}


class Reason(NamedTuple):
    """A refusal: a code of TEXTS and what its sentence needs."""

    code: str
    args: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """Its sentence."""
        return TEXTS[self.code].format(*self.args)
