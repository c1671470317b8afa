"""What users were told: the requests of a simulated cell that were acknowledged, and those that were only asked.

Owns this knowledge, which no fault reaches. What must follow from it `rules` says. Called by `users`, which ask, and by `rules`.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Altered:
    """A value that users change. `may_be`: what it may be, by what they were told; one value once a change was acknowledged, and
    nobody had asked for another meanwhile."""

    may_be: set[str]
    asked: int = 0
    _alone: bool = True

    def ask(self, value: str) -> None:
        """A change was asked for."""
        self._alone = not self.asked
        self.asked += 1
        self.may_be.add(value)

    def told(self, value: str, done: bool) -> None:
        """It was answered, or cannot arrive any more."""
        self.asked -= 1
        if done and self._alone:
            self.may_be = {value}


@dataclass
class Wish:
    """A job as it was asked for. Its name tells it from others before its number is known: `j` and the place in the list.

    `id`: 0 until it is acknowledged. `tasks`: their numbers.
    `after`: wishes whose jobs it waits for. `held`: with a hold; `released`: somebody has asked to take that off.
    `fleeting`: it is gone if it cannot begin at once. `deleting`: somebody has asked for that; `deleted`: and was told so.
    `account`: what qalter changes. `over`: it is gone.
    """

    name: str
    tasks: tuple[int, ...] = (1,)
    after: list[Wish] = field(default_factory=list)
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
    """A reservation that was acknowledged. `ends`: when it may end at the earliest; `deleting`: somebody has asked for that."""

    id: int
    ends: float
    deleting: bool = False
    altering: bool = False
    over: bool = False


@dataclass
class Promises:
    """`number`: an attribute of the queue. `acknowledged`, `refused`, `in_doubt`: requests."""

    wishes: dict[str, Wish] = field(default_factory=dict)
    reserved: dict[int, Reserved] = field(default_factory=dict)
    number: Altered = field(default_factory=lambda: Altered({"0"}))
    acknowledged: int = 0
    refused: int = 0
    in_doubt: int = 0

    def wish(self) -> Wish:
        made = Wish(f"j{len(self.wishes) + 1}")
        self.wishes[made.name] = made
        return made

    @property
    def known(self) -> list[Wish]:
        """Jobs of which a user knows the number."""
        return [wish for wish in self.wishes.values() if wish.id]

    @property
    def there(self) -> list[Wish]:
        """Of these the ones that may still be there."""
        return [wish for wish in self.wishes.values() if wish.id and not wish.over]
