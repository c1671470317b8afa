"""Access through real sockets: a server that is seen beyond its host, a plain user, and their attempts. docs/security.md."""

from __future__ import annotations

import http.client
import json
import pwd
import re
import socket
import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests import needs
from tests.integration.cells import DemoCell, Done

USER = "nobody"
pytestmark = needs.root


class Answer(NamedTuple):
    status: int
    headers: http.client.HTTPMessage
    text: str


class Server:
    """The web server of a cell at all addresses of this machine."""

    def __init__(self, cell: DemoCell, port: int) -> None:
        self.cell = cell
        self.port = port
        self.tls = ssl.create_default_context(cafile=str(cell.common / "tls.crt"))
        self.tls.check_hostname = False  # the test calls it by an address

    def ask(self, method: str, path: str, fields: str = "", host: str = "grid.example", **headers: str) -> Answer:
        connection = http.client.HTTPSConnection("127.0.0.1", self.port, context=self.tls, timeout=60)
        sent = {"Host": f"{host}:{self.port}", "Content-Type": "application/x-www-form-urlencoded"}
        connection.request(method, path, fields, sent | {name.replace("_", "-"): value for name, value in headers.items()})
        response = connection.getresponse()
        answer = Answer(response.status, response.headers, response.read().decode())
        connection.close()
        return answer

    def as_user(self, *command: str) -> Done:
        """Run a command as a user without rights."""
        return self.cell.command(*command, user=USER, group="nogroup", extra_groups=[])

    def link(self) -> str:
        """The path of a link of this user."""
        done = self.as_user("gridengine", "web", "--login")
        assert done.returncode == 0, done.stderr
        base, path, _ = re.split("(/login/.*)", done.stdout.strip())
        assert base == f"https://grid.example:{self.port}"
        return path


@pytest.fixture(scope="module")
def server(demo_cell: DemoCell) -> Iterator[Server]:
    with demo_cell.web_server("address 0.0.0.0", "names grid.example") as port:
        yield Server(demo_cell, port)


def test_nothing_is_sent_in_clear(server: Server) -> None:
    assert server.ask("GET", "/healthz").status == 200
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: grid.example\r\n\r\n")
        try:
            received = connection.recv(4096)
        except ConnectionResetError:
            received = b""
    assert b"HTTP" not in received


def test_a_plain_user_gets_in_as_himself_and_others_do_not(server: Server) -> None:
    link = server.link()
    assert f"Log in as {USER}" in server.ask("GET", link).text
    entered = server.ask("POST", link)
    assert (entered.status, entered.headers["Location"]) == (303, "/")
    received = next(each for each in entered.headers.get_all("Set-Cookie", []) if each.startswith("ge_session="))
    assert {"HttpOnly", "Secure", "SameSite=Strict", "Path=/"} <= set(received.split("; "))
    cookie = received.partition(";")[0]

    me = server.ask("GET", "/me", Cookie=cookie)
    assert f"<h1>{USER}</h1>" in me.text
    csrf = re.search(r'name="csrf" value="([^"]+)"', me.text)
    assert csrf is not None
    assert server.ask("POST", link).status == 403  # a second time
    assert server.ask("GET", "/me").status == 303
    assert server.ask("GET", "/me", host="evil.example", Cookie=cookie).status == 421
    assert server.ask("POST", "/logout", Cookie=cookie).status == 403
    assert server.ask("POST", "/logout", f"csrf={csrf[1]}", Cookie=cookie, Origin="https://evil.example").status == 403
    assert server.ask("GET", "/me", Cookie=cookie).status == 200

    # who is logged in stays so over a restart, and no secret of his is on disk
    server.cell.must("gridengine", "web", "--stop")
    server.cell.must("gridengine", "web")
    kept = server.cell.place / "spool" / "web" / "sessions.json"
    assert kept.stat().st_mode & 0o777 == 0o600
    assert cookie.partition("=")[2] not in kept.read_text()
    assert server.ask("GET", "/me", Cookie=cookie).status == 200

    assert server.ask("POST", "/logout", f"csrf={csrf[1]}", Cookie=cookie).status == 303
    assert server.ask("GET", "/me", Cookie=cookie).status == 303


def test_a_token_is_of_the_user_who_asked_for_it(server: Server) -> None:
    done = server.as_user("gridengine", "web", "--token", "--days", "2")
    assert done.returncode == 0, done.stderr
    bearer = f"Bearer {done.stdout.strip()}"
    assert f"<h1>{USER}</h1>" in server.ask("GET", "/me", Authorization=bearer).text
    wrong = server.as_user("gridengine", "web", "--token", "--days", "0")
    assert (wrong.returncode, wrong.stdout) == (1, "")
    assert "a token is good for 1 to 366 days" in wrong.stderr


def test_a_user_who_states_another_user_gets_a_link_for_themselves(server: Server) -> None:
    program = (
        "import http.client, json, socket, sys\n"
        "connection = socket.socket(socket.AF_UNIX)\n"
        "connection.connect(sys.argv[1])\n"
        "asked = http.client.HTTPConnection('localhost')\n"
        "asked.sock = connection\n"
        "asked.request('POST', '/v1/login', '{\"user\": \"root\", \"uid\": 0}', {'X-GE-User': 'root', 'X-GE-Uid': '0'})\n"
        "print(asked.getresponse().read().decode())\n"
    )
    done = server.as_user("python", "-c", program, str(server.cell.place / "run" / "web.sock"))
    path = json.loads(done.stdout)["link"].partition(str(server.port))[2]
    assert f"Log in as {USER}" in server.ask("GET", path).text


def test_a_plain_user_sees_that_it_runs_and_cannot_end_it(server: Server) -> None:
    status = server.as_user("gridengine", "status")
    assert status.stderr == ""
    assert re.search(r"^sge_web .* runs, pid \d+, release checkout$", status.stdout, re.M)
    refused = server.as_user("gridengine", "web", "--stop")
    assert refused.returncode == 1
    assert "you may not stop it" in refused.stderr
    assert server.ask("GET", "/healthz").status == 200


def test_root_starts_it_and_it_runs_as_the_owner_of_the_cell(launchers: Path) -> None:
    cell = DemoCell(admin_user=USER)
    try:
        key = cell.place / "spool" / "qmaster" / "keys" / "gdi_key"
        key.write_text("0" * 64)
        key.chmod(0o600)  # as a qmaster of root makes it
        with cell.web_server():
            process = (cell.place / "spool" / "web" / "web.pid").read_text().split()[0]
            uid = pwd.getpwnam(USER).pw_uid
            assert f"Uid:\t{uid}\t{uid}\t{uid}\t{uid}\n" in Path(f"/proc/{process}/status").read_text()
    finally:
        cell.remove()
