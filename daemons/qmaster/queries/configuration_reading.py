"""Reading the configuration: objects, searches, detached settings, the share tree.

Owns the readers of configuration, for `daemons.qmaster.queries`. Changes nothing; all users may read (QF-36).
Source: qconf(1) -s*; QF-15, QF-16, QF-32, HG-5, CQ-19; O for texts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from daemons.qmaster.decide.configuration.remarks import find_detached
from daemons.qmaster.permissions import no_right
from daemons.qmaster.queries.source import StateSource
from gridengine.config import KINDS
from gridengine.config.attribute_changes import elements
from gridengine.config.share_tree import ShareTreeObject
from gridengine.errors import InvalidValueError
from gridengine.kinds import KIND
from gridengine.protocols.gdi.requests import Answer, Caller
from gridengine.state.running_usage import share_usage
from gridengine.state.state import State
from gridengine.syntax import share_tree
from gridengine.syntax.overrides import Overrides
from gridengine.syntax.wildcard import Matcher, compile_expression, is_pattern
from gridengine.terminal.hints import did_you_mean

Body = dict[str, Any]
Reader = Callable[[StateSource, Body, Caller], Answer]
ShownObject = dict[str, Any]


def config_show(source: StateSource, body: Body, caller: Caller) -> Answer:
    """The named objects of a kind, or all objects. An unknown name is an error answer. A pattern may select quota sets (O)."""
    kind, names = _kind(body), body.get("names")
    objects = source.state.kind(kind)
    answer = Answer()
    shown: list[ShownObject] = []
    if kind == "resource_quota" and names:
        names = [each for name in names for each in _matching(objects, name) or [name]]
    for name in sorted(objects) if names is None else names:
        unique = source.world().resolve_host(name) if KIND[kind].hosts and name not in objects else name
        if unique in objects:
            shown.append(_shown_object(source.state, kind, str(unique)))
        elif KIND[kind].hosts and unique is None:
            answer.error(f'can\'t resolve hostname "{name}"')
        else:
            answer.error(KIND[kind].not_shown.format(unique or name), hint=did_you_mean(name, objects))
    answer.data = shown
    return answer


def _kind(body: Body) -> str:
    """The requested kind of objects. Raises InvalidValueError."""
    if body["kind"] not in KINDS:
        raise InvalidValueError(f'there is no kind of object "{body["kind"]}"')
    return str(body["kind"])


def _matching(objects: Iterable[str], name: str) -> list[str]:
    """The names that match a pattern; none for a plain name."""
    return sorted(filter(compile_expression(name), objects)) if is_pattern(name) else []


def _shown_object(state: State, kind: str, name: str) -> ShownObject:
    """An object. A host group with a rule also has the hosts that match the rule now."""
    shown: ShownObject = {"name": name, "attributes": state.kind(kind)[name]}
    if kind == "host_group" and name in state.rule_members:
        shown["rule_members"] = state.rule_members[name]
    return shown


def config_list(source: StateSource, body: Body, caller: Caller) -> Answer:
    return Answer(data=sorted(source.state.kind(_kind(body))))


def config_template(source: StateSource, body: Body, caller: Caller) -> Answer:
    """The initial attributes of a new object. `name`: its name, which matters for configurations of hosts."""
    kind = _kind(body)
    model = KINDS[kind].template(body["name"]) if kind == "configuration" and body.get("name") else KINDS[kind].template()
    return Answer(data=model.attributes())


def may_configure(source: StateSource, body: Body, caller: Caller) -> Answer:
    """Whether the caller may change the configuration. Clients check before a user edits in vain."""
    refusal = no_right(source.state, caller, source.world())
    return Answer(1, [("error", refusal)]) if refusal else Answer()


def config_export(source: StateSource, body: Body, caller: Caller) -> Answer:
    """Every object of every kind: {kind: {name: attributes}}."""
    return Answer(data={kind: source.state.kind(kind) for kind in KINDS})


def config_detached(source: StateSource, body: Body, caller: Caller) -> Answer:
    """-sds: a line for each detached setting; status 1 with at least one line, as in the original."""
    answer, state = Answer(), source.state
    detached_settings = [
        setting
        for name, attributes in sorted(state.kind("cluster_queue").items())
        for setting in find_detached(name, attributes, state.groups)
    ]
    for setting in detached_settings:
        answer.info(str(setting))
    answer.status = 1 if detached_settings else 0
    answer.data = [[s.queue, s.attribute, s.identifier, s.partly] for s in detached_settings]
    return answer


def config_search(source: StateSource, body: Body, caller: Caller) -> Answer:
    """-sobjl: names of the objects that have a matching value in a matching attribute (QF-15).

    `object`: queue (its default settings), queue_domain and queue_instance (tuples only), exechost (with its load_values).
    """
    object_kind = body["object"]
    attribute_matches, value_matches = compile_expression(body["attribute"]), compile_expression(body["value"])
    state = source.state
    if object_kind == "exechost":
        hosts = [(name, text | {"load_values": _load_values(state, name)}) for name, text in state.kind("exec_host").items()]
        return Answer(data=sorted(name for name, text in hosts if _has_match(text, attribute_matches, value_matches)))
    if object_kind not in ("queue", "queue_domain", "queue_instance"):
        known = "queue, queue_domain, queue_instance and exechost"
        return Answer(1, [("error", f'denied: "{object_kind}" cannot be searched, only {known} can')])
    found: set[str] = set()
    for queue, text in state.kind("cluster_queue").items():
        for identifier, settings in _settings(text).items():
            settings_kind = {"": "queue", "@": "queue_domain"}.get(identifier[:1], "queue_instance")
            if settings_kind == object_kind and _has_match(settings, attribute_matches, value_matches):
                found.add(f"{queue}@{identifier}" if identifier else queue)
    return Answer(data=sorted(found))


def _load_values(state: State, host: str) -> str:
    """The load values of a host, in the form of `qconf -se`."""
    reported = state.hosts[host].load if host in state.hosts else {}
    return ",".join(f"{name}={text}" for name, text in reported.items()) or "NONE"


def _settings(attributes: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """The settings of a queue by identifier; identifier "" has the defaults."""
    found: dict[str, dict[str, str]] = {"": {}}
    for attribute, text in attributes.items():
        if attribute in ("qname", "hostlist"):
            found[""][attribute] = text
            continue
        for identifier, value in Overrides.parse(text).values():
            found.setdefault(identifier, {})[attribute] = value
    return found


def _has_match(attributes: Mapping[str, str], attribute_matches: Matcher, value_matches: Matcher) -> bool:
    return any(
        attribute_matches(attribute) and any(value_matches(value) for value in (text, *elements(attribute, text)))
        for attribute, text in attributes.items()
    )


def config_share_tree(source: StateSource, body: Body, caller: Caller) -> Answer:
    """-sstnode, -rsstnode: nodes with all their descendants as [path, name, shares]; `paths` null for the whole tree."""
    stored = source.state.kind("share_tree").get("")
    if stored is None:
        # without a share tree the original prints this text and succeeds
        return Answer(0, [("error", "No sharetree")])
    root, answer = ShareTreeObject.from_attributes(stored).root, Answer()
    rows: list[list[object]] = []
    for path in body.get("paths") or ["/"]:
        node = share_tree.find(root, path)
        shown = "/" + "/".join(share_tree.split_path(path))
        if node is None:
            answer.error(f"Unable to locate {shown} in sharetree")
            continue
        for below, each in node.walk(shown if shown != "/" else ""):
            rows.append([below, each.name, each.shares])
    answer.data = rows
    return answer


def share_usage_now(source: StateSource, body: Body, caller: Caller) -> Answer:
    """Usage of the users as the share tree counts it now: user, project or "", cpu s, mem GB s, io GB."""
    usages = share_usage(source.state, source.world().now)
    return Answer(data=[[*key, usage.cpu, usage.mem, usage.io] for key, usage in sorted(usages.items())])


CONFIGURATION_READERS: dict[str, Reader] = {
    "config_show": config_show,
    "config_list": config_list,
    "config_template": config_template,
    "may_configure": may_configure,
    "config_export": config_export,
    "config_detached": config_detached,
    "config_search": config_search,
    "config_share_tree": config_share_tree,
    "share_usage": share_usage_now,
}
