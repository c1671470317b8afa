"""The load formula: one number for each host, computed from weighted load values and consumables.

Owns its evaluation; the grammar is in `gridengine.syntax.load_formula`. Source: sge_sched_conf(5) load_formula, LS-7.
"""

from __future__ import annotations

from gridengine.placement.config_snapshot import PlacementConfig
from gridengine.placement.ledger import Ledger
from gridengine.placement.resources import host_available
from gridengine.syntax.load_formula import parse_load_formula


class CompiledFormula:
    """A compiled formula: (weight, name) pairs and a constant."""

    __slots__ = ("terms", "constant", "config_snapshot", "on_consumables")

    def __init__(self, text: str, config_snapshot: PlacementConfig) -> None:
        self.config_snapshot = config_snapshot
        self.terms: list[tuple[float, str]] = []
        self.constant = 0.0
        for term in parse_load_formula(text).terms:
            if term.name:
                entry = config_snapshot.entry(term.name)
                self.terms.append((term.weight, entry.name if entry is not None else term.name))
            else:
                self.constant += term.weight
        entries = (config_snapshot.entry(name) for _, name in self.terms)
        self.on_consumables = any(entry is not None and entry.is_consumable for entry in entries)

    def weigh(self, ledger: Ledger, host: str) -> float:
        """The load of a host. A missing value makes the host the last choice; BOOL counts 0 or 1."""
        total = self.constant
        for weight, name in self.terms:
            offer = host_available(self.config_snapshot, ledger, host, name)
            if offer is None or isinstance(offer.value, str):
                return float("inf")
            total += weight * offer.value
        return total
