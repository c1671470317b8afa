"""Configuration files as `qconf` prints and reads them.

Owns lines, continuation, comments, columns and line breaking of every kind of object; does not know the meaning of
attributes. Must not import anything slow: clients load it. Called by the q* commands, by `gridengine.config`
and by the reader of a sample cell.

Grammar:
    file      = {line}               line  = attribute blank value | comment | ""       (one object a file)
    complex   = {name shortcut type relop requestable consumable default urgency}       (a table, one object a line)
    quotas    = {"{" {line} "}"}     (several objects a file)
    tree      = {attribute "=" value}                                                   (nodes, each opened by id=)
A backslash before a newline is replaced by one blank (CQ-26, OB-1), but removed behind a comma, where qconf itself breaks
lines. A line whose first character is `#` is a comment.
Source: queue_conf(5), complex(5), sge_resource_quota(5), share_tree(5); O for columns and breaks.
"""

from collections.abc import Iterable, Mapping

from gridengine.errors import ConfigError
from gridengine.kinds import KIND

#: (attribute, value, number of the line on which the attribute stands)
Entry = tuple[str, str, int]

COMPLEX_COLUMNS = ("name", "shortcut", "type", "relop", "requestable", "consumable", "default", "urgency")
TREE_ATTRIBUTES = ("id", "name", "type", "shares", "childnodes")
QUOTA_ATTRIBUTES = ("name", "description", "enabled", "limit")
_COMPLEX_WIDTHS = (16, 7, 6, 2, 8, 7, 5, 4)
_COMPLEX_TITLES = (
    "#name              ", "shortcut  ", "type     ", "relop",
    "requestable", "consumable", "default ", "urgency ",
)
"""Titles over columns of these widths; a longer value widens title and column. Source: O."""
_COMPLEX_FOOTER = "# >#< starts a comment but comments are not saved across edits --------\n"
_LINE_WIDTH = 80
_CONTINUED = " \\"


def logical_lines(text: str) -> list[tuple[str, int]]:
    """Lines without comments and empty lines, continuations joined, each with the number of its first line."""
    lines: list[tuple[str, int]] = []
    held, start = "", 0
    for number, raw in enumerate(text.split("\n"), start=1):
        line = raw.rstrip()
        start = start or number
        if line.endswith("\\"):
            part = line[:-1].strip()
            held += part if part.endswith(",") or not part else part + " "
            continue
        line, held, first, start = held + line.strip(), "", start, 0
        if line.strip() and not line.lstrip().startswith("#"):
            lines.append((line.strip(), first))
    if held.strip() and not held.startswith("#"):
        lines.append((held.strip(), start))
    return lines


def parse(text: str) -> list[Entry]:
    """The attributes of one object in the order of the file. A line without a value gives the value ""."""
    entries: list[Entry] = []
    for line, number in logical_lines(text):
        attribute, *rest = line.split(None, 1)
        entries.append((attribute, rest[0] if rest else "", number))
    return entries


def parse_complex_table(text: str) -> list[list[Entry]]:
    """One list of entries for each line of the complex table. Raises ConfigError unless a line has eight columns."""
    rows: list[list[Entry]] = []
    for line, number in logical_lines(text):
        cells = line.split()
        if len(cells) != len(COMPLEX_COLUMNS):
            expected = f"{len(COMPLEX_COLUMNS)} columns ({' '.join(COMPLEX_COLUMNS)})"
            raise ConfigError("complex", cells[0], "", f"the line has {len(cells)} instead of {expected}", number)
        rows.append([(column, cell, number) for column, cell in zip(COMPLEX_COLUMNS, cells, strict=True)])
    return rows


def parse_quota_sets(text: str) -> list[list[Entry]]:
    """One list of entries for each `{ ... }` block of resource quota sets. Raises ConfigError on a wrong brace."""
    blocks: list[list[Entry]] = []
    block: list[Entry] | None = None
    opened = 0
    for line, number in logical_lines(text):
        if block is None:
            if line != "{":
                raise ConfigError("resource_quota", "", "", 'a resource quota set must begin with a line "{"', number)
            block, opened = [], number
        elif line == "}":
            blocks.append(block)
            block = None
        else:
            attribute, *rest = line.split(None, 1)
            block.append((attribute, rest[0] if rest else "", number))
    if block is not None:
        raise ConfigError("resource_quota", "", "", 'the resource quota set lacks its closing line "}"', opened)
    return blocks


def parse_share_tree(text: str) -> list[Entry]:
    """The `attribute=value` lines of a share tree. Raises ConfigError for a line without an equal sign."""
    entries: list[Entry] = []
    for line, number in logical_lines(text):
        attribute, equal, value = line.partition("=")
        if not equal:
            raise ConfigError("share_tree", "", "", f'"{line}" is not of the form attribute=value', number)
        entries.append((attribute.strip(), value.strip(), number))
    return entries


def parse_objects(kind: str, text: str) -> list[list[Entry]]:
    """The objects of a file of this kind: several for `complex` and `resource_quota`, a single object for any other kind."""
    if kind == "complex":
        return parse_complex_table(text)
    if kind == "resource_quota":
        return parse_quota_sets(text)
    if kind == "share_tree":
        return [parse_share_tree(text)]
    return [parse(text)]


def break_line(head: str, value: str, indent: str, single_line: bool) -> str:
    """`head` and `value`, the value broken at commas and blanks so that no part is longer than 80 columns.

    A continued part ends in ` \\`, the next part starts with `indent`; a longer text without a possible break stays whole.
    A reader gets the same value again: breaks are only at single blanks, and at commas without a blank behind.
    Source: CQ-27; O for the columns.
    """
    if single_line or len(head) + len(value) <= _LINE_WIDTH:
        return head + value
    parts: list[str] = []
    start, prefix = 0, head
    while len(prefix) + len(value) - start > _LINE_WIDTH:
        cut = _cut(value, start, _LINE_WIDTH - len(_CONTINUED) - len(prefix))
        if cut is None:
            break
        parts.append(prefix + value[start:cut].rstrip(" "))
        start, prefix = cut, indent
    parts.append(prefix + value[start:])
    return f"{_CONTINUED}\n".join(parts)


def _cut(value: str, start: int, width: int) -> int | None:
    """The start of the next part: the last possible break within `width` columns, else the first possible break."""
    best = None
    for position in range(start, len(value) - 1):
        comma = value[position] == ","
        if not comma and value[position] != " ":
            continue
        if value[position + 1] == " " or (not comma and value[position - 1 : position] in ("", " ", ",")):
            continue
        if best is not None and position + comma - start > width:
            break
        best = position + 1
        if position + comma - start > width:
            break
    return best


def _format_quota_set(attributes: Mapping[str, str], single_line: bool) -> str:
    lines = ["{"]
    for name in QUOTA_ATTRIBUTES:
        for value in attributes[name].split("\n"):
            lines.append(break_line(f"   {name:<13}", value, "   ", single_line))
    return "\n".join((*lines, "}\n"))


def format_complex_table(rows: Iterable[Mapping[str, str]]) -> str:
    """The whole complex table with its comment lines, rows in the order given."""
    rows = list(rows)
    columns = zip(COMPLEX_COLUMNS, _COMPLEX_WIDTHS, strict=True)
    widths = [max((len(row[column]) for row in rows), default=0) for column, _ in columns]
    more = [max(width - usual, 0) for width, usual in zip(widths, _COMPLEX_WIDTHS, strict=True)]
    head = " ".join(f"{title}{' ' * extra}" for title, extra in zip(_COMPLEX_TITLES, more, strict=True))
    lines = [head, f"#{'-' * (len(head) - 1)}"]
    for row in rows:
        column_widths = zip(COMPLEX_COLUMNS, _COMPLEX_WIDTHS, more, strict=True)
        lines.append("    ".join(f"{row[column]:<{usual + extra}}" for column, usual, extra in column_widths).rstrip())
    return "\n".join((*lines, _COMPLEX_FOOTER))


def format_object(kind: str, attributes: Mapping[str, str], single_line: bool = False, name: str = "") -> str:
    """The file of one object as `qconf -sX` prints it, with its last newline.

    attributes: name to text in print order; single_line: SGE_SINGLE_LINE, no line is broken; name: the host of a
    `configuration` ("global" or a host), printed as a comment in front.
    """
    if kind == "resource_quota":
        return _format_quota_set(attributes, single_line)
    if kind == "share_tree":
        return attributes["nodes"] + "\n" if attributes["nodes"] else ""
    if kind == "complex":
        return format_complex_table([attributes])
    width = KIND[kind].name_width
    lines = [f"#{name}:"] if name else []
    for attribute, value in attributes.items():
        head = f"{attribute:<{width - 1}} "
        lines.append(break_line(head, value, " " * len(head), single_line))
    end = "\n\n" if kind == "configuration" else "\n"
    return "\n".join(lines) + end
