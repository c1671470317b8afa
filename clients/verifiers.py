"""Job submission verifiers of the submitting side: -jsv on the command line and in request files.

Owns their processes. What is said is `gridengine.jsv`. Called by the submitting commands, only when there are any.
Source: sge_submit(1) -jsv, sge_jsv(1); JV-1, JV-6, SO-17; O for texts and exit codes.
"""

import os
import selectors
import signal
import subprocess
import sys
import time

from clients import program
from gridengine.errors import SyntaxFault, plain_fault
from gridengine.executables import start
from gridengine.jsv.conversation import LINE_LIMIT, Conversation, VerifierFault, verifier_path
from gridengine.options.option import OptionError

TYPE_CHECKING = False  # as typing has it: clients pay for every import
if TYPE_CHECKING:
    from typing import Any

#: exit status when a verifier cannot be run, and when it refuses the job
EXIT_NO_VERIFIER = 3
EXIT_REJECTED = 1
TIMEOUT_S = 10.0
_QUIT_S = 0.5


def verified(command: str, request: "dict[str, Any]", verifiers: "list[tuple[int, str]]") -> "dict[str, Any]":
    """The request as all verifiers want it. `verifiers`: (level of the source, URL); the strongest source goes first.

    Raises OptionError or Failure.
    """
    for _, url in sorted(verifiers, key=lambda verifier: -verifier[0]):
        if url.lower() == "none":
            continue
        try:
            user, path = verifier_path(url)
        except SyntaxFault as fault:
            raise OptionError(str(fault), exit_status=EXIT_NO_VERIFIER) from None
        if user:
            reason = f'JSV "{url}": the verifier of a command runs as its caller, not as "{user}"'
            raise OptionError(reason, exit_status=EXIT_NO_VERIFIER)
        if not (os.path.isfile(path) and os.access(path, os.X_OK)):
            raise OptionError(f'JSV "{path}" is either not a file or not executable', exit_status=EXIT_NO_VERIFIER)
        request = _ask(command, path, request)
    return request


def _ask(command: str, path: str, request: "dict[str, Any]") -> "dict[str, Any]":
    import grp
    import pwd

    user, group = pwd.getpwuid(os.getuid()).pw_name, grp.getgrgid(os.getgid()).gr_name
    talk = Conversation(request, "client", command, user, group)
    try:
        _converse(path, talk)
        outcome = talk.outcome()
    except (VerifierFault, SyntaxFault, OSError) as fault:
        raise program.Failure(f"Unable to run job: JSV {path}: {plain_fault(fault)}\nExiting.", EXIT_REJECTED) from None
    for level, text in talk.logs:
        program.show([f"{text}\n"], sys.stdout if level == "info" else sys.stderr)
    if talk.rejected:
        raise program.Failure(f"Unable to run job: {talk.message or 'rejected by JSV'}\nExiting.", EXIT_REJECTED)
    return outcome


def _converse(path: str, talk: Conversation) -> None:
    """Run the script until its verdict; it is ended then. Raises VerifierFault or OSError."""
    script = _Script(path, _timeout_s())
    try:
        lines = talk.open()
        while not talk.state:
            script.say("".join(f"{line}\n" for line in lines).encode("utf-8", "surrogateescape"))
            lines = talk.receive(script.line().decode("utf-8", "surrogateescape"))
    finally:
        script.end()


class _Script:
    """The process of a verifier. After `patience_s` nothing is waited for: a child of it may hold its pipes, or fill them."""

    def __init__(self, path: str, patience_s: float) -> None:
        self._deadline = time.monotonic() + patience_s
        pipe = subprocess.PIPE
        self._process = start(
            lambda argv: subprocess.Popen(argv, stdin=pipe, stdout=pipe, bufsize=0, start_new_session=True), [path]
        )
        assert self._process.stdin is not None and self._process.stdout is not None
        self._stdin, self._stdout = self._process.stdin, self._process.stdout
        os.set_blocking(self._stdin.fileno(), False)
        self._heard, self._unsent = bytearray(), b""

    def say(self, text: bytes) -> None:
        """Send it, as far as it can be taken; the rest goes while a line is waited for."""
        self._unsent += text
        self._send()

    def line(self) -> bytes:
        """The next line that it says. Raises VerifierFault."""
        with selectors.DefaultSelector() as pipes:
            pipes.register(self._stdout, selectors.EVENT_READ)
            if self._unsent:
                pipes.register(self._stdin, selectors.EVENT_WRITE)
            while b"\n" not in self._heard:
                ready = pipes.select(max(0.0, self._deadline - time.monotonic()))
                if not ready:
                    raise VerifierFault("it does not answer")
                for key, _ in ready:
                    if key.fileobj is self._stdout:
                        self._hear()
                    elif not self._send():
                        pipes.unregister(self._stdin)
        line, _, self._heard = self._heard.partition(b"\n")
        return bytes(line)

    def _hear(self) -> None:
        heard = os.read(self._stdout.fileno(), 65536)
        if not heard:
            raise VerifierFault("it ended before its verdict")
        self._heard += heard
        if len(self._heard) > LINE_LIMIT and b"\n" not in self._heard:
            raise VerifierFault(f"a line is longer than {LINE_LIMIT} bytes")

    def _send(self) -> bool:
        """Send what the pipe takes; whether something is left. One that listens no more may still have said its verdict."""
        try:
            while self._unsent:
                self._unsent = self._unsent[os.write(self._stdin.fileno(), self._unsent) :]
        except BlockingIOError:
            pass
        except BrokenPipeError:
            self._unsent = b""
        return bool(self._unsent)

    def end(self) -> None:
        """Tell it to end, and end it when it does not."""
        self.say(b"QUIT\n")
        self._stdin.close()
        try:
            self._process.wait(_QUIT_S)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        self._stdout.close()


def _timeout_s() -> float:
    """Seconds that a verification may take: SGE_JSV_TIMEOUT, if that is a positive number (JV-6)."""
    text = os.environ.get("SGE_JSV_TIMEOUT", "")
    return float(text) if text.isdigit() and int(text) > 0 else TIMEOUT_S
