"""Queue name expressions: selection of cluster queues and queue instances by `-q` and similar options.

Owns the three forms and their lists. Must not import anything slow: clients load it. Called by selection in qstat,
qselect, qmod, qconf, by requests of jobs and reservations, and by resource quotas.

Grammar (sge_types(5) wc_queue_list; QN-1..8):
    list       = expression {"," expression}          the union
    expression = cqueue | cqueue "@" host | cqueue "@@" group          each part a wildcard expression (QN-4)
In an expression of groups each name may have its "@": `@@a|@b`.
"""

from collections.abc import Collection

from gridengine.errors import InvalidValueError
from gridengine.syntax.wildcard import Matcher, compile_expression


class QueueExpression:
    """One compiled expression. `host` and `group` are None if the form lacks them; a group keeps its @."""

    __slots__ = ("text", "queue", "host", "group", "_queue_matches", "_host_matches", "_group_matches")

    def __init__(self, text: str) -> None:
        self.text = text
        queue, at, rest = text.partition("@")
        if not queue or (at and not rest) or rest == "@":
            raise InvalidValueError(f'"{text}" is not a queue expression: queue, queue@host or queue@@group is expected')
        self.queue = queue
        self.group = _groups(rest) if rest.startswith("@") else None
        self.host = rest if at and self.group is None else None
        if "@" in (self.group[1:] if self.group else self.host or ""):
            raise InvalidValueError(f'"{text}" is not a queue expression: it has too many "@"')
        self._queue_matches = compile_expression(queue)
        self._host_matches: Matcher | None = compile_expression(self.host, True) if self.host else None
        self._group_matches: Matcher | None = compile_expression(self.group[1:]) if self.group else None

    def __repr__(self) -> str:
        return f"QueueExpression({self.text!r})"

    def matches_queue(self, queue: str) -> bool:
        """Whether the part before the @ matches this cluster queue."""
        return self._queue_matches(queue)

    def matches(self, queue: str, host: str, groups: Collection[str]) -> bool:
        """Whether it matches the instance queue@host. groups: all groups that hold the host, each with its @."""
        if not self._queue_matches(queue):
            return False
        if self._host_matches is not None:
            return self._host_matches(host)
        if self._group_matches is not None:
            return any(self._group_matches(group[1:]) for group in groups)
        return True


def _groups(text: str) -> str:
    """An expression of groups in which only the first name has its @."""
    for operator in "|&!(":
        text = text.replace(f"{operator}@", operator)
    return text


class QueueExpressions:
    """A list of expressions, which matches if any expression matches (QN-7)."""

    __slots__ = ("expressions",)

    def __init__(self, expressions: Collection[QueueExpression]) -> None:
        self.expressions = tuple(expressions)

    @classmethod
    def parse(cls, text: str) -> "QueueExpressions":
        """Read a list divided by commas or blanks. Raises InvalidValueError."""
        parts = text.replace(",", " ").split()
        if not parts:
            raise InvalidValueError("a queue expression is missing")
        return cls([QueueExpression(part) for part in parts])

    def __str__(self) -> str:
        return ",".join(expression.text for expression in self.expressions)

    def matches_queue(self, queue: str) -> bool:
        """Whether any expression's queue part matches the cluster queue."""
        return any(expression.matches_queue(queue) for expression in self.expressions)

    def matches(self, queue: str, host: str, groups: Collection[str]) -> bool:
        """Whether any expression matches the instance queue@host."""
        return any(expression.matches(queue, host, groups) for expression in self.expressions)
