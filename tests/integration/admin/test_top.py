"""`gridengine top` on a real cell: a page for a pipe, and a page in a terminal that ends when `q` is pressed."""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import subprocess
import termios

from tests.integration.cells import BIN, COMMAND_S, DemoCell


def test_a_pipe_gets_one_page(demo_cell: DemoCell) -> None:
    page = demo_cell.must("gridengine", "top", "--once")
    assert "1 of 1 hosts up" in page and "\x1b" not in page
    assert [line.split()[0] for line in page.splitlines()[2:]][:2] == ["HOST", demo_cell.host]
    assert "1 of 1 hosts up" in demo_cell.must("gridengine", "top"), "without a terminal it does not stay"


def test_a_terminal_has_it_until_q_is_pressed(demo_cell: DemoCell) -> None:
    outside, inside = pty.openpty()
    fcntl.ioctl(inside, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    before = termios.tcgetattr(inside)
    command = [str(BIN / "gridengine"), "top"]
    page = subprocess.Popen(command, stdin=inside, stdout=inside, stderr=inside, env={**demo_cell.environment, "TERM": "xterm"})
    shown = b""
    while demo_cell.host.encode() not in shown:
        shown += os.read(outside, 65536)
    os.write(outside, b"lq")
    assert page.wait(COMMAND_S) == 0
    assert termios.tcgetattr(inside) == before, "the terminal is as it was"
    os.close(outside)
    os.close(inside)
