"""The keys of the hosts of a cell, as the administrator on the master host has them made and revoked.

Owns names, addresses and rights around `authority`, and what a cell of an earlier version lacks. Called by `program`, `host`,
`shadow` and `admission`. Source: docs/security.md.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Iterable
from pathlib import Path

from clients.addresses import LOOPBACK, host_addresses
from clients.admin.authority import Authority
from clients.admin.cell import InstalledCell
from clients.admin.cell_plan import HOST_NAME, is_address
from clients.admin.certificate import utc_now
from clients.admin.local_daemons import host_aliases, is_master_here
from clients.admin.refusal import Refusal


def add_host(cell: InstalledCell, name: str, into: Path | None = None) -> tuple[str, Path]:
    """Make keys for a host; return its unique name and where the keys lie. Refusal: no address, or no right to."""
    unique = unique_name(cell, name)
    addresses = addresses_of(cell, unique)
    try:
        return unique, opened_authority(cell).add(unique, addresses, utc_now(), into)
    except OSError as error:
        raise Refusal(f"cannot make keys for {unique}: {error.filename}: {error.strerror}") from error


def addresses_of(cell: InstalledCell, unique: str) -> list[str]:
    """Where a host is. Refusal: no name of it resolves here."""
    if found := host_addresses(unique, _aliases(cell, unique)):
        return found
    raise Refusal(f'host "{unique}": the name does not resolve on this host')


def provide_authority(cell: InstalledCell, fresh: bool) -> bool:
    """Make the authority and the master host's keys where a cell never had them; say whether that was so.

    One that was lost with the spool is made anew only for a `fresh` start: it may be restored, and hosts believe in it.
    Refusal: no right to.
    """
    authority = authority_of(cell)
    try:
        if authority.exists or not (fresh or authority.never_was):
            return False
        addresses = host_addresses(cell.master_host, _aliases(cell, cell.master_host))
        authority.found(cell.master_host, addresses, utc_now())
    except OSError as error:
        raise Refusal(f"cannot make the authority of the cell: {error.filename}: {error.strerror}") from error
    return True


def provide_hosts(cell: InstalledCell, names: list[str]) -> None:
    """Make keys for all exec hosts of a cell that has just got its authority, in place of secrets that all of them had."""
    for name in names:
        add_host(cell, name)
    authority_of(cell).remove_shared_secrets()


def authority_of(cell: InstalledCell) -> Authority:
    return Authority(cell.files, cell.qmaster_spool_dir, cell.settings["admin_user"])


def require_master(cell: InstalledCell) -> None:
    """Refusal: this is another host."""
    if not is_master_here(cell):
        raise Refusal(f"the keys of hosts are made and revoked on the master host, {cell.master_host}")


def opened_authority(cell: InstalledCell) -> Authority:
    """The authority, which is there and the caller's to use. Refusal: it is not."""
    authority = authority_of(cell)
    try:
        there = authority.exists
    except OSError as error:
        raise Refusal(f"{error.filename}: {error.strerror}: only {cell.settings['admin_user']} may do this") from error
    if not there:
        raise Refusal("the cell has no authority yet: gridengine start makes one on the master host")
    return authority


def unique_name(cell: InstalledCell, name: str) -> str:
    """The name of a host in the cell, by one of its names. Refusal: that is no host name, or an address."""
    unique = host_aliases(cell).get(name.lower(), name)
    if not re.fullmatch(HOST_NAME, unique):
        raise Refusal(f'host "{unique}": that is no host name')
    if is_address(unique):
        raise Refusal(f'host "{unique}": that is an address and no host name')
    return unique


def require_own_addresses(cell: InstalledCell, host: str, addresses: Iterable[str]) -> None:
    """Refusal: another host of the cell, that has keys or is the master, is at one of these addresses by its certificate or name.

    Hosts of a cell whose master is at the loopback are one machine; those that the administrator has listed may share it.
    """
    masters = host_addresses(cell.master_host, _aliases(cell, cell.master_host))
    hosts = opened_authority(cell).hosts()
    taken = {address: known.name for known in hosts if known.name != host for address in known.addresses}
    taken |= dict.fromkeys((LOOPBACK, *masters), cell.master_host)
    if LOOPBACK in masters and host in host_aliases(cell).values():
        del taken[LOOPBACK]
    names = {known.name for known in hosts if known.name != host}
    for address in addresses:
        other = taken.get(address) or next((name for name in _names_at(cell, address) if name in names), None)
        if other is not None:
            raise Refusal(
                f'host "{host}": its address {address} is that of host "{other}", which has keys of this cell: a machine joins '
                f"under one name; if {other} is gone: gridengine host remove {other}"
            )


def _names_at(cell: InstalledCell, address: str) -> set[str]:
    """The names of hosts of the cell that the resolver knows at an address, whatever certificates say."""
    if address == LOOPBACK:
        return set()
    try:
        name, others, _ = socket.gethostbyaddr(address)
    except OSError:
        return set()
    known = host_aliases(cell)
    spoken = {text.lower() for text in (name, *others)}
    return {known.get(text, text) for text in spoken} | {text.partition(".")[0] for text in spoken}


def _aliases(cell: InstalledCell, unique: str) -> list[str]:
    return [alias for alias, known in host_aliases(cell).items() if known == unique]
