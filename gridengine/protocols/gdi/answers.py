"""The caller and the answer of a request: the part of `gridengine.protocols.gdi.requests` that defines these two types."""

from __future__ import annotations

from msgspec import Struct, field

from gridengine.protocols.gdi.shape_faults import shape_fault


class Caller(Struct, frozen=True):
    """The caller, as proved by the kernel of their host; `host` is the unique name of that machine. `daemon`: the request came
    from a daemon of the cell."""

    user: str
    uid: int
    group: str
    gid: int
    host: str
    daemon: bool = False


class Answer(Struct):
    """The answer to a request. `status`: exit code of the command; `answers`: (level, text) each; `data`: the result of a query,
    as JSON has it, None for none."""

    status: int = 0
    answers: list[tuple[str, str]] = field(default_factory=list)
    data: object = None

    def info(self, text: str) -> None:
        self.answers.append(("info", text))

    def error(self, text: str, status: int = 1, hint: str = "") -> None:
        """`hint`: a suggestion for the user, such as a similar name, in a line of its own."""
        self.answers.append(("error", text))
        if hint:
            self.answers.append(("hint", hint))
        self.status = self.status or status

    def warning(self, text: str) -> None:
        self.answers.append(("warning", text))


def malformed(name: str, error: Exception) -> Answer:
    """The answer to a request whose body has a wrong shape or is out of its bounds."""
    return Answer(1, [("error", f"denied: malformed request {name}: {shape_fault(error)}")])
