"""The value of subordinate_list: queue-wise `low=5,other` and slot-wise `slots=2(B.q:1:sr,C.q)`.

Owns this grammar and its print form. Called by the cluster queue's model and by the scheduler.
Readers raise InvalidValueError.

Grammar (queue_conf(5) subordinate_list; SU-1, SU-7..9, SU-17):
    list  = NONE | queue-wise | slot-wise
    queue-wise = element {("," | blank) element}          element = queue ["=" threshold]
    slot-wise  = "slots=" threshold "(" queue [":" seq_no [":" action]] {"," ...} ")"      action = sr | lr
"""

from typing import NamedTuple

from gridengine.errors import InvalidValueError
from gridengine.syntax.lists import check_object_name, is_none, split_pairs
from gridengine.values.units import parse_number


class Subordinate(NamedTuple):
    """One subordinate queue. `threshold`: slots of the superordinate instance that trigger its suspension, 0 for all of them
    (queue-wise only); `seq_no`: higher is suspended first; `action`: `sr` shortest, `lr` longest run time first."""

    queue: str
    threshold: int = 0
    seq_no: int = 0
    action: str = "sr"


class SubordinateList(NamedTuple):
    """`queues`: in the order of the list. `slots`: the threshold of a slot-wise list, 0 for a queue-wise list."""

    slots: int
    queues: tuple[Subordinate, ...]

    def __str__(self) -> str:
        if not self.queues:
            return "NONE"
        if self.slots:
            inner = ", ".join(f"{entry.queue}:{entry.seq_no}:{entry.action}" for entry in self.queues)
            return f"slots={self.slots}({inner})"
        parts = [f"{queue}={threshold}, " if threshold else f"{queue} " for queue, threshold, *_ in self.queues]
        return "".join(parts).rstrip(", ")


def parse_subordinates(text: str) -> SubordinateList:
    """Read a subordinate_list. A threshold of 0, an unknown action or a missing bracket is refused."""
    if is_none(text):
        return SubordinateList(0, ())
    if "(" in text or ")" in text:
        return _slot_wise(text)
    queues = []
    for queue, threshold in split_pairs(text, value_required=False):
        if queue == "slots":
            raise InvalidValueError(f'"{text}" lacks the list of queues in brackets behind slots=N')
        count = parse_number(threshold, 1) if threshold else 0
        queues.append(Subordinate(check_object_name(queue), threshold=count))
    return SubordinateList(0, tuple(queues))


def _slot_wise(text: str) -> SubordinateList:
    head, _, inner = text.partition("(")
    name, equal, threshold = head.partition("=")
    if name.strip() != "slots" or not equal:
        raise InvalidValueError(f'"{text}" must begin with slots=N before its bracket')
    if not inner.endswith(")") or inner.count(")") != 1 or "(" in inner:
        raise InvalidValueError(f'"{text}" must have one list of queues in brackets at its end')
    queues: list[Subordinate] = []
    for definition in inner[:-1].split(","):
        queues.append(_definition(definition.strip(), text))
        if any(queues[-1].queue == other.queue for other in queues[:-1]):
            raise InvalidValueError(f'"{queues[-1].queue}" is given twice')
    return SubordinateList(parse_number(threshold.strip(), 1), tuple(queues))


def _definition(definition: str, text: str) -> Subordinate:
    fields = [field.strip() for field in definition.split(":")]
    if len(fields) > 3 or not fields[0]:
        raise InvalidValueError(f'"{text}": "{definition}" is not of the form queue[:seq_no][:action]')
    queue, rest = check_object_name(fields[0]), fields[1:]
    action = rest.pop() if rest and rest[-1] in ("sr", "lr") else "sr"
    rest = [field for field in rest if field]
    if len(rest) > 1 or (len(rest) == 1 and len(fields) == 3 and fields[2] not in ("sr", "lr")):
        raise InvalidValueError(f'"{text}": the action of "{queue}" must be sr or lr')
    if rest and not rest[0].isdecimal():
        raise InvalidValueError(f'"{text}": "{rest[0]}" is neither a sequence number nor sr or lr')
    return Subordinate(queue, seq_no=parse_number(rest[0]) if rest else 0, action=action)
