"""The load formula: one number for each host, computed from weighted load values and consumables.

Owns its evaluation; the grammar is in `gridengine.syntax.load_formula`. Source: sge_sched_conf(5) load_formula, LS-7.
"""

from __future__ import annotations

from gridengine.placement.config_snapshot import PlacementConfig
from gridengine.placement.ledger import Ledger
from gridengine.placement.resources import host_value
from gridengine.state.configured.objects import ComplexEntry
from gridengine.syntax.load_formula import parse_load_formula


class CompiledFormula:
    """A compiled formula: (weight, complex entry) pairs, without an entry for an unknown name, and a constant."""

    __slots__ = ("terms", "constant", "config_snapshot", "on_consumables")

    def __init__(self, text: str, config_snapshot: PlacementConfig) -> None:
        self.config_snapshot = config_snapshot
        self.terms: list[tuple[float, ComplexEntry | None]] = []
        self.constant = 0.0
        for term in parse_load_formula(text).terms:
            if term.name:
                self.terms.append((term.weight, config_snapshot.entry(term.name)))
            else:
                self.constant += term.weight
        self.on_consumables = any(entry is not None and entry.is_consumable for _, entry in self.terms)

    def weigh(self, ledger: Ledger, host: str) -> float:
        """The load of a host. A missing value makes the host the last choice; BOOL counts 0 or 1."""
        total = self.constant
        for weight, entry in self.terms:
            value = host_value(self.config_snapshot, ledger, host, entry) if entry is not None else None
            if value is None or isinstance(value, str):
                return float("inf")
            total += weight * value
        return total
