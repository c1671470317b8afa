"""Helpers of the configuration tests: reading requests, and the texts of answers."""

from __future__ import annotations

from typing import Any

import msgspec

from daemons.qmaster.queries.reading import READERS
from gridengine.protocols.gdi.reading import decode_body
from gridengine.protocols.gdi.requests import Answer, Caller
from tests.harness import Cell

ALICE = Caller("alice", 1001, "users", 1001, "h1")


def read(cell: Cell, name: str, /, **body: Any) -> Answer:
    """A reading request of an ordinary user."""
    return READERS[name](cell.master, decode_body(name, msgspec.json.encode(body)), ALICE)


def texts(answer: Answer, level: str = "") -> list[str]:
    """The lines of an answer, of one level or of all."""
    return [text for of, text in answer.answers if level in ("", of)]


def entries(attributes: dict[str, str]) -> list[tuple[str, str, int]]:
    """Attributes in the form in which a client sends a file."""
    return [(attribute, value, number) for number, (attribute, value) in enumerate(attributes.items(), 1)]


def attribute(cell: Cell, verb: str, kind: str, name: str, attribute: str, value: str = "") -> Answer:
    """One of qconf's attribute verbs."""
    return cell.admin("config_attributes", verb=verb, kind=kind, name=name, changes=[(attribute, value)])


def queue_text(cell: Cell, attribute: str, queue: str = "all.q") -> str:
    return str(cell.state.objects["cluster_queue"][queue][attribute])
