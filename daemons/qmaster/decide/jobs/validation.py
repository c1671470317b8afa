"""Validation: -w e|w|n|p|v for jobs that are submitted or changed.

Owns the consequences of the outcome in each mode; `gridengine.placement.verify` decides whether the job fits. Source: SO-41; O
for texts and exit codes.
"""

from __future__ import annotations

from daemons.qmaster.decide.errors import RefusedError
from daemons.qmaster.decision import Decision, World
from gridengine.placement.verify import Verifier, verification
from gridengine.state.jobs import Job
from gridengine.state.state import State


def verify_job(state: State, job: Job, mode: str, world: World) -> tuple[bool, Decision]:
    """Whether to carry out the request, and its answer so far; False for the modes v and p, which only report.

    Raises RefusedError for e.
    """
    decision = Decision()
    mode = mode or ("e" if job.ar else "n")  # AR-89
    if mode == "n":
        return True, decision
    if mode in "ew" and Verifier(state, True, world.now, world.zone).fits(job):
        return True, decision
    fits, texts = verification(state, job, mode != "p", world.now, world.zone)
    if mode in "vp":
        for text in texts:
            decision.answer.info(text)
        decision.answer.status = 0 if fits else 1
        return False, decision
    if not fits and mode == "e":
        raise RefusedError("\n".join(["error: no suitable queues", *texts[:-1]]))
    if not fits:
        decision.answer.warning("warning: no suitable queues")
    return True, decision
