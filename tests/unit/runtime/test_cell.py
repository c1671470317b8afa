"""Reading a cell's files: settings, names of hosts, messages about invalid files."""

from __future__ import annotations

import _socket
import re
from pathlib import Path

import pytest

from daemons.runtime.cell import Cell, CellError, Limits, parse_aliases, read_cell
from gridengine.files.bootstrap import SETTINGS, invalid_values

BOOTSTRAP = """\
# made by init
admin_user          root
qmaster_spool_dir   /var/spool/ge/qmaster
execd_spool_dir     /var/spool/ge/execd
run_dir             /run/ge
qmaster_port        6444
ray_port            6446
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    common = tmp_path / "default" / "common"
    common.mkdir(parents=True)
    (common / "bootstrap").write_text(BOOTSTRAP)
    (common / "act_qmaster").write_text("m\n")
    (common / "host_aliases").write_text("# unique aliases\nm master m.example.org\nh1 localhost\n")
    return tmp_path


def read(root: Path) -> Cell:
    return read_cell({"SGE_ROOT": str(root)})


@pytest.mark.statement("GC-5")
def test_settings_and_paths(root: Path) -> None:
    cell = read(root)
    assert (cell.name, cell.qmaster_port, cell.ray_port, cell.admin_user) == ("default", 6444, 6446, "root")
    assert cell.execd_spool("h1") == Path("/var/spool/ge/execd/h1")
    assert cell.gateway_socket == Path("/run/ge/gateway.sock")
    assert cell.environment() == {"SGE_ROOT": str(root), "SGE_CELL": "default"}


@pytest.mark.statement("GC-5")
def test_unique_names(root: Path) -> None:
    cell = read(root)
    assert cell.unique_name("master") == cell.unique_name("M.Example.Org") == "m"
    assert cell.unique_name("other.example.org") == "other.example.org"
    assert parse_aliases("a b C\n#x y\n\nd\n") == {"b": "a", "c": "a"}


@pytest.mark.statement("GC-5")
@pytest.mark.parametrize(
    ("line", "name", "unique"),
    [
        ("ignore_fqdn true", "other.example.org", "other"),
        ("default_domain example.org", "other", "other.example.org"),
        ("default_domain none", "other", "other"),
    ],
)
def test_domain_rules(root: Path, line: str, name: str, unique: str) -> None:
    (root / "default" / "common" / "bootstrap").write_text(f"{BOOTSTRAP}{line}\n")
    assert read(root).unique_name(name) == unique


def test_the_master_may_move(root: Path) -> None:
    cell = read(root)
    assert cell.master_host() == "m"
    cell.act_qmaster.write_text("h1\n")
    assert cell.master_host() == "h1"


def test_an_alias_gives_the_address(root: Path) -> None:
    assert read(root).address("h1") == "127.0.0.1"
    with pytest.raises(CellError, match="does not resolve"):
        read(root).address("no.such.host.invalid")


def test_daemons_listen_at_one_address_of_each_family(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known = {_socket.AF_INET: ["10.0.0.1", "10.0.0.2"], _socket.AF_INET6: ["fd88::1", "fd88::2"]}

    def getaddrinfo(_name: str, _port: None, family: int, _kind: int) -> list[object]:
        return [(family, 0, 0, "", (address, 0)) for address in known[family]]

    monkeypatch.setattr(_socket, "getaddrinfo", getaddrinfo)
    assert (read(root).address("both"), read(root).addresses("both")) == ("10.0.0.1", ["10.0.0.1", "fd88::1"])
    (root / "default" / "common" / "host_aliases").write_text("both FD88::9\n")
    assert (read(root).address("both"), read(root).addresses("both")) == ("fd88::9", ["fd88::9", "10.0.0.1"])
    assert read(root).unique_name("fd88:0::9") == "both"


def test_a_link_local_address_is_refused_with_a_reason(root: Path) -> None:
    (root / "default" / "common" / "host_aliases").write_text("link fe80::1%eth0\n")
    with pytest.raises(CellError, match='host "link": fe80::1%eth0 is link-local'):
        read(root).address("link")


@pytest.mark.parametrize("text", ["7000", "7000-x", "7000-7014", "0-100", "65530-65600", "7100-7000"])
def test_a_range_of_ports_is_one(root: Path, text: str) -> None:
    path = root / "default" / "common" / "bootstrap"
    path.write_text(f"{BOOTSTRAP}ray_ports 7000-7015\n")
    assert read(root).ray_ports == (7000, 7015)
    path.write_text(f"{BOOTSTRAP}ray_ports {text}\n")
    with pytest.raises(CellError, match=f'ray_ports "{text}" is not FIRST-LAST'):
        read(root)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("ray_port            6446\n", "", "does not set ray_port"),
        ("6446", "66000", 'ray_port "66000" is not a port'),
        ("6444", "x", 'qmaster_port "x" is not a port'),
        ("run_dir             /run/ge", "run_dir", "line 5: run_dir has no value"),
    ],
)
def test_a_wrong_bootstrap_file_is_refused_with_the_place(root: Path, old: str, new: str, message: str) -> None:
    path = root / "default" / "common" / "bootstrap"
    path.write_text(BOOTSTRAP.replace(old, new))
    with pytest.raises(CellError, match=message) as caught:
        read(root)
    assert str(path) in str(caught.value)


def test_without_a_cell(tmp_path: Path) -> None:
    with pytest.raises(CellError, match="SGE_ROOT is not set"):
        read_cell({})
    with pytest.raises(CellError, match="cannot read .*bootstrap: No such file"):
        read(tmp_path)


def test_an_empty_act_qmaster(root: Path) -> None:
    cell = read(root)
    cell.act_qmaster.write_text("\n")
    with pytest.raises(CellError, match="must name the master host"):
        cell.master_host()


def test_limits_of_what_users_may_ask(root: Path) -> None:
    path = root / "default" / "common" / "bootstrap"
    assert read(root).limits == Limits(2**20, 2**24, 512)
    path.write_text(f"{BOOTSTRAP}max_submit_size 64M\nmax_request_size 4096\nmax_user_connections 20\n")
    assert read(root).limits == Limits(4096, 2**26, 20)


@pytest.mark.parametrize("text", ["0", "-1", "much", "INFINITY", "2G"])
def test_a_limit_that_is_none_is_refused(root: Path, text: str) -> None:
    path = root / "default" / "common" / "bootstrap"
    path.write_text(f"{BOOTSTRAP}max_request_size {text}\n")
    with pytest.raises(CellError, match=f'max_request_size "{text}" is not a number from 1 to 1G'):
        read(root)


@pytest.mark.statement("SE-1")
@pytest.mark.parametrize("mode", ["none", "csp", "munge", "afs", "dce", "kerberos", "TLS"])
def test_no_weaker_mode_of_8_1_9_is_passed_over(root: Path, mode: str) -> None:
    path = root / "default" / "common" / "bootstrap"
    path.write_text(BOOTSTRAP.replace("security_mode tls\n", "") + f"security_mode {mode}\n")
    with pytest.raises(CellError, match=f'security_mode "{mode}" is not tls'):
        read(root)


@pytest.mark.parametrize("key", sorted(set(SETTINGS) - {"admin_user", "default_domain"}))
def test_daemons_and_the_admin_program_refuse_the_same_values(root: Path, key: str) -> None:
    settings = dict(line.split() for line in BOOTSTRAP.splitlines()[1:]) | {key: "-"}
    (wrong,) = invalid_values(settings)
    assert wrong.startswith(f'{key} "-" is not ')
    path = root / "default" / "common" / "bootstrap"
    path.write_text("".join(f"{name} {text}\n" for name, text in settings.items()))
    with pytest.raises(CellError, match=re.escape(f"{path}: {wrong}")):
        read(root)
