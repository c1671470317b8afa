"""The share tree: nodes with shares, as a file and as paths.

Owns its grammar, its shape and changes of single nodes. Called by the share tree's model, by the -Xstnode verbs of
qconf and by the share tree policy. Readers raise InvalidValueError, with the line if it is known.

Grammar (sge_share_tree(5), PR-6):
    tree = {"id=" n "name=" text "type=" ("0"|"1") "shares=" n "childnodes=" ("NONE" | n {"," n})}     one a line
The first node is the root. Nodes are printed depth first and numbered in that order.
    path = ["/"] name {("/" | ".") name}
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from gridengine.errors import InvalidValueError
from gridengine.syntax.lists import is_none
from gridengine.syntax.object_file import TREE_ATTRIBUTES, Entry
from gridengine.values.units import parse_number

USER, PROJECT = 0, 1
DEFAULT_USER = "default"
_MAX_DEPTH = 100


class ShareTreeError(InvalidValueError):
    """A fault of the tree, with the line of the file (0 if unknown)."""

    def __init__(self, reason: str, line: int = 0) -> None:
        self.line = line
        super().__init__(reason)


class Node(NamedTuple):
    """One node. `shares`: relative to the nodes beside it; `children`: the nodes below it; `type`: USER or PROJECT, the kind of
    object that a leaf refers to."""

    name: str
    type: int = USER
    shares: int = 1
    children: tuple["Node", ...] = ()

    def child(self, name: str) -> "Node | None":
        """The node of this name directly below."""
        return next((node for node in self.children if node.name == name), None)

    def walk(self, path: str = "") -> Iterator[tuple[str, "Node"]]:
        """(path, node) of this node and all below, depth first; the path of the root is "/"."""
        yield path or "/", self
        for node in self.children:
            yield from node.walk(f"{path}/{node.name}")


class _Record(NamedTuple):
    values: dict[str, str]
    line: int


def parse_share_tree(entries: Sequence[Entry]) -> Node:
    """The root of the tree that the lines of a file describe. Raises ShareTreeError."""
    records = _records(entries)
    if not records:
        raise ShareTreeError("the share tree has no node")
    first = _number(records[0], "id")
    by_id: dict[int, _Record] = {}
    for record in records:
        number = _number(record, "id")
        if number in by_id:
            raise ShareTreeError(f"the node id {number} is given twice", record.line)
        by_id[number] = record
    used: set[int] = set()
    root = _build(first, by_id, used, 0)
    for number, record in by_id.items():
        if number not in used:
            raise ShareTreeError(f"the node with the id {number} is below no other node", record.line)
    return root


def _records(entries: Sequence[Entry]) -> list[_Record]:
    records: list[_Record] = []
    for attribute, text, line in entries:
        if attribute not in TREE_ATTRIBUTES:
            raise ShareTreeError(f'the attribute "{attribute}" is unknown', line)
        if attribute == "id":
            records.append(_Record({}, line))
        elif not records:
            raise ShareTreeError(f'a node begins with its id, not with "{attribute}"', line)
        if attribute in records[-1].values:
            raise ShareTreeError(f'the attribute "{attribute}" of a node is given twice', line)
        records[-1].values[attribute] = text
    for record in records:
        for attribute in TREE_ATTRIBUTES:
            if attribute not in record.values:
                raise ShareTreeError(f'the attribute "{attribute}" of a node is missing', record.line)
    return records


def _number(record: _Record, attribute: str, high: int = 4294967295) -> int:
    try:
        return parse_number(record.values[attribute], 0, high)
    except InvalidValueError as fault:
        raise ShareTreeError(f"{attribute}: {fault}", record.line) from None


def _build(number: int, by_id: dict[int, _Record], used: set[int], depth: int) -> Node:
    record = by_id[number]
    used.add(number)
    if depth > _MAX_DEPTH:
        raise ShareTreeError("the share tree is too deep", record.line)
    children: list[Node] = []
    listed = record.values["childnodes"]
    for text in [] if is_none(listed) else listed.split(","):
        try:
            child = parse_number(text.strip())
        except InvalidValueError as fault:
            raise ShareTreeError(f"childnodes: {fault}", record.line) from None
        if child not in by_id:
            raise ShareTreeError(f"there is no node with the id {child}", record.line)
        if child in used:
            raise ShareTreeError(f"the node with the id {child} is below more than one node", record.line)
        children.append(_build(child, by_id, used, depth + 1))
    name = check_node_name(record.values["name"], record.line)
    node = Node(name, _number(record, "type", PROJECT), _number(record, "shares"), tuple(children))
    _check_siblings(node, record.line)
    return node


def check_node_name(name: str, line: int = 0) -> str:
    """The name itself: printable, without blanks and the characters that paths use."""
    if not name or not name.isprintable() or any(character in " /=," for character in name):
        raise ShareTreeError(f'"{name}" is not a name for a node of the share tree', line)
    return name


def _check_siblings(node: Node, line: int) -> None:
    names = [child.name for child in node.children]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ShareTreeError(f'"{twice}" is twice below "{node.name}"', line)


def format_share_tree(root: Node) -> str:
    """The lines of the file, without the last newline."""
    lines: list[str] = []

    def add(node: Node, number: int) -> int:
        """Print the node with its number. Returns the next free number."""
        position = len(lines)
        following = number + 1
        numbers = []
        for child in node.children:
            numbers.append(str(following))
            following = add(child, following)
        listed = ",".join(numbers) or "NONE"
        values = (number, node.name, node.type, node.shares, listed)
        lines[position:position] = [f"{name}={value}" for name, value in zip(TREE_ATTRIBUTES, values, strict=True)]
        return following

    add(root, 0)
    return "\n".join(lines)


def split_path(path: str) -> list[str]:
    """The names of a path below the root: `/P1/alice` and `P1.alice` are ["P1", "alice"]."""
    return [name for name in path.replace("/", ".").split(".") if name]


def find(root: Node, path: str) -> Node | None:
    """The node of a path, or None."""
    node: Node | None = root
    for name in split_path(path):
        node = node.child(name) if node is not None else None
    return node


def with_node(root: Node, path: str, shares: int, type_of_new: int = USER) -> Node:
    """The tree with the node of this path set to these shares; a missing node is made. Raises ShareTreeError."""
    return _with_node(root, split_path(path), path, shares, type_of_new)


def _with_node(node: Node, names: list[str], path: str, shares: int, type_of_new: int) -> Node:
    if not names:
        return node._replace(shares=shares)
    child = node.child(names[0])
    if child is None:
        if len(names) > 1:
            raise ShareTreeError(f'"{path}": there is no node "{names[0]}" below "{node.name}"')
        return node._replace(children=(*node.children, Node(check_node_name(names[0]), type_of_new, shares)))
    changed = _with_node(child, names[1:], path, shares, type_of_new)
    return node._replace(children=tuple(changed if entry is child else entry for entry in node.children))


def without_node(root: Node, path: str) -> Node:
    """The tree without the node of this path. Raises ShareTreeError for the root, an unknown node and a node with children."""
    names = split_path(path)
    node = find(root, path)
    if not names or node is None:
        raise ShareTreeError(f'"{path}" is not a node that can be removed')
    if node.children:
        raise ShareTreeError(f'"{path}" has nodes below it')
    return _without_node(root, names)


def _without_node(node: Node, names: list[str]) -> Node:
    child = node.child(names[0])
    rest = () if len(names) == 1 or child is None else (_without_node(child, names[1:]),)
    children: list[Node] = []
    for entry in node.children:
        children.extend(rest if entry is child else (entry,))
    return node._replace(children=tuple(children))
