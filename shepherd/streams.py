"""The standard streams of an interactive task: a pseudo terminal, or three pipes, with an end for the job and an end for
its session.

Owns making them. The ends of the session do not block. Source: sge_submit(1) -pty (SO-29), pty(7).
"""

from __future__ import annotations

import fcntl
import grp
import os
import struct
import termios
from dataclasses import dataclass

from gridengine.protocols.session import ERROR, OUTPUT, WindowSize


@dataclass(frozen=True, slots=True)
class Streams:
    """`job`: the descriptors that become 0, 1 and 2 of the job. `input`, `outputs`: the session's ends, each output with
    the kind of its frames; a terminal has one descriptor for all streams."""

    job: tuple[int, int, int]
    input: int
    outputs: dict[int, bytes]
    terminal: bool

    def close_job_ends(self) -> None:
        for descriptor in set(self.job):
            os.close(descriptor)

    def close_session_ends(self) -> None:
        for descriptor in {self.input, *self.outputs}:
            os.close(descriptor)


def open_pipes() -> Streams:
    """Raises OSError."""
    (stdin, input_end), (output_end, stdout), (error_end, stderr) = os.pipe(), os.pipe(), os.pipe()
    for descriptor in (input_end, output_end, error_end):
        os.set_blocking(descriptor, False)
    return Streams((stdin, stdout, stderr), input_end, {output_end: OUTPUT, error_end: ERROR}, terminal=False)


def open_terminal(uid: int, gid: int) -> Streams:
    """A terminal that belongs to its user as after a login. Raises OSError: no pty is available."""
    master, slave = os.openpty()
    if os.geteuid() == 0:
        try:
            group = grp.getgrnam("tty").gr_gid
        except KeyError:
            group = gid
        os.fchown(slave, uid, group)
        os.fchmod(slave, 0o620)
    os.set_blocking(master, False)
    return Streams((slave, slave, slave), master, {master: OUTPUT}, terminal=True)


def take_terminal(slave: int) -> None:
    """Make it the controlling terminal of this process, which leads a session."""
    fcntl.ioctl(slave, termios.TIOCSCTTY, 0)


def set_window_size(master: int, size: WindowSize) -> None:
    """Set the size of a terminal; the kernel sends SIGWINCH to the foreground processes if it has changed."""
    fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("4H", *size))
