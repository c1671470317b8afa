"""Members of access lists: -au and -du.

Owns the two verbs, which make missing lists and answer for each user and list. Operators may, too.
Source: qconf(1) -au, -du; QF-26, QF-36; O for the texts.
"""

from __future__ import annotations

from daemons.qmaster.decide.configuration.gate import conclude
from daemons.qmaster.decide.configuration.proposal import Proposal
from daemons.qmaster.decision import Decision, World
from daemons.qmaster.permissions import no_right
from gridengine.config import KINDS
from gridengine.errors import ConfigError
from gridengine.protocols.gdi.requests import Caller, ChangeUsers
from gridengine.state.state import State
from gridengine.syntax.lists import join_names, split_names


def change_users(state: State, request: ChangeUsers, caller: Caller, world: World) -> Decision:
    """Add every user to every list, or remove them. A user without a change is an error answer; the other changes are made."""
    decision, proposal = Decision(), Proposal(state)
    if refusal := no_right(state, caller, world, operators=True):
        return decision.refuse(refusal)
    try:
        for name in request.lists:
            _change_list(proposal, decision, name, request)
    except ConfigError as error:
        return decision.refuse(str(error))
    return conclude(proposal, decision, world)


def _change_list(proposal: Proposal, decision: Decision, name: str, request: ChangeUsers) -> None:
    answer, adding = decision.answer, request.verb == "add"
    attributes = proposal.get("userset", name)
    if attributes is None:
        if not adding:
            answer.error(f'access list "{name}" doesn\'t exist')
            return
        attributes = KINDS["userset"].template(name).attributes()
    entries = list(split_names(attributes["entries"]))
    before = list(entries)
    for user in request.users:
        if adding and user in entries:
            answer.error(f'"{user}" is already in access list "{name}"')
        elif adding:
            entries.append(user)
            answer.info(f'added "{user}" to access list "{name}"')
        elif user in entries:
            entries.remove(user)
            answer.info(f'deleted user "{user}" from access list "{name}"')
        else:
            answer.error(f'user "{user}" is not in access list "{name}"')
    if entries != before:
        proposal.set_attributes("userset", name, {**attributes, "entries": join_names(entries, ",")})
