"""Job submission verifiers of the submitting side: -jsv on the command line and in request files.

Owns their processes. What is said is `gridengine.jsv`. Called by the submitting commands, only when there are any.
Source: sge_submit(1) -jsv, sge_jsv(1); JV-1, JV-6, SO-17; O for texts and exit codes.
"""

import os
import signal
import subprocess
import sys
import threading

from clients import program
from gridengine.errors import SyntaxFault, plain_fault
from gridengine.jsv.conversation import Conversation, VerifierFault, verifier_path
from gridengine.options.option import OptionError

TYPE_CHECKING = False  # as typing has it: clients pay for every import
if TYPE_CHECKING:
    from typing import Any

#: exit status when a verifier cannot be run, and when it refuses the job
EXIT_NO_VERIFIER = 3
EXIT_REJECTED = 1
TIMEOUT_S = 10.0


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
    process = subprocess.Popen([path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)
    assert process.stdin is not None and process.stdout is not None
    late = threading.Event()

    def end() -> None:
        late.set()
        os.killpg(process.pid, signal.SIGKILL)

    timer = threading.Timer(_timeout_s(), end)
    timer.start()
    try:
        lines = talk.open()
        while not talk.state:
            process.stdin.write("".join(f"{line}\n" for line in lines).encode("utf-8", "surrogateescape"))
            process.stdin.flush()
            line = process.stdout.readline()
            if not line:
                raise VerifierFault("it does not answer" if late.is_set() else "it ended before its verdict")
            lines = talk.receive(line.decode("utf-8", "surrogateescape"))
        process.stdin.write(b"QUIT\n")
        process.stdin.close()
    except BrokenPipeError:
        if not talk.state:
            raise VerifierFault("it ended before its verdict") from None
    finally:
        timer.cancel()
        try:
            process.wait(0.5)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _timeout_s() -> float:
    """Seconds that a verification may take: SGE_JSV_TIMEOUT, if that is a positive number (JV-6)."""
    text = os.environ.get("SGE_JSV_TIMEOUT", "")
    return float(text) if text.isdigit() and int(text) > 0 else TIMEOUT_S
