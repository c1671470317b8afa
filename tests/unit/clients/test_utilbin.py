"""The programs of utilbin: their output about hosts and services, and their refusals. Formats: O."""

from __future__ import annotations

import _socket
import importlib
from pathlib import Path

import pytest

HOSTS = {
    "g2": ("g2", [], ["10.88.0.3"]),
    "six": ("six", [], ["fd88::3"]),
    "shorty": ("long.example.org", ["shorty", "other.name"], ["10.88.0.99"]),
}
USAGE = "Version: 8.1.9\nusage: gethostby"


@pytest.fixture(autouse=True)
def resolver(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A resolver that knows HOSTS, and a cell with a file host_aliases, which is returned."""

    def by_name(name: bytes) -> tuple[str, list[str], list[str]]:
        if name.decode() not in HOSTS or name == b"six":
            raise _socket.gaierror(_socket.EAI_AGAIN, "")
        return HOSTS[name.decode()]

    def by_address(address: bytes | str) -> tuple[str, list[str], list[str]]:
        text = address.decode() if isinstance(address, bytes) else address
        for entry in HOSTS.values():
            if text in entry[2]:
                return entry
        raise _socket.herror(1, "")

    def all_addresses(name: str, _port: None, family: int, _kind: int) -> list[object]:
        if (name, family) != ("six", _socket.AF_INET6):
            raise _socket.gaierror(_socket.EAI_NONAME, "")
        return [(family, _kind, 0, "", ("fd88::3", 0, 0, 0))]

    monkeypatch.setattr(_socket, "gethostbyname_ex", by_name)
    monkeypatch.setattr(_socket, "getaddrinfo", all_addresses)
    monkeypatch.setattr(_socket, "gethostbyaddr", by_address)
    monkeypatch.setattr(_socket, "gethostname", lambda: "shorty")
    monkeypatch.setattr(_socket, "getservbyname", lambda name, kind: {"http": 80}[name] if name == "http" else failed())
    monkeypatch.setattr(_socket, "getservbyport", lambda port, kind: "http" if port == 80 else failed())
    monkeypatch.setenv("SGE_ROOT", str(tmp_path))
    monkeypatch.setenv("SGE_CELL", "c")
    (tmp_path / "c" / "common").mkdir(parents=True)
    return tmp_path / "c" / "common" / "host_aliases"


def failed() -> int:
    raise OSError("not found")


def run(line: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    arguments = line.split()
    monkeypatch.setattr("sys.argv", arguments)
    status = importlib.import_module(f"clients.utilbin.{arguments[0]}").main()
    return status, *capsys.readouterr()


WHOLE = "Hostname: long.example.org\nAliases: shorty other.name\nHost Address(es): 10.88.0.99\n"
ALL = WHOLE.replace("Aliases", "SGE name: long.example.org\nAliases")


@pytest.mark.statement("UT-1")
@pytest.mark.parametrize(
    ("line", "printed"),
    [
        ("gethostname", WHOLE),
        ("gethostname -all", ALL),
        ("gethostname -name", "long.example.org\n"),
        ("gethostname -aname", "long.example.org\n"),
        ("gethostbyname shorty", WHOLE),
        ("gethostbyname -all shorty", ALL),
        ("gethostbyname g2", "Hostname: g2\nAliases:\nHost Address(es): 10.88.0.3\n"),
        ("gethostbyname g2 shorty", "Hostname: g2\nAliases:\nHost Address(es): 10.88.0.3\n"),
        ("gethostbyname six", "Hostname: six\nAliases:\nHost Address(es): fd88::3\n"),
        ("gethostbyname -name 10.88.0.3", "g2\n"),
        ("gethostbyaddr -name 10.88.0.3", "g2\n"),
        ("gethostbyaddr -name fd88::3", "six\n"),
        ("gethostbyaddr -all 10.88.0.99", ALL),
        ("getservbyname http", "http 80\n"),
        ("getservbyname -number http", "80\n"),
        ("getservbyname -check 80", "http\n"),
    ],
)
def test_the_output_of_each_program(
    line: str, printed: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(line, monkeypatch, capsys) == (0, printed, "")


@pytest.mark.statement("UT-1")
@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("gethostname -x", "Version: 8.1.9\nusage:\n gethostname [-help|-name|-aname|-all]\n"),
        ("gethostname -name x", "Version: 8.1.9\nusage:\n gethostname [-help|-name|-aname|-all]\n"),
        ("gethostbyname", USAGE + "name [-help|-name|-aname|-all] <name>\n"),
        ("gethostbyname -help", USAGE + "name [-help|-name|-aname|-all] <name>\n"),
        ("gethostbyname -name", USAGE + "name [-help|-name|-aname|-all] <name>\n"),
        ("gethostbyname -name g1 g2", USAGE + "name [-help|-name|-aname|-all] <name>\n"),
        ("gethostbyname nosuch", 'error resolving host "nosuch": can\'t resolve host name (h_errno = TRY_AGAIN)\n'),
        ("gethostbyname 10.1.1.1", 'error resolving host "10.1.1.1": can\'t resolve host name (Success)\n'),
        ("gethostbyaddr", USAGE + "addr [-help|-name|-aname|-all]x.x.x.x\n"),
        ("gethostbyaddr g2", 'error resolving ip "g2": can\'t resolve ip address (h_errno = TRY_AGAIN)\n'),
        ("gethostbyaddr ::g", 'error resolving ip "::g": can\'t resolve ip address (h_errno = TRY_AGAIN)\n'),
        ("getservbyname", "Version: 8.1.9\nusage:\n getservbyname"),
        ("getservbyname -help x", "Version: 8.1.9\nusage:\n getservbyname"),
        ("getservbyname nosuch", "service nosuch not found\n"),
        ("getservbyname -check 9", "port 9 not in use\n"),
        ("getservbyname -check http", "port http not in use\n"),
        ("loadcheck x", "usage: loadcheck [-cb]"),
        ("loadcheck -loadval", "usage: loadcheck [-cb]"),
    ],
)
def test_wrong_calls_and_unknown_names(
    line: str, message: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    status, printed, errors = run(line, monkeypatch, capsys)
    assert (status, printed) == (1, "") and errors.startswith(message)


@pytest.mark.statement("UT-1", "GC-5")
@pytest.mark.parametrize("line", ["gethostname -aname", "gethostbyname -aname shorty", "gethostbyaddr -aname 10.88.0.99"])
def test_the_name_of_the_cell_comes_of_host_aliases(
    line: str, resolver: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    resolver.write_text("# unique first\n\nn9 other\ng2 SHORTY long.example.org\n")
    assert run(line, monkeypatch, capsys) == (0, "g2\n", "")
    assert "SGE name: g2\n" in run(line.replace("-aname", "-all"), monkeypatch, capsys)[1]
    assert run(line.replace("-aname", "-name"), monkeypatch, capsys) == (0, "long.example.org\n", "")


@pytest.mark.statement("UT-1")
def test_loadcheck_prints_load_values_or_one_of_them(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _, printed, _ = run("loadcheck", monkeypatch, capsys)
    names = [line[:15].rstrip() for line in printed.splitlines()]
    memory = [f"{name}_{kind}" for kind in ("free", "total", "used") for name in ("mem", "swap", "virtual")]
    head = ["arch", "num_proc", "m_socket", "m_core", "m_thread", "m_topology", "load_short", "load_medium", "load_long"]
    assert names == [*head, *memory, "cpu"]
    _, one, _ = run("loadcheck -int -loadval mem_total", monkeypatch, capsys)
    assert one.startswith("mem_total       ") and one.split()[1].isdigit()
    assert run("loadcheck -loadval nosuch", monkeypatch, capsys) == (0, "", "")
    status, message, _ = run("loadcheck -cb", monkeypatch, capsys)
    assert status == 1 and "Topology:\t\t\tS" in message
