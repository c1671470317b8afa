"""The authority of a cell: its keys are valid until they are replaced or revoked, and never again."""

from __future__ import annotations

import os
import pwd
from pathlib import Path

import pytest

from clients.admin.authority import Authority
from clients.admin.cell import CellFiles
from clients.admin.certificate import is_signed_by, utc_now
from clients.admin.errors import AdminError
from daemons.qmaster.serve.hosts.known_hosts import KnownHosts
from daemons.runtime.cell import Cell
from daemons.runtime.keys import exec_host_keys, install_offered_keys, known_hosts, master_keys, own_keys

NOW = utc_now()


@pytest.fixture
def cell(tmp_path: Path) -> Cell:
    """The cell as its daemons see it."""
    return Cell(tmp_path, "c", "x", tmp_path / "q", tmp_path / "e", tmp_path / "r", qmaster_port=1, ray_port=2)


@pytest.fixture
def authority(cell: Cell) -> Authority:
    made = Authority(CellFiles(cell.root, cell.name), cell.qmaster_spool_dir, pwd.getpwuid(os.geteuid()).pw_name)
    cell.common.mkdir(parents=True)
    made.found("m", [], NOW)
    return made


@pytest.fixture
def known(cell: Cell) -> KnownHosts:
    return KnownHosts(known_hosts(cell))


def take(cell: Cell, host: str) -> str:
    """The step of a starting sge_execd that installs its keys; returns its key."""
    cell.execd_spool(host).mkdir(parents=True, exist_ok=True)
    install_offered_keys(cell, host)
    return exec_host_keys(cell, host).gdi_key()


def test_a_host_takes_its_keys_out_of_the_shared_directory(cell: Cell, authority: Authority, known: KnownHosts) -> None:
    authority.add("h1", ["10.0.0.1"], NOW)
    assert [(host.name, host.waiting) for host in authority.hosts()] == [("h1", True)]
    key = take(cell, "h1")
    assert key and key == known.key("h1")
    assert [(host.name, host.waiting) for host in authority.hosts()] == [("h1", False)]
    assert list(cell.secrets.iterdir()) == []
    keys = exec_host_keys(cell, "h1")
    assert {path.stat().st_mode & 0o777 for path in (keys.key, keys.certificate)} == {0o600}
    keys.client_context()
    install_offered_keys(cell, "h1")
    assert exec_host_keys(cell, "h1").gdi_key() == key


def test_keys_may_be_carried_instead(cell: Cell, authority: Authority, known: KnownHosts) -> None:
    place = authority.add("h1", [], NOW, cell.root / "carried")
    assert not (cell.secrets / "h1").exists()
    place.rename(cell.root / "there")
    assert (cell.root / "there" / "gdi_key").read_text() == known.key("h1")


def test_a_shared_directory_that_root_may_not_read_is_no_fault(
    cell: Cell, authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    authority.add("h1", [], NOW)
    key = take(cell, "h1")

    def squashed(_: Path) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "iterdir", squashed)
    assert take(cell, "h1") == key


def test_a_revoked_host_is_unknown_to_the_next_request(cell: Cell, authority: Authority, known: KnownHosts) -> None:
    authority.add("h1", [], NOW)
    authority.add("h2", [], NOW)
    other = take(cell, "h2")
    assert known.key("h1")
    authority.revoke("h1")
    assert known.key("h1") == "" and known.key("h2") == other
    assert not (cell.secrets / "h1").exists()
    assert [host.name for host in authority.hosts()] == ["h2"]
    with pytest.raises(AdminError, match='"h1" has no keys'):
        authority.revoke("h1")


def test_new_keys_make_the_old_ones_worthless(cell: Cell, authority: Authority, known: KnownHosts) -> None:
    authority.add("h1", [], NOW)
    stolen = take(cell, "h1")
    authority.add("h1", [], NOW)
    assert known.key("h1") != stolen
    assert take(cell, "h1") == known.key("h1")


@pytest.mark.parametrize("name", ["", ".", "..", "h1/../h2", "../hosts/h2", "h2\n", "a" * 300, "h\0"])
def test_a_host_cannot_name_its_way_to_a_key(authority: Authority, known: KnownHosts, name: str) -> None:
    authority.add("h2", [], NOW)
    assert known.key(name) == ""


def test_a_new_authority_believes_no_host_of_an_earlier_one(cell: Cell, authority: Authority, known: KnownHosts) -> None:
    authority.add("h1", [], NOW)
    before = exec_host_keys(cell, "h1").authority.read_bytes()
    authority.found("m", [], NOW)
    assert authority.hosts() == [] and known.key("h1") == ""
    assert not is_signed_by(master_keys(cell).certificate.read_bytes(), before)


def test_secrets_that_all_hosts_had_go(cell: Cell, authority: Authority) -> None:
    cell.secrets.mkdir()
    for name in ("ray_token", "gdi_key", "tls.key"):
        (cell.secrets / name).write_text("x")
    authority.add("h1", [], NOW)
    authority.remove_shared_secrets()
    assert [path.name for path in cell.secrets.iterdir()] == ["h1"]


def test_a_master_that_may_lose_its_role_keeps_its_keys(cell: Cell, authority: Authority) -> None:
    """`shadow add` on a master that is no exec host: the web server, which read them before, is still believed."""
    keys = master_keys(cell)
    keys.make_gdi_key()
    before = keys.gdi_key()
    known = KnownHosts(known_hosts(cell), "m", before)
    authority.add_master("m")
    assert known.key("m") == before
    assert [(host.name, host.waiting) for host in authority.hosts()] == [("m", True)]
    install_offered_keys(cell, "m")  # its execd spool directory is not there before
    cell.act_qmaster.write_text("other\n")
    taken = own_keys(cell, "m")
    taken.client_context()
    assert taken.gdi_key() == before and not (cell.secrets / "m").exists()
