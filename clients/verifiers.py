"""Job submission verifiers of the submitting side: -jsv on the command line and in request files.

Owns their processes; `gridengine.jsv` is the protocol. Called by the submitting commands, only when there are verifiers.
Source: sge_submit(1) -jsv, sge_jsv(1); JV-1, JV-6, SO-17; O for texts and exit codes.
"""

import os
import selectors
import signal
import subprocess
import sys
import time

from clients import program
from gridengine.errors import InvalidValueError, plain_fault
from gridengine.files.executables import start
from gridengine.jsv.conversation import LINE_LIMIT, Conversation, VerifierError, verifier_path
from gridengine.options.option import OptionError

TYPE_CHECKING = False  # as typing has it: clients pay for every import
if TYPE_CHECKING:
    from typing import Any

#: exit status when a verifier cannot be run, and when it refuses the job
EXIT_NO_VERIFIER = 3
EXIT_REJECTED = 1
TIMEOUT_S = 10.0
_QUIT_S = 0.5


def verify_request(command: str, request: "dict[str, Any]", verifiers: "list[tuple[int, str]]") -> "dict[str, Any]":
    """The request as modified by all verifiers. `verifiers`: (level of the source, URL); the strongest source is first.

    Raises OptionError or CommandError.
    """
    for _, url in sorted(verifiers, key=lambda verifier: -verifier[0]):
        if url.lower() == "none":
            continue
        try:
            user, path = verifier_path(url)
        except InvalidValueError as fault:
            raise OptionError(str(fault), exit_status=EXIT_NO_VERIFIER) from None
        if user:
            reason = f'JSV "{url}": the verifier of a command runs as its caller, not as "{user}"'
            raise OptionError(reason, exit_status=EXIT_NO_VERIFIER)
        if not (os.path.isfile(path) and os.access(path, os.X_OK)):
            raise OptionError(f'JSV "{path}" is either not a file or not executable', exit_status=EXIT_NO_VERIFIER)
        request = _run_verifier(command, path, request)
    return request


def _run_verifier(command: str, path: str, request: "dict[str, Any]") -> "dict[str, Any]":
    import grp
    import pwd

    user, group = pwd.getpwuid(os.getuid()).pw_name, grp.getgrgid(os.getgid()).gr_name
    conversation = Conversation(request, "client", command, user, group)
    try:
        _converse(path, conversation)
        outcome = conversation.outcome()
    except (VerifierError, InvalidValueError, OSError) as fault:
        raise program.CommandError(f"Unable to run job: JSV {path}: {plain_fault(fault)}\nExiting.", EXIT_REJECTED) from None
    for level, text in conversation.logs:
        program.show([f"{text}\n"], sys.stdout if level == "info" else sys.stderr)
    if conversation.rejected:
        raise program.CommandError(f"Unable to run job: {conversation.message or 'rejected by JSV'}\nExiting.", EXIT_REJECTED)
    return outcome


def _converse(path: str, conversation: Conversation) -> None:
    """Run the script until its verdict, then end it. Raises VerifierError or OSError."""
    script = _Script(path, _timeout_s())
    try:
        lines = conversation.open()
        while not conversation.state:
            script.send("".join(f"{line}\n" for line in lines).encode("utf-8", "surrogateescape"))
            lines = conversation.receive(script.read_line().decode("utf-8", "surrogateescape"))
    finally:
        script.end()


class _Script:
    """The process of a verifier. Every wait ends after `patience_s`: a child of the process may hold or fill its pipes."""

    def __init__(self, path: str, patience_s: float) -> None:
        self._deadline = time.monotonic() + patience_s
        pipe = subprocess.PIPE
        self._process = start(
            lambda argv: subprocess.Popen(argv, stdin=pipe, stdout=pipe, bufsize=0, start_new_session=True), [path]
        )
        assert self._process.stdin is not None and self._process.stdout is not None
        self._stdin, self._stdout = self._process.stdin, self._process.stdout
        os.set_blocking(self._stdin.fileno(), False)
        self._received, self._unsent = bytearray(), b""

    def send(self, text: bytes) -> None:
        """Send as many bytes as the pipe takes; `read_line` sends the rest."""
        self._unsent += text
        self._send()

    def read_line(self) -> bytes:
        """The next line of output. Raises VerifierError."""
        with selectors.DefaultSelector() as pipes:
            pipes.register(self._stdout, selectors.EVENT_READ)
            if self._unsent:
                pipes.register(self._stdin, selectors.EVENT_WRITE)
            while b"\n" not in self._received:
                ready = pipes.select(max(0.0, self._deadline - time.monotonic()))
                if not ready:
                    raise VerifierError("it does not answer")
                for key, _ in ready:
                    if key.fileobj is self._stdout:
                        self._receive()
                    elif not self._send():
                        pipes.unregister(self._stdin)
        line, _, self._received = self._received.partition(b"\n")
        return bytes(line)

    def _receive(self) -> None:
        received = os.read(self._stdout.fileno(), 65536)
        if not received:
            raise VerifierError("it ended before its verdict")
        self._received += received
        if len(self._received) > LINE_LIMIT and b"\n" not in self._received:
            raise VerifierError(f"a line is longer than {LINE_LIMIT} bytes")

    def _send(self) -> bool:
        """Send as many bytes as the pipe takes; whether bytes are left. A script that closed its input may have a verdict."""
        try:
            while self._unsent:
                self._unsent = self._unsent[os.write(self._stdin.fileno(), self._unsent) :]
        except BlockingIOError:
            pass
        except BrokenPipeError:
            self._unsent = b""
        return bool(self._unsent)

    def end(self) -> None:
        """Ask the process to quit, and kill it if it does not."""
        self.send(b"QUIT\n")
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
