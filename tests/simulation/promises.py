"""The acknowledged requests of a simulated cell, and the requests without an answer.

Owns this knowledge, which no fault reaches. `rules` checks their consequences. Called by `users`, which ask, and by `rules`.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Altered:
    """A value that users change. `may_be`: the values that it may have, by the answers so far; one value once a change was
    acknowledged and no other request is open."""

    may_be: set[str]
    asked: int = 0
    _alone: bool = True

    def ask(self, value: str) -> None:
        """A user has requested a change."""
        self._alone = not self.asked
        self.asked += 1
        self.may_be.add(value)

    def answered(self, value: str, done: bool) -> None:
        """The request was answered, or can no longer arrive."""
        self.asked -= 1
        if done and self._alone:
            self.may_be = {value}


@dataclass
class JobRequest:
    """The request for a job. Its name identifies it before its number is known: `j` and the place in the list.

    `id`: 0 until it is acknowledged. `tasks`: their numbers. `after`: requests whose jobs it waits for. `held`: with a hold;
    `released`: a user has requested the release of the hold. `fleeting`: the job is removed if it cannot start at once.
    `deleting`: a user has requested its deletion; `deleted`: the deletion was acknowledged. `account`: the field that qalter
    changes. `over`: the job is gone.
    """

    name: str
    tasks: tuple[int, ...] = (1,)
    after: list[JobRequest] = field(default_factory=list)
    held: bool = False
    released: bool = False
    concurrency: int = 0
    licences: int = 0
    reservation: int = 0
    id: int = 0
    fleeting: bool = False
    deleting: bool = False
    deleted: bool = False
    account: Altered = field(default_factory=lambda: Altered({"sge"}))
    over: bool = False


@dataclass
class Reserved:
    """A reservation that was acknowledged. `ends`: the earliest time of its end; `deleting`: a user has requested its
    deletion."""

    id: int
    ends: float
    deleting: bool = False
    altering: bool = False
    over: bool = False


@dataclass
class Promises:
    """`number`: an attribute of the queue. `acknowledged`, `refused`, `in_doubt`: requests."""

    requests: dict[str, JobRequest] = field(default_factory=dict)
    reserved: dict[int, Reserved] = field(default_factory=dict)
    number: Altered = field(default_factory=lambda: Altered({"0"}))
    acknowledged: int = 0
    refused: int = 0
    in_doubt: int = 0

    def new_request(self) -> JobRequest:
        made = JobRequest(f"j{len(self.requests) + 1}")
        self.requests[made.name] = made
        return made

    @property
    def known(self) -> list[JobRequest]:
        """Jobs of which a user knows the number."""
        return [request for request in self.requests.values() if request.id]

    @property
    def there(self) -> list[JobRequest]:
        """The jobs and reservations of these that may still be there."""
        return [request for request in self.requests.values() if request.id and not request.over]
