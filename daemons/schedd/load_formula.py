"""The load formula: one number for each host out of weighted load values and consumables.

Owns its reading and evaluation. Source: sge_sched_conf(5) load_formula, LS-7.
Grammar: formula = ["+" | "-"] term {("+" | "-") term}      term = name ["*" number] | number ["*" name]
"""

from __future__ import annotations

import re

from gridengine.placement.ledger import Ledger
from gridengine.placement.resources import host_available
from gridengine.placement.site import Site

_TERM = re.compile(r"([+-]?)([^+*-]+(?:[eE][+-]\d+)?)(?:\*([^+*-]+))?")


class LoadFormula:
    """A compiled formula: (weight, name) pairs and a constant. `names`: the values it depends on."""

    __slots__ = ("terms", "constant", "site")

    def __init__(self, text: str, site: Site) -> None:
        self.site = site
        self.terms: list[tuple[float, str]] = []
        self.constant = 0.0
        for sign, first, second in _TERM.findall("" if text.lower() == "none" else text.replace(" ", "")):
            weight, name = -1.0 if sign == "-" else 1.0, ""
            for factor in (first, second):
                try:
                    weight *= float(factor) if factor else 1.0
                except ValueError:
                    entry = site.entry(factor)
                    name = entry.name if entry is not None else factor
            if name:
                self.terms.append((weight, name))
            else:
                self.constant += weight

    @property
    def names(self) -> frozenset[str]:
        return frozenset(name for _, name in self.terms)

    def weigh(self, ledger: Ledger, host: str) -> float:
        """The load of a host. A value that is not there makes the host the last choice; BOOL counts 0 or 1."""
        total = self.constant
        for weight, name in self.terms:
            offer = host_available(self.site, ledger, host, name)
            if offer is None or isinstance(offer.value, str):
                return float("inf")
            total += weight * offer.value
        return total
