"""The complex table: its reading as a whole or row by row, and the guards of its rows.

Owns the reading of rows out of a request and the guards of complexes in use. Called by `configuration` and `references`.
Source: complex(5); CX-2, CX-14, CX-16, CX-17, QF-18, QF-19, GD-9.
"""

from __future__ import annotations

from collections.abc import Iterator

from daemons.qmaster.decide.configuration.complex_settings import with_full_names
from daemons.qmaster.decide.configuration.proposal import Proposal
from gridengine.config.complexes import Complex, check_change, check_table
from gridengine.errors import ConfigError
from gridengine.kinds import title
from gridengine.state.state import State
from gridengine.syntax.object_file import Entry

_BOOKED = ("type", "consumable")
"""Columns that decide how a request is booked."""


def complex_rows(entries: list[Entry]) -> dict[str, Complex]:
    """The rows of a table. Its entries are in sequence; each row begins with its name. Raises ConfigError."""
    rows: dict[str, Complex] = {}
    row: list[Entry] = []
    for entry in [*entries, ("name", "", 0)]:
        if entry[0] == "name" and row:
            made = Complex.parse(row)
            if made.name in rows:
                raise ConfigError("complex", made.name, "name", "is defined twice", row[0][2])
            rows[made.name] = made
            row = []
        row.append(entry)
    return rows


def complex_refusals(proposal: Proposal) -> Iterator[str]:
    """The reasons against the proposed table."""
    state = proposal.state
    old = {name: Complex.from_attributes(text) for name, text in state.kind("complex").items()}
    new = {name: Complex.from_attributes(text) for name, text in proposal.kind("complex").items()}
    try:
        check_table(new.values())
        check_change(old, new)
        retyped = {name for name in old.keys() & new.keys() if old[name].type != new[name].type}
        _check_values(proposal, retyped)
        for name, attributes in proposal.kind("host_units").items():
            with_full_names(proposal, "host_units", name, attributes)
    except ConfigError as error:
        yield str(error)
    for name in old:
        user = _job_with(state, name)
        if user and name not in new:
            yield f"denied: {title('complex', name)} is still referenced in job {user}"
        elif user and any(getattr(old[name], column) != getattr(new[name], column) for column in _BOOKED):
            yield f"denied: type and consumable of {title('complex', name)} cannot be changed: job {user} requests it"


def _job_with(state: State, name: str) -> int:
    """A job that requests a complex, or holds an amount of it; 0 if there is none."""
    for job in state.jobs.values():
        held = any(name in task.resources for task in job.placed)
        if held or name in job.hard or name in job.soft:
            return job.id
    return 0


def _check_values(proposal: Proposal, retyped: set[str]) -> None:
    """Configured values must be values of the new types, too. Raises ConfigError."""
    for kind in ("exec_host", "cluster_queue") if retyped else ():
        for name, attributes in proposal.kind(kind).items():
            if any(complex_name in text for text in attributes.values() for complex_name in retyped):
                with_full_names(proposal, kind, name, attributes)
