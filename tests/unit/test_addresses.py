"""Addresses: their one form, with a port, and the order of the addresses of a host."""

from __future__ import annotations

import _socket
import socket
from collections.abc import Iterator

import pytest

from gridengine import addresses
from gridengine.errors import InvalidValueError

NAMES = {
    ("both", _socket.AF_INET): ["10.0.0.1", "10.0.0.9"],
    ("both", _socket.AF_INET6): ["fd88::1", "fe80::1%eth0"],
    ("six", _socket.AF_INET6): ["FD88:0::2"],
    ("link", _socket.AF_INET6): ["fe80::3"],
    ("debian", _socket.AF_INET): ["127.0.1.1"],
    ("mapped", _socket.AF_INET6): ["::ffff:10.0.0.4"],
}


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[tuple[str, int]]]:
    """A resolver that knows NAMES; the questions to it."""
    found: list[tuple[str, int]] = []

    def getaddrinfo(name: str, _port: None, family: int, _kind: int) -> list[object]:
        found.append((name, family))
        if (name, family) not in NAMES:
            raise _socket.gaierror(_socket.EAI_NONAME, "")
        return [(family, _kind, 0, "", (text, 0)) for text in NAMES[name, family]]

    monkeypatch.setattr(_socket, "getaddrinfo", getaddrinfo)
    yield found


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("10.0.0.1", "10.0.0.1"),
        ("::ffff:10.0.0.1", "10.0.0.1"),
        ("::FFFF:a00:1", "10.0.0.1"),
        ("FD88:0:0::1", "fd88::1"),
        ("[fd88::1]", "fd88::1"),
        ("fe80::1%eth0", "fe80::1%eth0"),
        ("::", "::"),
        ("10.1", ""),
        ("fd88", ""),
        ("fd88::g", ""),
        ("[h1]", ""),
        ("", ""),
        ("10.0.0.1%eth0", ""),
        ("\0", ""),
    ],
)
def test_an_address_has_one_form(text: str, form: str) -> None:
    assert addresses.canonical(text) == form


@pytest.mark.parametrize(
    ("address", "expected"), [("fe80::1%eth0", True), ("febf::1", True), ("fec0::1", False), ("fe8::1", False)]
)
def test_link_local_addresses_are_recognized(address: str, expected: bool) -> None:
    assert addresses.is_link_local(address) is expected


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("h1:6444", ("h1", 6444)),
        ("[fd88::1]:6444", ("fd88::1", 6444)),
        ("10.0.0.1:1", ("10.0.0.1", 1)),
        ("h1", ("h1", 7)),
        ("fd88::1", ("fd88::1", 7)),
        ("[fd88::1]", ("fd88::1", 7)),
    ],
)
def test_host_and_port_of_a_text(text: str, parts: tuple[str, int]) -> None:
    assert addresses.split_port(text, 7) == parts


@pytest.mark.parametrize(
    "text", ["h1:", ":80", "h1:0", "h1:65536", "h1:x", "fd88::1:x", "fd88:1:2", "[fd88::1]x", "[fd88::1]:", "[h1]:8"]
)
def test_a_text_that_is_no_host_and_port_is_refused(text: str) -> None:
    with pytest.raises(InvalidValueError, match="not"):
        addresses.split_port(text, 7)


def test_a_port_is_required_without_a_default() -> None:
    with pytest.raises(InvalidValueError, match="HOST:PORT"):
        addresses.split_port("fd88::1")


@pytest.mark.parametrize("names", [("both",), ("six",), ("debian",), ("nowhere", "six"), ("both", "FD88::77")])
def test_the_order_of_the_addresses_of_a_host(asked: list[tuple[str, int]], names: tuple[str, ...]) -> None:
    expected = {
        ("both",): ["10.0.0.1", "10.0.0.9", "fd88::1"],
        ("six",): ["fd88::2"],
        ("debian",): ["127.0.0.1"],
        ("nowhere", "six"): ["fd88::2"],
        ("both", "FD88::77"): ["fd88::77", "10.0.0.1", "10.0.0.9", "fd88::1"],
    }
    assert list(addresses.host_addresses(names)) == expected[names]


def test_the_resolver_is_asked_only_for_addresses_that_are_read(asked: list[tuple[str, int]]) -> None:
    assert next(addresses.host_addresses(("both", "10.0.0.3"))) == "10.0.0.3" and asked == []
    assert next(addresses.host_addresses(("both", "six"))) == "10.0.0.1" and asked == [("both", _socket.AF_INET)]


def test_an_ipv4_address_in_ipv6_form_is_that_address(asked: list[tuple[str, int]]) -> None:
    assert list(addresses.host_addresses(("mapped",))) == ["10.0.0.4"]


def test_a_link_local_address_is_left_out_with_a_reason(asked: list[tuple[str, int]]) -> None:
    assert list(addresses.host_addresses(("link",))) == []
    assert "fe80::3 is link-local" in addresses.explain_link_local(("link",))
    assert "fe80::9%eth0 is link-local" in addresses.explain_link_local(("none", "fe80::9%eth0"))
    assert addresses.explain_link_local(("six",)) == ""


def test_a_connection_goes_to_the_first_address_that_accepts_it() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with addresses.connect(["127.0.0.2", "127.0.0.1"], port, 5.0) as made:
            assert made.getpeername() == ("127.0.0.1", port)
    with pytest.raises(ConnectionRefusedError):
        addresses.connect(["127.0.0.2"], port, 5.0)
