"""Demands: one requested resource in its typed form, and whether a value satisfies it.

Owns the comparison of a request with an offered value. Must not know hosts, queues or jobs. Called by
`gridengine.placement.placement_request`, and through its requests by all rules that match. Source: CX-24, CX-53, CX-55.
"""

from __future__ import annotations

from gridengine.placement.values import CASELESS_TYPES, EXCLUSIVE, RELATIONS, STRING_TYPES, Value, requested_amount
from gridengine.state.configured.objects import ComplexEntry
from gridengine.syntax.wildcard import Matcher, compile_expression, is_pattern


class Demand:
    """One requested resource: `amount` for numeric types, a compiled expression for strings."""

    __slots__ = ("entry", "name", "text", "amount", "_relation", "_matcher", "_differs")

    def __init__(self, entry: ComplexEntry, text: str) -> None:
        self.entry = entry
        self.name = entry.name
        self.text = text
        self.amount = 0.0
        # EXCL: a request for exclusive use needs the attribute, other jobs accept any value
        self._relation = RELATIONS["<="] if entry.relop == EXCLUSIVE else RELATIONS.get(entry.relop, RELATIONS["=="])
        self._matcher: Matcher | None = None
        self._differs = entry.relop == "!="
        if entry.type in STRING_TYPES:
            self._matcher = compile_expression(text, entry.type in CASELESS_TYPES)
        else:
            self.amount = requested_amount(entry, text)

    @property
    def is_exclusive(self) -> bool:
        return self.entry.relop == EXCLUSIVE

    def accepts(self, value: Value) -> bool:
        """Whether a configured or reported value satisfies the request: `request relop value`. Source: CX-24, CX-53."""
        if self._matcher is None:
            return self._relation(self.amount, value)  # type: ignore[arg-type]
        text = str(value)
        found = self._matcher(text)
        if not found and self.entry.type == "HOST" and not is_pattern(self.text):
            # CX-55: a short name means the host of that name in any domain
            found = "." not in self.text and self._matcher(text.partition(".")[0])
        return found != self._differs


_READ_FROM_OFFER = {"<=": ">=", "<": ">", ">=": "<=", ">": "<", "==": "="}


def demand_text(demand: Demand) -> str:
    """The condition on an offered value: `gpu_mem >= 40G` for the request gpu_mem=40G."""
    return f"{demand.name} {_READ_FROM_OFFER.get(demand.entry.relop, demand.entry.relop)} {demand.text}"
