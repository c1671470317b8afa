"""`common/web`: its defaults, refused settings, and TLS for all clients on other hosts."""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest

from daemons.runtime.cell import Cell, CellError
from daemons.web.server import tls_context
from daemons.web.settings import WebSettings, read_settings


@pytest.fixture
def installed(tmp_path: Path) -> Cell:
    (tmp_path / "test" / "common").mkdir(parents=True)
    return Cell(tmp_path, "test", "root", tmp_path / "qmaster", tmp_path / "execd", tmp_path / "run", 1, 2)


def settings_of(cell: Cell, text: str) -> WebSettings:
    (cell.common / "web").write_text(text)
    return read_settings(cell, "Head")


def test_without_settings_only_this_host_is_served(installed: Cell) -> None:
    settings = read_settings(installed, "Head")
    assert (settings.address, settings.port, settings.tls) == ("127.0.0.1", 8646, False)
    assert settings.base() == "http://localhost:8646"
    assert set(settings.names) == {"localhost", "127.0.0.1", "::1", "head"}
    assert tls_context(installed, "head", settings) is None


def test_the_first_of_the_names_is_in_links(installed: Cell) -> None:
    settings = settings_of(installed, "names Grid.example, grid\nport 443\ncertificate /c\nkey /k\n")
    assert settings.base() == "https://grid.example:443"
    assert set(settings.names) == {"grid.example", "grid", "localhost", "127.0.0.1", "::1", "head"}


@pytest.mark.parametrize("address", ["0.0.0.0", "192.0.2.1", "::", "2001:db8::1"])
def test_beyond_this_host_it_is_https_always(installed: Cell, address: str) -> None:
    settings = settings_of(installed, f"address {address}\n")
    assert settings.tls
    assert settings.base() == "https://head:8646"
    assert {"head", "localhost", "127.0.0.1", address} <= set(settings.names)
    with pytest.raises(CellError):  # and without keys it does not serve at all
        tls_context(installed, "head", settings)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("colour blue\n", "colour is no setting of it"),
        ("address head\n", 'address "head" is no IP address'),
        ("address 127.0.0.1:80\n", 'address "127.0.0.1:80" is no IP address'),
        ("port 0\n", 'port "0" is not a port from 1 to 65535'),
        ("port 65536\n", 'port "65536" is not a port from 1 to 65535'),
        ("port http\n", 'port "http" is not a port from 1 to 65535'),
        ("port ٨\n", 'port "٨" is not a port from 1 to 65535'),
        ("port " + "9" * 5000 + "\n", "is not a port from 1 to 65535"),
        ("names good.example bad_name\n", '"bad_name" is no name of a host'),
        ("names evil.example/x\n", '"evil.example/x" is no name of a host'),
        ("certificate /c\n", "certificate and key go together"),
        ("key /k\n", "certificate and key go together"),
    ],
)
def test_an_invalid_setting_is_reported_with_its_file(installed: Cell, text: str, reason: str) -> None:
    with pytest.raises(CellError) as fault:
        settings_of(installed, text)
    assert str(fault.value).startswith(f"{installed.common / 'web'}: ")
    assert reason in str(fault.value)


def test_an_invalid_certificate_is_reported(installed: Cell, tmp_path: Path) -> None:
    for name in ("c", "k"):
        (tmp_path / name).write_text("nothing\n")
    settings = settings_of(installed, f"certificate {tmp_path}/c\nkey {tmp_path}/k\n")
    with pytest.raises(CellError, match=f"cannot use {tmp_path}/c and {tmp_path}/k: ") as fault:
        tls_context(installed, "head", settings)
    assert isinstance(fault.value.__cause__, ssl.SSLError)
