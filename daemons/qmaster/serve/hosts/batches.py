"""Batches of instructions: the pending instructions of an exec host that fit into one call, with the scripts that the host lacks.

Owns composing a batch and applying its answer; pure but for reading payloads from the spool, so that tests and the
simulation use it without any loop. Its records about hosts save bytes, and are corrected soon if they are wrong. Called by
`dispatch`.
"""

from __future__ import annotations

from collections.abc import Container

from daemons.qmaster.decision import Decision
from daemons.qmaster.effects import doubt_events, pending_effects
from daemons.qmaster.master import DAEMON, Master
from daemons.qmaster.serve.hosts.payloads import Payloads, weight
from gridengine.protocols.delivery import Acknowledgement, Batch, Configure, Start

MAX_INSTRUCTIONS = 100
"""Instructions in one call: large enough to amortise it, small enough that ends are reported meanwhile."""
MAX_BYTES = 4 * 2**20
"""Largest size of the instructions of one call, with their scripts and environments; the first instruction is sent at any
size."""


class Batches:
    """`inventoried`: hosts whose inventory was taken, so that tasks may be started there."""

    def __init__(self, master: Master, inventoried: Container[str]) -> None:
        self._master, self._inventoried = master, inventoried
        self._configured: dict[str, dict[str, str]] = {}
        self._payloads = Payloads(master.spool.payload)

    def compose(self, host: str) -> Batch:
        """Compose the pending instructions of a host, as many as fit into one call. The batch may be sent when all
        decisions up to now are durable."""
        state = self._master.state
        batch = Batch(master=(self._master.incarnation, state.revision))
        configuration = state.configuration_text(host)
        if self._configured.get(host) != configuration:
            batch.instructions.append(Configure(configuration))
        size = 0
        for instruction in pending_effects(state, host, self._payloads, self._may_start(host)):
            script = self._payloads.script_for(host, instruction)
            size += weight(instruction, None if instruction.key.job in batch.scripts else script)
            if batch.instructions and size > MAX_BYTES or len(batch.instructions) >= MAX_INSTRUCTIONS:
                break
            batch.instructions.append(instruction)
            if script is not None:
                batch.scripts[instruction.key.job] = script
        return batch

    def _may_start(self, host: str) -> bool:
        """Whether tasks may be started on a host. Its inventory was taken since this qmaster started: the ends of these tasks may
        be in it. And the host is not lost: the tasks may be placed elsewhere while a start instruction is being delivered."""
        known = self._master.state.hosts.get(host)
        return host in self._inventoried and known is not None and known.up

    def record_doubt(self, batch: Batch) -> bool:
        """Record which task states become uncertain when a batch is sent. Returns whether there were any: then the batch has to
        be composed again."""
        events = doubt_events(self._master.state, batch.instructions)
        self._master.record(Decision(events=events), DAEMON)
        return bool(events)

    def apply_answer(self, host: str, batch: Batch, answers: list[Acknowledgement]) -> None:
        """Apply the answer of a host to a batch."""
        self._payloads.note_sent(host, self._master.state.jobs, batch.scripts)
        pairs = list(zip(batch.instructions, answers, strict=True))
        for instruction, answer in pairs:
            if isinstance(instruction, Configure):
                if answer.ok:
                    self._configured[host] = instruction.configuration
            elif answer.needs_script and isinstance(instruction, Start):
                self._payloads.note_missing(host, instruction.job.id)
        recorded = [(instruction, answer) for instruction, answer in pairs if not isinstance(instruction, Configure)]
        self._master.acknowledgements(host, [each for each, _ in recorded], [each for _, each in recorded])

    def note_reconnection(self, host: str) -> None:
        """The execd of the host has restarted: configure it again."""
        self._configured.pop(host, None)

    def altered(self, job_id: int) -> None:
        """The job's environment has changed."""
        self._payloads.forget(job_id)
