"""Nodes of the share tree: shown as paths or drawn as a tree, added, changed and deleted; clearing of usage.

Owns -sst, -bonsai, -sstnode, -rsstnode, -astnode, -mstnode, -dstnode and -clearusage. `clients.configure.change` handles the
tree as a file. Called by `clients.qconf`. Source: qconf(1); QF-32, QF-33; O for the texts.
"""

from clients import gdi, program


def draw() -> int:
    """-sst, -bonsai: print a line per node, indented by its depth."""
    answer = gdi.call("config_share_tree", {"paths": None})
    for path, name, shares in answer.data or ():
        depth = path.count("/") if path != "/" else 0
        program.show([f"{'   ' * depth}{name}={shares}\n"])
    return program.show_answers(answer)


def show_nodes(values: list[str]) -> int:
    """-sstnode, -rsstnode: print the paths and shares of nodes and of their descendants; unknown nodes are reported."""
    answer = gdi.call("config_share_tree", {"paths": _items(values)})
    for path, _, shares in answer.data or ():
        program.show([f"{path}={shares}\n"])
    return program.show_answers(answer)


def clear_usage(values: list[str]) -> int:
    """-clearusage: clear the usage of users, or of all users and projects."""
    return program.request("clear_usage", {"users": _items(values)})


def change_nodes(verb: str, values: list[str]) -> int:
    """-astnode, -mstnode path=shares,…; -dstnode path,…"""
    return program.request("change_share_tree", {"verb": verb, "nodes": _items(values)})


def _items(values: list[str]) -> list[str]:
    return [item for value in values for item in value.split(",") if item]
