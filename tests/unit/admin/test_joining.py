"""Bare hosts join by a token: its validity, and the keys and files of such a host, on a cell in this process with real keys."""

from __future__ import annotations

import os
import shutil
import socket
import stat
import time
from pathlib import Path
from typing import Any

import pytest

from clients.admin import admission, host_keys
from clients.admin.cell import InstalledCell, read_cell
from clients.admin.cell_plan import CellOptions, plan_cell
from clients.admin.certificate import is_key_of, is_signed_by, make_request, names_of, utc_now
from clients.admin.creation import create_cell
from clients.admin.errors import AdminError
from clients.admin.host_keys import authority_of
from clients.admin.host_resources import Machine
from clients.admin.installation import Installation
from clients.admin.join import join_cell
from gridengine.errors import InvalidValueError
from gridengine.protocols.joining import REPEAT_S, JoinedHost, JoinRecord, JoinToken, encode_record, parse_token, read_record
from tests.harness import Cell
from tests.unit.admin.administrator import Administrator

CONFIG = Path(__file__).parents[3] / "cluster-config"


@pytest.fixture
def cell(tmp_path: Path) -> InstalledCell:
    """A cell on disk whose master host is this machine; h1 has taken its keys, h2 has not yet."""
    others = (f"h{n}=10.9.9.{n}" for n in (1, 2, *range(4, 10)))
    aliases = [f"{socket.gethostname()}=127.0.0.1", *others, "h9=nine", "h10=fe80::10%eth0"]
    plan = plan_cell(
        CellOptions(
            tmp_path / "cells", "default",
            spool_dir=tmp_path / "spool",
            run_dir=Path("/tmp/r"),
            exec_hosts=["h1", "h2"],
            aliases=aliases,
        )
    )
    create_cell(plan, Installation(tmp_path / "bin", CONFIG), utc_now())
    taken = plan.files.secrets / "h1"
    taken.rename(tmp_path / "taken")
    return read_cell(plan.files)


@pytest.fixture
def admin(
    cell: InstalledCell, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Administrator:
    (tmp_path / "cell").mkdir()
    monkeypatch.setenv("SGE_ROOT", str(cell.files.root))
    monkeypatch.setenv("SGE_CELL", "default")
    return Administrator(Cell(tmp_path / "cell", hosts=2), "token", capsys, monkeypatch)


@pytest.fixture(autouse=True)
def no_reverse_names(monkeypatch: pytest.MonkeyPatch) -> None:
    """Addresses of these hosts are made up: no resolver is asked for their names."""

    def unknown(address: str) -> None:
        raise socket.herror(1, f"Unknown host {address}")

    monkeypatch.setattr(socket, "gethostbyaddr", unknown)


def made(admin: Administrator, *arguments: object) -> JoinToken:
    status, output = admin("join", *arguments)
    assert status == 0, output
    return parse_token(output.split()[0])


@pytest.mark.statement("CX-5")
def test_gpus_of_a_host_that_joins_are_counted_and_its_memory_where_that_is_so(admin: Administrator, cell: InstalledCell) -> None:
    asks(cell, made(admin), "h8", "10.9.9.8", gpus=2)
    assert admin.cell.state.kind("exec_host")["h8"]["complex_values"] == "gpu=2"
    assert asks(cell, made(admin, "--memory"), "h9", "10.9.9.9")["host"] == "h9"
    admin.verb = "host"
    assert admin("remove", "h8", "--yes")[0] == 0
    admin.verb = "token"
    asks(cell, made(admin), "h8", "10.9.9.8", memory=512)
    assert admin.cell.state.kind("exec_host")["h8"]["complex_values"] == "h_vmem=512M", "as the cell does by now"


def asks(cell: InstalledCell, token: JoinToken, host: str, address: str, **more: object) -> dict[str, Any]:
    """The keys and files for the host at an address, after the qmaster has checked its token. Each call has a key of its own."""
    request = {"token": token.number, "host": host, "request": make_request("any").certificate.decode()}
    return admission.admit_host(cell, {**request, "address": address, "processors": 12, "memory": 1024, **more})


def test_the_master_keeps_no_secret_and_the_token_names_its_certificate(admin: Administrator, cell: InstalledCell) -> None:
    status, output = admin("join", "h9", "--hours", 2)
    token = parse_token(output.split()[0])
    commands = [line for line in output.splitlines() if line.startswith("gridengine join")]
    assert status == 0 and commands[0].startswith(f"gridengine join {cell.master_host}:{cell.settings['qmaster_port']} ")
    assert commands and not any("ge1_" in line for line in commands), "no command that is printed has the secret in its arguments"
    assert token.fingerprint == authority_of(cell).masters_fingerprint()
    kept = next((cell.qmaster_spool_dir / "authority" / "joins").iterdir())
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600 and token.secret.hex() not in kept.read_text()
    record = read_record(kept.parent, token.number)
    assert record is not None and record.hosts == ("h9",)
    now = time.time()
    assert record.accepts(token, now + 7100) and not record.accepts(token, now + 7300)
    assert not record.accepts(token._replace(secret=bytes(18)), now)
    for text in ("", "ge1_", str(token)[:-4], f"x{token}", "ge1_é" + "A" * 70):
        with pytest.raises(InvalidValueError, match="not a valid join token"):
            parse_token(text)


def test_a_bare_host_is_one_of_the_cell_by_one_request(admin: Administrator, cell: InstalledCell) -> None:
    token = made(admin, "--memory")
    given = asks(cell, token, "nine", "10.9.9.9")
    state = admin.cell.state
    assert given["host"] == "h9"
    assert sorted(names_of(given["certificate"].encode())) == ["10.9.9.9", "127.0.0.1", "::1", "h9", "localhost"]
    assert all(state.has(kind, "h9") for kind in ("admin_host", "submit_host", "exec_host"))
    assert state.configs["all.q@h9"].slots == 12 and state.kind("exec_host")["h9"]["complex_values"] == "h_vmem=1024M"
    assert is_signed_by(given["certificate"].encode(), given["files"]["tls.crt"].encode())
    assert given["gdi_key"] == (cell.qmaster_spool_dir / "authority" / "hosts" / "h9" / "gdi_key").read_text()
    assert sorted(given["files"]) == ["act_qmaster", "bootstrap", "cell_id", "cluster_name", "host_aliases", "tls.crt"]
    assert not given["replaced"]


def test_a_token_is_for_one_host_unless_more_are_asked_for(admin: Administrator, cell: InstalledCell) -> None:
    token = made(admin)
    asks(cell, token, "h8", "10.9.9.8")
    assert "one host without keys, used up, joined: h8" in admin("list")[1]
    with pytest.raises(AdminError, match="the token is used up, by h8: gridengine token join h9 makes another"):
        asks(cell, token, "h9", "10.9.9.9")
    two = made(admin, "--hosts", 2)
    asks(cell, two, "h9", "10.9.9.9")
    asks(cell, two, "h7", "10.9.9.7")
    with pytest.raises(AdminError, match="used up, by h9, h7"):
        asks(cell, two, "h6", "10.9.9.6")
    named = made(admin, "h6", "h5")
    for host in ("h6", "h5"):
        asks(cell, named, host, f"10.9.9.{host[1]}")
        with pytest.raises(AdminError, match=f'host "{host}" has joined by this token already: gridengine token join {host}'):
            asks(cell, named, host, f"10.9.9.{host[1]}")
    assert "the hosts that are named" in admin("join", "h6", "--hosts", 2)[1]


def test_a_lost_answer_is_asked_for_again_with_the_same_key_and_within_a_minute(
    admin: Administrator, cell: InstalledCell
) -> None:
    token, request = made(admin), make_request("h9").certificate.decode()
    first = asks(cell, token, "h9", "10.9.9.9", request=request)
    again = asks(cell, token, "h9", "10.9.9.9", request=request)
    assert again["gdi_key"] != first["gdi_key"] and not again["replaced"]
    with pytest.raises(AdminError, match="has joined by this token already"):
        asks(cell, token, "h9", "10.9.9.9")
    record = authority_of(cell).join(token.number)
    assert record is not None and record.accepts(token, time.time())
    earlier = record.joined[0]._replace(at=time.time() - REPEAT_S - 1)
    authority_of(cell).keep_join(record._replace(joined=(earlier,)))
    with pytest.raises(AdminError, match="expired or is used up"):
        asks(cell, token, "h9", "10.9.9.9", request=request)
    assert not record._replace(joined=(earlier,)).accepts(token, time.time()), "the port is closed again"


def test_a_token_is_spent_before_keys_are_made(
    admin: Administrator, cell: InstalledCell, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device", "/spool")

    token = made(admin)
    monkeypatch.setattr("clients.admin.authority.Authority.admit", full)
    with pytest.raises(OSError, match="No space"):
        asks(cell, token, "h9", "10.9.9.9")
    monkeypatch.undo()
    record = authority_of(cell).join(token.number)
    assert record is not None and record.is_used_up


ADDRESSES = ["10.9.9.10", "10.9.2313", "168364297", "0xa090909", "0x0a.9.0x9.011", "127.1", "0", "1"]


@pytest.mark.parametrize("address", ADDRESSES)
def test_no_address_is_the_name_of_a_host(admin: Administrator, cell: InstalledCell, address: str) -> None:
    with pytest.raises(AdminError, match="that is an address and no host name"):
        asks(cell, made(admin), address, "10.9.9.9")
    assert "that is an address and no host name" in admin("join", address)[1]
    admin.verb = "host"
    assert "that is an address and no host name" in admin("add", address)[1]


@pytest.mark.parametrize(
    ("host", "address", "other"),
    [
        ("alias-of-h1", "10.9.9.1", "h1"),
        ("both", "10.9.9.1", "h1"),
        ("both", "10.9.9.7", "h1"),
        ("H1", "10.9.9.1", "h1"),
        ("h1.example.org", "10.9.9.1", "h1"),
        ("localhost", "127.0.0.1", socket.gethostname()),
        ("localhost", "127.0.0.9", socket.gethostname()),
        ("h4", "10.9.9.4", "h1"),
    ],
)
def test_no_further_name_of_a_host_with_keys_gets_keys(
    admin: Administrator, cell: InstalledCell, monkeypatch: pytest.MonkeyPatch, host: str, address: str, other: str
) -> None:
    """h4: the resolver gives the address of h1, whose certificate has another address."""
    known = {"alias-of-h1": ["10.9.9.1"], "both": ["10.9.9.7", "10.9.9.1"], "H1": ["10.9.9.1"], "h1.example.org": ["10.9.9.1"]}
    real, token = host_keys.addresses_of, made(admin)
    monkeypatch.setattr("clients.admin.admission.addresses_of", lambda cell, name: known.get(name) or real(cell, name))
    monkeypatch.setattr("clients.admin.token.addresses_of", lambda cell, name: known.get(name) or real(cell, name))
    monkeypatch.setattr(socket, "gethostbyaddr", lambda asked: ("h1" if asked == "10.9.9.4" else "node", [], [asked]))
    with pytest.raises(AdminError, match=f'that of host "{other}", which has keys|has keys of this cell already'):
        asks(cell, token, host, address)
    assert [known.name for known in authority_of(cell).hosts()] == ["h1", "h2"]
    if host != "H1":  # by its alias this one is h1 itself, which may be named
        assert f'that of host "{other}"' in admin("join", host)[1]


def test_a_name_that_does_not_resolve_gets_no_token(admin: Administrator, cell: InstalledCell) -> None:
    assert admin("join", "no.such.host.invalid") == (
        1,
        'gridengine: host "no.such.host.invalid": the name does not resolve on this host\n',
    )
    assert not authority_of(cell).joins()


@pytest.mark.parametrize(
    ("named", "host", "address", "reason"),
    [
        ([], "h9", "10.9.9.8", "is at 10.9.9.9 for the master, but 10.9.9.8 asks"),
        ([], "h1", "10.9.9.1", "has keys of this cell already: gridengine token join h1"),
        (["h8"], "h9", "10.9.9.9", 'the token is not for host "h9"'),
        ([], "../h9", "10.9.9.9", "no host name"),
        ([], "no.such.host.invalid", "10.9.9.9", "does not resolve"),
        ([], "h10", "fe80::10", "fe80::10%eth0 is link-local"),
        ([], socket.gethostname(), "127.0.0.1", "is the master host"),
    ],
)
def test_a_host_joins_under_its_own_name_alone(
    admin: Administrator, cell: InstalledCell, named: list[str], host: str, address: str, reason: str
) -> None:
    before = dict(admin.cell.state.kind("exec_host"))
    token = made(admin, *named)
    with pytest.raises(AdminError, match=reason):
        asks(cell, token, host, address)
    assert admin.cell.state.kind("exec_host") == before
    assert [known.name for known in authority_of(cell).hosts()] == ["h1", "h2"]


def test_a_named_host_or_a_host_without_its_keys_gets_new_keys_and_keeps_its_queues(
    admin: Administrator, cell: InstalledCell
) -> None:
    admin.cell.configure("host_group", "@allhosts", hostlist="h1")
    assert asks(cell, made(admin, "h1"), "h1", "10.9.9.1")["replaced"], "it is reported to the administrators"
    assert not asks(cell, made(admin), "h2", "10.9.9.2")["replaced"]
    assert admin.cell.state.kind("host_group")["@allhosts"]["hostlist"] == "h1"
    assert not (cell.files.secrets / "h2").exists()


def test_tokens_are_shown_revoked_and_forgotten(admin: Administrator, cell: InstalledCell) -> None:
    assert 'mean "@allhosts"' in admin("join", "--group", "@allhost")[1]
    token, over = made(admin), made(admin, "h8")
    record = authority_of(cell).join(over.number)
    assert record is not None
    authority_of(cell).keep_join(record._replace(until=time.time() - 1))
    status, output = admin("list")
    assert status == 0 and token.number in output and over.number not in output
    with pytest.raises(AdminError, match="the token has expired"):
        asks(cell, over, "h8", "10.9.9.8")
    assert admin("revoke", token.number)[0] == 0 and admin("revoke", token.number)[0] == 1
    with pytest.raises(AdminError, match="the token has expired"):
        asks(cell, token, "h8", "10.9.9.8")
    made(admin)
    assert over.number not in {known.number for known in authority_of(cell).joins()}


def test_the_name_in_the_request_counts_nothing(admin: Administrator, cell: InstalledCell) -> None:
    given = asks(cell, made(admin), "h9", "10.9.9.9", request=make_request("h1").certificate.decode())
    assert "h1" not in names_of(given["certificate"].encode())
    with pytest.raises(AdminError, match="request for a certificate is wrong"):
        asks(cell, made(admin), "h8", "10.9.9.8", request="-----BEGIN")


def test_the_files_of_a_host_are_written_where_the_daemon_finds_them(
    admin: Administrator, cell: InstalledCell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = made(admin)

    def answered(master: str, shown: JoinToken, fields: dict[str, Any]) -> dict[str, Any]:
        assert (master, shown) == ("tm", token)
        return admission.admit_host(cell, {**fields, "token": shown.number, "address": "10.9.9.9"})

    monkeypatch.setattr("clients.admin.join.request_admission", answered)
    programs = Installation(tmp_path / "other", CONFIG)
    place = tmp_path / "elsewhere"
    shutil.rmtree(cell.execd_spool_dir)
    before = os.umask(0o077)
    try:
        here, name = join_cell("tm", str(token), "h9", place, programs, Machine(12, 1024, 0))
    finally:
        os.umask(before)
    keys = here.execd_spool_dir / "h9" / "keys"
    assert (name, here.files.root, here.master_host) == ("h9", tmp_path / "elsewhere", cell.master_host)
    assert {path.name: stat.S_IMODE(path.stat().st_mode) for path in keys.iterdir()} == dict.fromkeys(
        ("tls.key", "tls.crt", "gdi_key"), 0o600
    )
    assert is_key_of((keys / "tls.key").read_bytes(), (keys / "tls.crt").read_bytes())
    assert f"{tmp_path}/other" in (here.files.common / "settings.sh").read_text()
    assert not (here.files.common / "secrets").exists()
    found = [place, *place.rglob("*"), here.execd_spool_dir, *here.execd_spool_dir.iterdir()]
    assert [path for path in found if not path.stat().st_mode & 0o004] == [], "whatever the umask of the administrator is"
    token = made(admin, "h9")
    join_cell("tm", str(token), "h9", place, programs, Machine(12, 1024, 0))
    (here.files.cell_id).write_text("cell_id another\n")
    token = made(admin, "h9")
    with pytest.raises(AdminError, match=r"belongs to another cell.*; then join by another token \(gridengine token join h9\)"):
        join_cell("tm", str(token), "h9", place, programs, Machine(12, 1024, 0))


def test_a_record_that_cannot_be_read_is_none(tmp_path: Path) -> None:
    record = JoinRecord("ab", "cd", 5.0, ("h1",), (JoinedHost("h1", "ef", 4.0),), {"queues": ["all.q"]}, 3)
    (tmp_path / "ab.json").write_text(encode_record(record))
    assert read_record(tmp_path, "ab") == record
    for text in ("", "{}", "[]", '{"digest": 1}'):
        (tmp_path / "ab.json").write_text(text)
        assert read_record(tmp_path, "ab") is None
    assert read_record(tmp_path, os.urandom(3).hex()) is None
