"""The keys of the hosts of a cell, made and revoked by the administrator on the master host.

Owns names, addresses and permissions around `authority`, and the upgrade of a cell of an earlier version. Called by `program`,
`host`, `shadow` and `admission`. Source: docs/security.md.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Iterable
from pathlib import Path

from clients.admin.authority import Authority
from clients.admin.cell import InstalledCell
from clients.admin.cell_plan import HOST_NAME, require_one_family
from clients.admin.certificate import utc_now
from clients.admin.errors import AdminError
from clients.admin.local_daemons import addresses_of_host, host_aliases, is_master_here, names_of_host
from gridengine.addresses import LOOPBACK, LOOPBACK_6, explain_link_local, is_loopback, is_numeric


def add_host(cell: InstalledCell, name: str, into: Path | None = None) -> tuple[str, Path]:
    """Make keys for a host; return its unique name and the directory of the keys. AdminError: no address, or no permission."""
    unique = unique_name(cell, name)
    addresses = addresses_of(cell, unique)
    try:
        return unique, open_authority(cell).add(unique, addresses, utc_now(), into)
    except OSError as error:
        raise AdminError(f"cannot make keys for {unique}: {error.filename}: {error.strerror}") from error


def addresses_of(cell: InstalledCell, unique: str) -> list[str]:
    """The addresses of a host. AdminError: none of its names resolves here, or the master cannot be reached from there."""
    if found := list(addresses_of_host(cell, unique)):
        require_one_family(unique, found[0], cell.master_host, next(addresses_of_host(cell, cell.master_host), ""))
        return found
    reason = explain_link_local(names_of_host(cell, unique)) or "the name does not resolve on this host"
    raise AdminError(f'host "{unique}": {reason}')


def provide_authority(cell: InstalledCell, fresh: bool) -> bool:
    """Make the authority and the master host's keys if the cell never had them; return whether they were made.

    An authority that was lost with the spool is made again only for a `fresh` start: it may be restored, and hosts still trust
    it. AdminError: no permission.
    """
    authority = authority_of(cell)
    try:
        if authority.exists or not (fresh or authority.never_existed):
            return False
        addresses = addresses_of_host(cell, cell.master_host)
        authority.found(cell.master_host, addresses, utc_now())
    except OSError as error:
        raise AdminError(f"cannot make the authority of the cell: {error.filename}: {error.strerror}") from error
    return True


def provide_hosts(cell: InstalledCell, names: list[str]) -> None:
    """Make keys for all exec hosts of a cell with a new authority, in place of the secrets that all hosts shared."""
    for name in names:
        add_host(cell, name)
    authority_of(cell).remove_shared_secrets()


def authority_of(cell: InstalledCell) -> Authority:
    return Authority(cell.files, cell.qmaster_spool_dir, cell.settings["admin_user"])


def require_master(cell: InstalledCell) -> None:
    """AdminError: this is another host."""
    if not is_master_here(cell):
        raise AdminError(f"the keys of hosts are made and revoked on the master host, {cell.master_host}")


def open_authority(cell: InstalledCell) -> Authority:
    """The authority. AdminError: there is none, or the caller may not use it."""
    authority = authority_of(cell)
    try:
        there = authority.exists
    except OSError as error:
        raise AdminError(f"{error.filename}: {error.strerror}: only {cell.settings['admin_user']} may do this") from error
    if not there:
        raise AdminError("the cell has no authority yet: gridengine start makes one on the master host")
    return authority


def unique_name(cell: InstalledCell, name: str) -> str:
    """The name of a host in the cell, by one of its names. AdminError: the name is no host name, or an address."""
    unique = host_aliases(cell).get(name.lower(), name)
    if not re.fullmatch(HOST_NAME, unique):
        raise AdminError(f'host "{unique}": that is no host name')
    if is_numeric(unique):
        raise AdminError(f'host "{unique}": that is an address and no host name')
    return unique


def require_own_addresses(cell: InstalledCell, host: str, addresses: Iterable[str]) -> None:
    """AdminError: another host of the cell, with keys or as the master, has one of these addresses by its certificate or name.

    In a cell with the master at the loopback address all hosts are one machine; listed hosts may share the address.
    """
    masters = list(addresses_of_host(cell, cell.master_host))
    hosts = open_authority(cell).hosts()
    taken = {address: known.name for known in hosts if known.name != host for address in known.addresses}
    taken |= dict.fromkeys((LOOPBACK, LOOPBACK_6, *masters), cell.master_host)
    if any(map(is_loopback, masters)) and host in host_aliases(cell).values():
        del taken[LOOPBACK], taken[LOOPBACK_6]
    names = {known.name for known in hosts if known.name != host}
    for address in addresses:
        other = taken.get(address) or next((name for name in _names_at(cell, address) if name in names), None)
        if other is not None:
            raise AdminError(
                f'host "{host}": its address {address} is that of host "{other}", which has keys of this cell: a machine joins '
                f"under one name; if {other} is gone: gridengine host remove {other}"
            )


def _names_at(cell: InstalledCell, address: str) -> set[str]:
    """The names of hosts of the cell for an address by the resolver, independent of certificates."""
    if is_loopback(address):
        return set()
    try:
        name, others, _ = socket.gethostbyaddr(address)
    except OSError:
        return set()
    known = host_aliases(cell)
    spoken = {text.lower() for text in (name, *others)}
    return {known.get(text, text) for text in spoken} | {text.partition(".")[0] for text in spoken}
