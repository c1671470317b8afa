"""The process that admits a host to the cell, once the qmaster has checked its token.

Owns the admission: the host's entries in the configuration, a certificate, a key, and the files of `common/` that every user may
read. Reads one JSON object (the fields of `JoinCell`, with the number of the token and the address that asks), and writes an
answer of the form of the qmaster's answers. Called by `serve.hosts.joining`, as the user of the daemons, on the master
host. Source: adr/0153, docs/security.md.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from clients import gdi
from clients.admin.authority import Authority
from clients.admin.cell import InstalledCell, cell_of_environment, optional_text, read_cell
from clients.admin.cell_directory import Objects, changes_between
from clients.admin.certificate import key_of_request, utc_now
from clients.admin.errors import AdminError
from clients.admin.host_consumables import can_count_gpus, counts_memory
from clients.admin.host_keys import addresses_of, open_authority, require_own_addresses, unique_name
from clients.admin.host_objects import ROLES, HostOptions, with_host
from clients.admin.qmaster_requests import read_objects
from clients.admin.racks import place_in_rack
from gridengine.addresses import canonical, is_loopback
from gridengine.protocols.joining import JoinedHost, JoinRecord

#: files of `common/`, if they exist; `settings.sh` is made on the host, where programs may be in another directory
GIVEN = ("bootstrap", "act_qmaster", "cell_id", "cluster_name", "host_aliases", "tls.crt", "shadow_masters", "racks")


def main() -> int:
    """Admit the host that stdin describes. Exit code 1, with a traceback, is a fault of this program."""
    fields = json.load(sys.stdin)
    cell = read_cell(cell_of_environment(Path(os.environ["SGE_ROOT"]), os.environ["SGE_CELL"]))
    try:
        answer = {"status": 0, "answers": [], "data": admit_host(cell, fields)}
    except AdminError as refusal:
        answer = {"status": 1, "answers": [["error", f"denied: {refusal}"]], "data": None}
    except OSError as error:
        text = f"the master cannot admit this host: {error.filename}: {error.strerror}"
        answer = {"status": 1, "answers": [["error", text]], "data": None}
    json.dump(answer, sys.stdout)
    return 0


def admit_host(cell: InstalledCell, fields: dict[str, Any]) -> dict[str, Any]:
    """Add the host to the cell; return the data for the host. Raises AdminError, OSError."""
    authority = open_authority(cell)
    record, now = authority.join(fields["token"]), utc_now()
    if record is None or not record.is_open(now.timestamp()):
        raise AdminError("the token has expired or is used up")
    host, request = unique_name(cell, fields["host"]), fields["request"].encode()
    try:
        key = key_of_request(request)
        if reason := record.refusal_reason(host, key, now.timestamp()):
            raise AdminError(reason)
        repeated = host in (each.host for each in record.joined)
        replaced = _has_keys(authority, host) and not repeated
        addresses = _checked_addresses(cell, authority, record, host, fields["address"])
        _configure(host, record, fields)
        if rack := record.placing.get("rack", ""):
            place_in_rack(cell, [host], str(rack))
        if not repeated:  # before the keys are made: the token stays used even if a later step fails
            authority.keep_join(record._replace(joined=(*record.joined, JoinedHost(host, key, now.timestamp()))))
        certificate, gdi_key = authority.admit(host, request, addresses, now)
    except ValueError as error:
        raise AdminError(f"the request for a certificate is wrong: {error}") from None
    texts = {name: optional_text(cell.files.common / name) for name in GIVEN if (cell.files.common / name).exists()}
    identity = {"host": host, "root": str(cell.files.root), "cell": cell.files.name, "replaced": replaced}
    return {**identity, "files": texts, "certificate": certificate.decode(), "gdi_key": gdi_key.decode()}


def _checked_addresses(
    cell: InstalledCell, authority: Authority, record: JoinRecord, host: str, address: str
) -> list[str]:
    """The addresses of the host. AdminError: the host has keys, the request comes from another address, or another
    host of the cell has one of the addresses.
    """
    if host == cell.master_host:
        raise AdminError(f'"{host}" is the master host')
    expected = (*record.hosts, *(each.host for each in record.joined))
    if host not in expected and _has_keys(authority, host):
        raise AdminError(
            f'host "{host}" has keys of this cell already: gridengine token join {host} makes a token to replace them'
        )
    addresses = addresses_of(cell, host)
    asking = canonical(address)
    if asking not in addresses and not (is_loopback(asking) and any(map(is_loopback, addresses))):
        known = ", ".join(addresses)
        raise AdminError(f'host "{host}" is at {known} for the master, but {address} asks: correct the names, or give --name')
    require_own_addresses(cell, host, addresses)
    return addresses


def _has_keys(authority: Authority, host: str) -> bool:
    """Whether a host has taken keys."""
    return any(known.name == host and not known.waiting for known in authority.hosts())


def _configure(host: str, record: JoinRecord, fields: dict[str, Any]) -> None:
    """Configure the host as the token specifies. A known host keeps its queues and groups if the token names none."""
    before = read_objects()
    changes = changes_between(before, _with_host(before, host, record, fields))
    if not changes:
        return
    try:
        answer = gdi.change("config_change", {"changes": changes})
    except gdi.Unreachable as error:
        raise AdminError(str(error)) from None
    if answer.status:
        raise AdminError("; ".join(text for level, text in answer.answers if level == "error"))


def _with_host(before: Objects, host: str, record: JoinRecord, fields: dict[str, Any]) -> Objects:
    given: dict[str, Any] = record.placing
    counted = given.get("memory") or counts_memory(before)
    options = HostOptions(
        roles=tuple(given.get("roles", ROLES)),
        queues=tuple(given.get("queues", ())),
        groups=tuple(given.get("groups", ())),
        slots=fields["processors"] or None,
        memory=f"{fields['memory']}M" if counted and fields["memory"] else "",
        gpus=fields.get("gpus", 0) if can_count_gpus(before) else 0,
    )
    known = host in before.get("exec_host", {})
    if known and not (options.queues or options.groups):
        others = tuple(role for role in options.roles if role != "exec")
        return with_host(before, host, replace(options, roles=others))
    return with_host(before, host, options)


if __name__ == "__main__":
    sys.exit(main())
