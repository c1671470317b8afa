"""The process that admits a host to the cell: the qmaster has looked at its token; this does what needs the authority.

Owns what such a host is made and what it is given: its places in the configuration, a certificate, a key, and the files of
`common/` that every user may read. Reads one JSON object (the fields of `JoinCell`, with the number of the token and the
address that asks), and writes an answer like those of the qmaster. Called by `daemons.qmaster.serve.joining`, as the user of the
daemons, on the master host.
Source: adr/0153, docs/security.md.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from clients import gdi
from clients.addresses import LOOPBACK
from clients.admin.asking import objects_now
from clients.admin.authority import Authority
from clients.admin.cell import InstalledCell, cell_of_environment, optional_text, read_cell
from clients.admin.cell_directory import Objects, changes_between
from clients.admin.certificate import key_of_request, utc_now
from clients.admin.host_consumables import can_count_gpus, counts_memory
from clients.admin.host_keys import addresses_of, opened_authority, require_own_addresses, unique_name
from clients.admin.host_objects import ROLES, HostWishes, with_host
from clients.admin.refusal import Refusal
from gridengine.joining import JoinedHost, JoinRecord

#: of `common/`, as far as they are there; `settings.sh` is made on the host, where programs may lie elsewhere
GIVEN = ("bootstrap", "act_qmaster", "cell_id", "cluster_name", "host_aliases", "tls.crt", "shadow_masters")


def main() -> int:
    """Admit the host that stdin describes. Exit code 1, with a traceback, is a fault of this program."""
    fields = json.load(sys.stdin)
    cell = read_cell(cell_of_environment(Path(os.environ["SGE_ROOT"]), os.environ["SGE_CELL"]))
    try:
        answer = {"status": 0, "answers": [], "data": admitted(cell, fields)}
    except Refusal as refusal:
        answer = {"status": 1, "answers": [["error", f"denied: {refusal}"]], "data": None}
    except OSError as error:
        text = f"the master cannot admit this host: {error.filename}: {error.strerror}"
        answer = {"status": 1, "answers": [["error", text]], "data": None}
    json.dump(answer, sys.stdout)
    return 0


def admitted(cell: InstalledCell, fields: dict[str, Any]) -> dict[str, Any]:
    """Make the host one of the cell; what it is given. Refusal, OSError."""
    authority = opened_authority(cell)
    record, now = authority.join(fields["token"]), utc_now()
    if record is None or not record.is_open(now.timestamp()):
        raise Refusal("the token is over or used up")
    host, request = unique_name(cell, fields["host"]), fields["request"].encode()
    try:
        key = key_of_request(request)
        if reason := record.refusal_reason(host, key, now.timestamp()):
            raise Refusal(reason)
        repeated = host in (each.host for each in record.joined)
        replaced = _has_keys(authority, host) and not repeated
        addresses = _right_addresses(cell, authority, record, host, fields["address"])
        _configure(host, record, fields)
        if not repeated:  # before the keys are made: whatever fails after this, nobody else joins by it
            authority.keep_join(record._replace(joined=(*record.joined, JoinedHost(host, key, now.timestamp()))))
        certificate, gdi_key = authority.admit(host, request, addresses, now)
    except ValueError as error:
        raise Refusal(f"the request for a certificate is wrong: {error}") from None
    texts = {name: optional_text(cell.files.common / name) for name in GIVEN if (cell.files.common / name).exists()}
    place = {"host": host, "root": str(cell.files.root), "cell": cell.files.name, "replaced": replaced}
    return {**place, "files": texts, "certificate": certificate.decode(), "gdi_key": gdi_key.decode()}


def _right_addresses(
    cell: InstalledCell, authority: Authority, record: JoinRecord, host: str, address: str
) -> list[str]:
    """The addresses of the host. Refusal: it has keys, is not at the address that asks, or another host of the cell is there."""
    if host == cell.master_host:
        raise Refusal(f'"{host}" is the master host')
    expected = (*record.hosts, *(each.host for each in record.joined))
    if host not in expected and _has_keys(authority, host):
        raise Refusal(f'host "{host}" has keys of this cell already: gridengine token join {host} makes a token to replace them')
    addresses = addresses_of(cell, host)
    asking = LOOPBACK if address.startswith("127.") else address
    if asking not in addresses:
        raise Refusal(f'host "{host}" is at {", ".join(addresses)} for the master, but {address} asks: mend names, or say --name')
    require_own_addresses(cell, host, addresses)
    return addresses


def _has_keys(authority: Authority, host: str) -> bool:
    """Whether a host has taken keys."""
    return any(known.name == host and not known.waiting for known in authority.hosts())


def _configure(host: str, record: JoinRecord, fields: dict[str, Any]) -> None:
    """Give the host what the token says; one that the cell knows, and the token does not place, stays where it is."""
    before = objects_now()
    changes = changes_between(before, _placed(before, host, record, fields))
    if not changes:
        return
    try:
        answer = gdi.change("config_change", {"changes": changes})
    except gdi.Unreachable as error:
        raise Refusal(str(error)) from None
    if answer.status:
        raise Refusal("; ".join(text for level, text in answer.answers if level == "error"))


def _placed(before: Objects, host: str, record: JoinRecord, fields: dict[str, Any]) -> Objects:
    said: dict[str, Any] = record.placing
    counted = said.get("memory") or counts_memory(before)
    wishes = HostWishes(
        roles=tuple(said.get("roles", ROLES)),
        queues=tuple(said.get("queues", ())),
        groups=tuple(said.get("groups", ())),
        slots=fields["processors"] or None,
        memory=f"{fields['memory']}M" if counted and fields["memory"] else "",
        gpus=fields.get("gpus", 0) if can_count_gpus(before) else 0,
    )
    known = host in before.get("exec_host", {})
    if known and not (wishes.queues or wishes.groups):
        others = tuple(role for role in wishes.roles if role != "exec")
        return with_host(before, host, replace(wishes, roles=others))
    return with_host(before, host, wishes)


if __name__ == "__main__":
    sys.exit(main())
