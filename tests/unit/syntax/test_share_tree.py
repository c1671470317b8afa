"""The share tree."""

import pytest

from gridengine.errors import InvalidValueError
from gridengine.syntax.object_file import parse_share_tree as lines
from gridengine.syntax.share_tree import (
    ShareTreeError,
    find,
    format_share_tree,
    parse_share_tree,
    with_node,
    without_node,
)

TEXT = """id=0
name=Root
type=0
shares=1
childnodes=1,2
id=1
name=P1
type=1
shares=50
childnodes=3
id=2
name=default
type=0
shares=10
childnodes=NONE
id=3
name=default
type=0
shares=10
childnodes=NONE"""


@pytest.mark.statement("PR-6")
def test_reading_and_printing_depth_first() -> None:
    root = parse_share_tree(lines(TEXT))
    assert [(path, node.shares) for path, node in root.walk()] == [
        ("/", 1),
        ("/P1", 50),
        ("/P1/default", 10),
        ("/default", 10),
    ]
    printed = format_share_tree(root)
    assert [line for line in printed.split("\n") if line.startswith("childnodes")] == [
        "childnodes=1,3",
        "childnodes=2",
        "childnodes=NONE",
        "childnodes=NONE",
    ]
    assert parse_share_tree(lines(printed)) == root


@pytest.mark.statement("QF-32")
def test_nodes_by_path() -> None:
    root = parse_share_tree(lines(TEXT))
    assert find(root, "/P1/default") == find(root, "P1.default")
    assert find(root, "/P1/bob") is None and find(root, "/") == root
    changed = with_node(root, "/P1/alice", 7)
    assert [node.name for node in changed.children[0].children] == ["default", "alice"]
    assert with_node(changed, "/P1", 99).children[0].shares == 99
    assert without_node(changed, "/P1/alice") == root
    for path in ("/", "/nope", "/P1"):
        with pytest.raises(ShareTreeError):
            without_node(root, path)
    with pytest.raises(ShareTreeError, match='no node "x"'):
        with_node(root, "/x/y", 1)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("id=0\nname=Root\ntype=0\nshares=1\nchildnodes=1", 1),
        ("id=0\nname=Root\ntype=0\nshares=abc\nchildnodes=NONE", 1),
        ("id=0\nname=Root\nshares=1", 1),
        ("id=0\nname=Root\ntype=5\nshares=1\nchildnodes=NONE", 1),
        ("id=0\nname=Root\ntype=0\nshares=1\nchildnodes=0", 1),
        ("name=Root\nid=0", 1),
        (TEXT + "\nid=3\nname=x\ntype=0\nshares=1\nchildnodes=NONE", 21),
        (TEXT + "\nid=4\nname=x\ntype=0\nshares=1\nchildnodes=NONE", 21),
        (TEXT.replace("name=P1", "name=default"), 1),
        (TEXT.replace("childnodes=1,2", "childnodes=1,2,3"), 1),
        (TEXT.replace("childnodes=3", "childnodes=0"), 6),
        (TEXT.replace("name=P1", "name=a/b"), 6),
        ("id=0\nid=1", 1),
        ("foo=1", 1),
        ("", 0),
    ],
)
def test_wrong_trees_are_refused_with_their_line(text: str, line: int) -> None:
    with pytest.raises(InvalidValueError) as caught:
        parse_share_tree(lines(text))
    assert isinstance(caught.value, ShareTreeError)
    assert caught.value.line == line
