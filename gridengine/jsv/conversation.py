"""One verification: the lines for a verifier, and the meaning of its answers.

Owns the protocol as a state machine: lines in, lines out, no I/O. Called by the qmaster and by submitting commands, once a
job; a verifier may serve many jobs. Source: sge_jsv(1); JV-2, JV-4, JV-8; O for the order of lines.

    ours            START                    PARAM …, ENV ADD …, BEGIN                       QUIT
    the verifier's          SEND ENV, STARTED                           PARAM …, ENV …, RESULT STATE …     (LOG … at any time)
"""

from gridengine.errors import GridEngineError, InvalidValueError
from gridengine.jsv.parameters import PROTOCOL_VERSION, corrected, parameters

TYPE_CHECKING = False  # as typing has it: clients pay for every import
if TYPE_CHECKING:
    from typing import Any

#: maximum number of lines from a verifier about one job, which limits the qmaster's time and memory
MAX_LINES = 20_000
#: bytes of one of its lines
LINE_LIMIT = 1 << 20
STATES = ("ACCEPT", "CORRECT", "REJECT", "REJECT_WAIT")
LEVELS = {"INFO": "info", "WARNING": "warning", "ERROR": "error"}
_ESCAPES = {"\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


class VerifierError(GridEngineError):
    """The verifier does not keep to the protocol, or does not answer; the job cannot be accepted."""


class Conversation:
    """The verification of one job.

    `context`: client or server; `client`: the command, or qmaster; `job_id` for the server only.
    `logs`: (level, text) of the verifier's log lines. `state`: "" until the verdict, then one of STATES.
    """

    def __init__(
        self, request: "dict[str, Any]", context: str, client: str, user: str, group: str, job_id: int = 0
    ) -> None:
        self.request = request
        self.logs: list[tuple[str, str]] = []
        self.state = ""
        self.message = ""
        self._head = [("VERSION", PROTOCOL_VERSION), ("CONTEXT", context), ("CLIENT", client), ("USER", user), ("GROUP", group)]
        if job_id:
            self._head.append(("JOB_ID", str(job_id)))
        self._corrections: dict[str, str] = {}
        self._variables: list[tuple[str, str, str]] = []
        self._send_environment = False
        self._begun = False
        self._lines = 0

    def open(self) -> list[str]:
        """The first lines to send."""
        return ["START"]

    def receive(self, line: str) -> list[str]:
        """Take a line of the verifier. Returns the lines to send in response. Raises VerifierError."""
        self._lines += 1
        if self._lines > MAX_LINES:
            raise VerifierError(f"it sends more than {MAX_LINES} lines about one job")
        keyword, _, rest = line.rstrip("\r\n").partition(" ")
        if keyword == "LOG":
            level, _, text = rest.partition(" ")
            if level not in LEVELS:
                raise VerifierError(f'unknown log level "{level}" from the verifier')
            self.logs.append((LEVELS[level], text))
        elif keyword == "SEND" and rest.strip() == "ENV":
            self._send_environment = True
        elif keyword == "STARTED" and not self._begun:
            self._begun = True
            return self._job()
        elif keyword == "PARAM" and self._begun:
            name, _, value = rest.partition(" ")
            self._corrections[name] = unescape(value)
        elif keyword == "ENV" and self._begun:
            self._variable(rest)
        elif keyword == "RESULT" and self._begun:
            self._result(rest)
        elif keyword:
            raise VerifierError(f'unknown command from the verifier: "{keyword}"')
        return []

    def _job(self) -> list[str]:
        lines = [f"PARAM {name} {escape(value)}" for name, value in (*self._head, *parameters(self.request))]
        if self._send_environment:
            environment = self.request.get("environment", {})
            # a name with a blank would read as another variable, whose value the verifier then believes
            names = [name for name in self.request.get("environment_names", ()) if name in environment and " " not in name]
            lines += [f"ENV ADD {name} {escape(environment[name])}" for name in names]
        return [*lines, "BEGIN"]

    def _variable(self, rest: str) -> None:
        verb, _, rest = rest.partition(" ")
        name, _, value = rest.partition(" ")
        if verb not in ("ADD", "MOD", "DEL") or not name:
            raise VerifierError(f'"ENV {verb} {rest}" of the verifier is not understood')
        self._variables.append((verb, name, unescape(value)))

    def _result(self, rest: str) -> None:
        keyword, _, rest = rest.partition(" ")
        state, _, message = rest.partition(" ")
        if keyword != "STATE" or state not in STATES:
            raise VerifierError(f'"RESULT {keyword} {rest}" of the verifier is not understood')
        self.state, self.message = state, message

    @property
    def rejected(self) -> bool:
        return self.state in ("REJECT", "REJECT_WAIT")

    def outcome(self) -> "dict[str, Any]":
        """The request with the verifier's changes, which count with ACCEPT, too (O). Raises InvalidValueError."""
        if self.rejected or not (self._corrections or self._variables):
            return self.request
        fresh = corrected(self.request, self._corrections)
        environment = dict(fresh.get("environment", {}))
        names = list(fresh.get("environment_names", ()))
        for verb, name, value in self._variables:
            if verb == "DEL":
                environment.pop(name, None)
                names = [other for other in names if other != name]
            else:
                environment[name] = value
                names += [name] if name not in names else []
        if self._variables:
            fresh["environment"], fresh["environment_names"] = environment, names
        return fresh


def escape(value: str) -> str:
    """A value on one line: backslash, line feed, carriage return and tab are written with a backslash."""
    return "".join(_ESCAPES.get(character, character) for character in value)


def unescape(value: str) -> str:
    if "\\" not in value:
        return value
    characters = {written[1]: character for character, written in _ESCAPES.items()}
    text, rest = "", iter(value)
    for character in rest:
        if character == "\\":
            following = next(rest, "")
            text += characters.get(following, "\\" + following)
        else:
            text += character
    return text


def verifier_path(url: str) -> tuple[str, str]:
    """`[script:][user@]/path` as (user or "", path). Raises InvalidValueError. Source: sge_types(1) jsv_url."""
    kind, colon, rest = url.partition(":")
    if colon and "/" not in kind and "@" not in kind:
        if kind != "script":
            raise InvalidValueError(f'"{url}": a verifier is of type script, not "{kind}"')
        url = rest
    user, at, path = url.partition("@")
    if not at or "/" in user:
        user, path = "", url
    if not path:
        raise InvalidValueError(f'"{url}" names no verifier')
    return user, path
