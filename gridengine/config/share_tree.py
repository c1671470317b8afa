"""The share tree as a configuration object.

Owns its stored form: one attribute `nodes` with the text of the file. Called through `gridengine.config.KINDS`;
`syntax.share_tree` owns grammar and shape. Source: sge_share_tree(5), QF-32.
"""

from collections.abc import Sequence
from typing import Annotated, ClassVar, Self

from gridengine.config.attribute_types import AttributeType, Reference
from gridengine.config.objects import ConfigObject
from gridengine.errors import ConfigError
from gridengine.syntax import share_tree
from gridengine.syntax.object_file import Entry, parse_share_tree
from gridengine.syntax.share_tree import DEFAULT_USER, PROJECT, Node, ShareTreeError


def _nodes(text: str) -> str:
    try:
        return share_tree.format_share_tree(share_tree.parse_share_tree(parse_share_tree(text)))
    except ConfigError as error:
        raise ShareTreeError(error.reason, error.line) from None


def _referred(text: str) -> list[Reference]:
    """Users and projects: all leaves but `default`, and inner nodes of the type project."""
    root = share_tree.parse_share_tree(parse_share_tree(text))
    found: list[Reference] = []
    for path, node in root.walk():
        if path == "/" or node.name == DEFAULT_USER:
            continue
        if node.type == PROJECT:
            found.append(("project", node.name))
        elif not node.children:
            found.append(("user", node.name))
    return list(dict.fromkeys(found))


class ShareTreeObject(ConfigObject):
    """The share tree."""

    kind: ClassVar[str] = "share_tree"
    key: ClassVar[str] = ""

    nodes: Annotated[str, AttributeType(_nodes, _referred)] = "id=0\nname=template\ntype=0\nshares=0\nchildnodes=NONE"

    @property
    def object_name(self) -> str:
        """The empty name of the only object."""
        return ""

    def check(self) -> None:
        """Refuse a user who is twice outside of projects, or twice within one project, since usage counts once. Source: O."""
        scopes: list[tuple[str, Node]] = [("", self.root)]
        seen: set[tuple[str, str]] = set()
        while scopes:
            project, node = scopes.pop()
            for child in node.children:
                if child.type != PROJECT and not child.children:
                    if (project, child.name) in seen:
                        where = f'the project "{project}"' if project else "the share tree"
                        raise ConfigError(self.kind, "", "", f'the user "{child.name}" is twice in {where}')
                    seen.add((project, child.name))
                scopes.append((child.name if child.type == PROJECT else project, child))

    @property
    def root(self) -> Node:
        """The root node with all below it."""
        return share_tree.parse_share_tree(parse_share_tree(self.nodes))

    @classmethod
    def of(cls, root: Node) -> Self:
        """The object of a tree."""
        return cls.from_attributes({"nodes": share_tree.format_share_tree(root)})

    @classmethod
    def parse(
        cls, entries: Sequence[Entry], *, complete: bool = True, name: str = "", warnings: list[str] | None = None
    ) -> Self:
        """The tree of these lines: the lines of a file, or one entry `nodes` with its text."""
        if [attribute for attribute, _, _ in entries] == ["nodes"]:
            return super().parse(entries, complete=complete, name=name, warnings=warnings)
        try:
            text = share_tree.format_share_tree(share_tree.parse_share_tree(entries))
        except ShareTreeError as fault:
            raise ConfigError(cls.kind, "", "", str(fault), fault.line) from None
        made = cls.model_validate({"nodes": text})
        made.check()
        return made

    @classmethod
    def template(cls, name: str = "") -> Self:
        """A tree of one node."""
        return cls.model_construct()
