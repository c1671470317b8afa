"""Validation: -w e|w|n|p|v for jobs that are submitted or changed.

Owns what each letter does with the outcome; whether the job fits is `gridengine.placement.verify`'s. Source: SO-41; O for
texts and exit codes.
"""

from __future__ import annotations

from daemons.qmaster.decide.refused import Refused
from daemons.qmaster.decision import Decision, World
from gridengine.placement.verify import Verifier, verification
from gridengine.state.jobs import Job
from gridengine.state.state import State


def verified(state: State, job: Job, letter: str, world: World) -> tuple[bool, Decision]:
    """Whether the request is carried out, and the answer that it has already; False for v and p, which only tell.

    Raises Refused for e.
    """
    said = Decision()
    letter = letter or ("e" if job.ar else "n")  # AR-89
    if letter == "n":
        return True, said
    if letter in "ew" and Verifier(state, True, world.now, world.zone).fits(job):
        return True, said
    fits, texts = verification(state, job, letter != "p", world.now, world.zone)
    if letter in "vp":
        for text in texts:
            said.answer.info(text)
        said.answer.status = 0 if fits else 1
        return False, said
    if not fits and letter == "e":
        raise Refused("\n".join(["error: no suitable queues", *texts[:-1]]))
    if not fits:
        said.answer.warning("warning: no suitable queues")
    return True, said
