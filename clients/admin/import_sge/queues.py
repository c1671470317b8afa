"""Merge of cluster queues of one host each into one cluster queue, with overrides for hosts with other values.

Owns the choice of queues to merge, and the references to them: subordinate lists and quotas. Pure. Called by `command`.
Source: IN-4; adr/0159.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from clients.admin.cell_directory import Objects
from clients.admin.errors import AdminError
from gridengine.config.queue_resolution import resolve
from gridengine.syntax.lists import join_names, split_names
from gridengine.syntax.overrides import Overrides
from gridengine.syntax.rqs import Filter, Rule, parse_rule
from gridengine.syntax.subordinate import parse_subordinates
from gridengine.syntax.wildcard import matches

Family = dict[str, str]
"""Host by queue: queues of one host each, to be merged into one queue."""

#: no name for a queue of many hosts
_NO_NAME = ("", "q")


@dataclass(slots=True)
class Merged:
    """`queues`: (old name, new name, host) of each merged queue; `remarks`: the queues that were not merged, with reasons."""

    objects: Objects
    queues: list[tuple[str, str, str]]
    remarks: list[str]


def merge_queues(objects: Objects, requested: dict[str, str], by_names: bool = True) -> Merged:
    """Merge queues of one host each: queues selected by a pattern of `requested` (by new name), and with `by_names` queues that
    differ only in the host's name.

    AdminError: a pattern selects fewer than two queues, a queue of several hosts, or two queues of one host; or the new name is
    taken.
    """
    result = Merged({kind: dict(named) for kind, named in objects.items()}, [], [])
    families = {name: _requested_family(objects, name, pattern) for name, pattern in requested.items()}
    of_one = {
        queue: host
        for queue, host in _queues_of_one_host(objects).items()
        if all(queue not in each for each in families.values())
    }
    if by_names:
        for name, family in _families_by_name(of_one).items():
            if obstacle := _obstacle(objects, name, family, families):
                result.remarks.append(obstacle)
            else:
                families[name] = family
    for name, family in list(families.items()):
        if conflict := next(_conflicting_quotas(objects, family, families), ""):
            result.remarks.append(f"queues {' '.join(family)} stay as they are: {conflict}")
            del families[name]
    new_name = {queue: name for name, family in families.items() for queue in family}
    for name, family in families.items():
        result.objects["cluster_queue"][name] = _merge_family(objects, name, family, new_name)
        for queue, host in family.items():
            result.objects["cluster_queue"].pop(queue, None) if queue != name else None
            result.queues.append((queue, name, host))
    _rename(result.objects, families, new_name)
    return result


def _queues_of_one_host(objects: Objects) -> Family:
    listed = {name: split_names(each["hostlist"]) for name, each in objects.get("cluster_queue", {}).items()}
    return {name: hosts[0] for name, hosts in listed.items() if len(hosts) == 1 and not hosts[0].startswith("@")}


def _requested_family(objects: Objects, name: str, pattern: str) -> Family:
    queues, of_one = objects.get("cluster_queue", {}), _queues_of_one_host(objects)
    selected = [queue for queue in queues if matches(pattern, queue)]
    if len(selected) < 2:
        raise AdminError(f"--merge {name}={pattern}: the pattern selects {len(selected)} queues, two or more are needed")
    if several := [queue for queue in selected if queue not in of_one]:
        raise AdminError(f"--merge {name}={pattern}: {several[0]} is not a queue of one host")
    family = {queue: of_one[queue] for queue in selected}
    if twice := [host for host, count in Counter(family.values()).items() if count > 1]:
        raise AdminError(f"--merge {name}={pattern}: two of these queues are of the host {twice[0]}")
    if name in queues and name not in family:
        raise AdminError(f"--merge {name}={pattern}: there is a queue of this name")
    return family


def _families_by_name(of_one: Family) -> dict[str, Family]:
    """Queues of two or more hosts that have equal names without the host names, by the common rest."""
    found: dict[str, Family] = {}
    for queue, host in of_one.items():
        pattern = rf"(?<![A-Za-z0-9]){re.escape(host.partition('.')[0])}(?![A-Za-z0-9])"
        left, count = re.subn(pattern, "", queue, count=1)
        if count:
            found.setdefault(re.sub(r"([._-])[._-]+", r"\1", left).strip("._-"), {})[queue] = host
    return {name: family for name, family in found.items() if len(family) > 1}


def _obstacle(objects: Objects, name: str, family: Family, others: dict[str, Family]) -> str:
    queues = " ".join(family)
    if name in _NO_NAME:
        return f"queues {queues} are of one host each: --merge NAME=PATTERN merges them"
    if name in others or (name in objects["cluster_queue"] and name not in family):
        return f'queues {queues} stay as they are: there is a queue "{name}" already'
    if len(set(family.values())) < len(family):
        return f"queues {queues} stay as they are: two of them are of one host"
    return ""


def _merge_family(objects: Objects, name: str, family: Family, new_name: dict[str, str]) -> dict[str, str]:
    """The attributes of the queue: the most frequent value is the default, other values become tuples of hosts."""
    of_host = {}
    for queue, host in family.items():
        attributes, _ = resolve(objects["cluster_queue"][queue], host, frozenset())
        attributes["subordinate_list"] = _subordinates(attributes["subordinate_list"], new_name)
        of_host[host] = attributes
    found = {"qname": name, "hostlist": join_names(family.values())}
    for attribute in next(iter(of_host.values())):
        if attribute not in found:
            values = {host: attributes[attribute] for host, attributes in of_host.items()}
            default = Counter(values.values()).most_common(1)[0][0]
            found[attribute] = str(Overrides(default, {host: value for host, value in values.items() if value != default}))
    return found


def _subordinates(text: str, new_name: dict[str, str]) -> str:
    listed = parse_subordinates(text)
    renamed = {
        new_name.get(each.queue, each.queue): each._replace(queue=new_name.get(each.queue, each.queue)) for each in listed.queues
    }
    return str(listed._replace(queues=tuple(renamed.values())))


def _rename(objects: Objects, families: dict[str, Family], new_name: dict[str, str]) -> None:
    """Rename the merged queues in other queues and in quotas."""
    for name, attributes in objects.get("cluster_queue", {}).items():
        if name not in families and any(queue in attributes["subordinate_list"] for queue in new_name):
            overrides = Overrides.parse(attributes["subordinate_list"])
            tuples = {key: _subordinates(value, new_name) for key, value in overrides.tuples.items()}
            text = str(Overrides(_subordinates(overrides.default, new_name), tuples))
            objects["cluster_queue"][name] = {**attributes, "subordinate_list": text}
    for name, attributes in objects.get("resource_quota", {}).items():
        rules = [str(_renamed_rule(parse_rule(text), families)) for text in attributes["limit"].split("\n") if text]
        objects["resource_quota"][name] = {**attributes, "limit": "\n".join(rules)}


def _renamed_rule(rule: Rule, families: dict[str, Family]) -> Rule:
    """The rule with queues of one family replaced by the new queue on their hosts."""
    queues = rule.filters.get("queues")
    for name, family in families.items() if queues else ():
        selected = {queue: host for queue, host in family.items() if _selects(queues, queue)}
        if queues and selected and not _is_plain(queues, families):
            hosts = Filter(tuple(selected.values()), (), queues.expanded)
            return rule._replace(filters={**rule.filters, "queues": Filter((name,), (), queues.expanded), "hosts": hosts})
    return rule


def _is_plain(queues: Filter, families: dict[str, Family]) -> bool:
    """Whether the filter selects all queues, independent of names."""
    return queues.included in ((), ("*",)) and not any(
        queue in queues.excluded for family in families.values() for queue in family
    )


def _selects(queues: Filter | None, queue: str) -> bool:
    return queues is not None and any(matches(pattern, queue) for pattern in queues.included)


def _conflicting_quotas(objects: Objects, family: Family, families: dict[str, Family]) -> Iterator[str]:
    """The reasons against merging a family: a rule on a part of the family and on other queues, or also on hosts."""
    others = [queue for queue in objects["cluster_queue"] if queue not in family]
    for name, attributes in objects.get("resource_quota", {}).items():
        for text in attributes["limit"].split("\n"):
            queues = parse_rule(text).filters.get("queues") if text else None
            if (
                queues is None
                or _is_plain(queues, families)
                or not any(_selects(queues, queue) or queue in queues.excluded for queue in family)
            ):
                continue
            if queues.excluded or any(_selects(queues, other) for other in others) or "hosts" in parse_rule(text).filters:
                yield f'the resource quota set "{name}" has a rule on some of them: {text}'
