"""Unix sockets: permissions of a listening socket, and the process at the other end."""

from __future__ import annotations

import os
import socket
import stat
from pathlib import Path

import pytest

from gridengine.files.unix_sockets import peer_credentials, unix_listener


def connect(path: Path, kind: socket.SocketKind = socket.SOCK_STREAM) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX, kind)
    connection.connect(str(path))
    return connection


@pytest.mark.parametrize("mode", [0o600, 0o666])
@pytest.mark.parametrize("umask", [0o000, 0o077])
def test_the_mode_does_not_depend_on_the_umask(mode: int, umask: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chmod, seen = Path.chmod, []

    def watched(path: Path, mode: int) -> None:
        seen.append(stat.S_IMODE(path.stat().st_mode))
        chmod(path, mode)

    monkeypatch.setattr(Path, "chmod", watched)
    before = os.umask(umask)
    try:
        with unix_listener(tmp_path / "sock", mode):
            assert stat.S_IMODE((tmp_path / "sock").stat().st_mode) == mode
    finally:
        os.umask(before)
    assert [each & ~mode for each in seen] == [0], "before, it had no other permissions"


def test_a_socket_replaces_one_that_was_left_and_makes_its_directory(tmp_path: Path) -> None:
    path = tmp_path / "run" / "sock"
    unix_listener(path, 0o600).close()
    with unix_listener(path, 0o600, socket.SOCK_SEQPACKET) as listener, connect(path, socket.SOCK_SEQPACKET):
        assert listener.getblocking() is False
        listener.accept()[0].close()
        with pytest.raises(BlockingIOError):
            listener.accept()


def test_the_kernel_names_the_process_at_the_other_end(tmp_path: Path) -> None:
    with unix_listener(tmp_path / "sock", 0o600) as listener, connect(tmp_path / "sock"), listener.accept()[0] as accepted:
        assert peer_credentials(accepted) == (os.getpid(), os.geteuid(), os.getegid())
