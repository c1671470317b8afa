"""Single nodes of the share tree: -astnode, -mstnode, -dstnode.

Owns the verbs and their answers; the tree itself belongs to `gridengine.syntax.share_tree`. The nodes of a call are
independent: refused nodes are reported, the other nodes are changed (O). A tree that would name unknown users or projects is
refused as a whole. Source: qconf(1); QF-32; O for the texts.
"""

from __future__ import annotations

from daemons.qmaster.decide.configuration.gate import conclude
from daemons.qmaster.decide.configuration.proposal import Proposal
from daemons.qmaster.decision import Decision, World
from daemons.qmaster.permissions import no_right
from gridengine.config.share_tree import ShareTreeObject
from gridengine.errors import ConfigError, InvalidValueError
from gridengine.protocols.gdi.requests import Caller, ChangeShareTree
from gridengine.state.state import State
from gridengine.syntax import share_tree
from gridengine.syntax.share_tree import PROJECT, USER, Node
from gridengine.values.units import parse_number

_UNCHANGED = "no modifications to sharetree"


def change_nodes(state: State, request: ChangeShareTree, caller: Caller, world: World) -> Decision:
    decision, proposal = Decision(), Proposal(state)
    if refusal := no_right(state, caller, world):
        return decision.refuse(refusal)
    text = state.kind("share_tree").get("")
    if text is None and request.verb != "add":
        return decision.refuse("No sharetree")
    root = ShareTreeObject.from_attributes(text).root if text else Node("Root")
    done = False
    for item in request.nodes:
        try:
            root = _change_node(proposal, root, item, request.verb, decision)
            done = True
        except InvalidValueError as fault:
            decision.answer.error(str(fault))
    if not done:
        return decision.refuse(_UNCHANGED)
    try:
        proposal.set("share_tree", "", ShareTreeObject.of(root))
    except ConfigError as fault:
        decision.answer.answers.clear()
        return decision.refuse(str(fault))
    decision.answer.info("modified sharetree")
    return conclude(proposal, decision, world)


def _change_node(proposal: Proposal, root: Node, item: str, verb: str, decision: Decision) -> Node:
    """The tree after the change of one node. Raises InvalidValueError."""
    path, equal, text = item.partition("=")
    names = share_tree.split_path(path)
    shown = "/" + "/".join(names)
    node = share_tree.find(root, path)
    if verb == "delete":
        if node is None or not names:
            raise InvalidValueError(f"Unable to locate {shown} in sharetree")
        decision.answer.info(f"removing \n{shown}")
        return share_tree.without_node(root, path)
    if not equal:
        raise InvalidValueError(f"{item} is not of the form node_path=shares")
    parent = share_tree.find(root, "/".join(names[:-1]))
    if node is None and (verb == "modify" or parent is None):
        raise InvalidValueError(f"Unable to locate {shown if parent is not None else '/' + '/'.join(names[:-1])} in sharetree")
    decision.answer.info(f"setting \n{shown}={text}")
    is_project = bool(names) and proposal.has("project", names[-1]) and not proposal.has("user", names[-1])
    return share_tree.with_node(root, path, parse_number(text), PROJECT if is_project else USER)
