"""Cluster queues of one host each made one cluster queue with a value of its own for each host that needs one.

Owns which queues belong together, and what else of a configuration speaks of them: subordinate lists and quotas. Pure. Called by
`import_sge`. Source: IN-4; adr/0159.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from clients.admin.cell_directory import Objects
from clients.admin.refusal import Refusal
from gridengine.config.queue_resolution import resolve
from gridengine.syntax.lists import join_names, split_names
from gridengine.syntax.overrides import Overrides
from gridengine.syntax.rqs import Filter, Rule, parse_rule
from gridengine.syntax.subordinate import parse_subordinates
from gridengine.syntax.wildcard import matches

Family = dict[str, str]
"""Host by queue: queues of one host each that are to be one queue."""

#: no name for a queue of many hosts
_NO_NAME = ("", "q")


@dataclass(slots=True)
class Merged:
    """`queues`: (old name, new name, host) of each queue that has become a part of another; `remarks`: what was not merged."""

    objects: Objects
    queues: list[tuple[str, str, str]]
    remarks: list[str]


def merged(objects: Objects, wanted: dict[str, str], by_names: bool = True) -> Merged:
    """Merge queues of one host each: those that a pattern of `wanted` (by new name) means, and by_names those whose names differ
    in their host's name alone.

    Refusal: a pattern means fewer than two queues, one of several hosts, or two of one host; or the new name is taken.
    """
    result = Merged({kind: dict(named) for kind, named in objects.items()}, [], [])
    families = {name: _asked_for(objects, name, pattern) for name, pattern in wanted.items()}
    of_one = {
        queue: host for queue, host in _of_one_host(objects).items() if all(queue not in each for each in families.values())
    }
    if by_names:
        for name, family in _alike(of_one).items():
            if why_not := _reason(objects, name, family, families):
                result.remarks.append(why_not)
            else:
                families[name] = family
    for name, family in list(families.items()):
        if unclear := next(_unclear_quotas(objects, family, families), ""):
            result.remarks.append(f"queues {' '.join(family)} stay as they are: {unclear}")
            del families[name]
    new_name = {queue: name for name, family in families.items() for queue in family}
    for name, family in families.items():
        result.objects["cluster_queue"][name] = _one_queue(objects, name, family, new_name)
        for queue, host in family.items():
            result.objects["cluster_queue"].pop(queue, None) if queue != name else None
            result.queues.append((queue, name, host))
    _rename(result.objects, families, new_name)
    return result


def _of_one_host(objects: Objects) -> Family:
    listed = {name: split_names(each["hostlist"]) for name, each in objects.get("cluster_queue", {}).items()}
    return {name: hosts[0] for name, hosts in listed.items() if len(hosts) == 1 and not hosts[0].startswith("@")}


def _asked_for(objects: Objects, name: str, pattern: str) -> Family:
    queues, of_one = objects.get("cluster_queue", {}), _of_one_host(objects)
    meant = [queue for queue in queues if matches(pattern, queue)]
    if len(meant) < 2:
        raise Refusal(f"--merge {name}={pattern}: the pattern means {len(meant)} queues, two or more can be one")
    if several := [queue for queue in meant if queue not in of_one]:
        raise Refusal(f"--merge {name}={pattern}: {several[0]} is not a queue of one host")
    family = {queue: of_one[queue] for queue in meant}
    if twice := [host for host, count in Counter(family.values()).items() if count > 1]:
        raise Refusal(f"--merge {name}={pattern}: two of these queues are of the host {twice[0]}")
    if name in queues and name not in family:
        raise Refusal(f"--merge {name}={pattern}: there is a queue of this name")
    return family


def _alike(of_one: Family) -> dict[str, Family]:
    """Queues of two hosts or more whose names are alike without the names of the hosts, by that rest."""
    found: dict[str, Family] = {}
    for queue, host in of_one.items():
        word = rf"(?<![A-Za-z0-9]){re.escape(host.partition('.')[0])}(?![A-Za-z0-9])"
        left, count = re.subn(word, "", queue, count=1)
        if count:
            found.setdefault(re.sub(r"([._-])[._-]+", r"\1", left).strip("._-"), {})[queue] = host
    return {name: family for name, family in found.items() if len(family) > 1}


def _reason(objects: Objects, name: str, family: Family, others: dict[str, Family]) -> str:
    queues = " ".join(family)
    if name in _NO_NAME:
        return f"queues {queues} are of one host each: --merge NAME=PATTERN makes them one"
    if name in others or (name in objects["cluster_queue"] and name not in family):
        return f'queues {queues} stay as they are: there is a queue "{name}" already'
    if len(set(family.values())) < len(family):
        return f"queues {queues} stay as they are: two of them are of one host"
    return ""


def _one_queue(objects: Objects, name: str, family: Family, new_name: dict[str, str]) -> dict[str, str]:
    """The attributes of the queue: what most hosts have is the default, the others have tuples."""
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
    """Have the other queues and the quotas speak of the new queues."""
    for name, attributes in objects.get("cluster_queue", {}).items():
        if name not in families and any(queue in attributes["subordinate_list"] for queue in new_name):
            overrides = Overrides.parse(attributes["subordinate_list"])
            tuples = {key: _subordinates(value, new_name) for key, value in overrides.tuples.items()}
            text = str(Overrides(_subordinates(overrides.default, new_name), tuples))
            objects["cluster_queue"][name] = {**attributes, "subordinate_list": text}
    for name, attributes in objects.get("resource_quota", {}).items():
        rules = [str(_rule(parse_rule(text), families)) for text in attributes["limit"].split("\n") if text]
        objects["resource_quota"][name] = {**attributes, "limit": "\n".join(rules)}


def _rule(rule: Rule, families: dict[str, Family]) -> Rule:
    """A rule for queues of one family is one for the new queue on their hosts."""
    queues = rule.filters.get("queues")
    for name, family in families.items() if queues else ():
        meant = {queue: host for queue, host in family.items() if _means(queues, queue)}
        if queues and meant and not _is_plain(queues, families):
            hosts = Filter(tuple(meant.values()), (), queues.expanded)
            return rule._replace(filters={**rule.filters, "queues": Filter((name,), (), queues.expanded), "hosts": hosts})
    return rule


def _is_plain(queues: Filter, families: dict[str, Family]) -> bool:
    """It speaks of all queues, whatever they are called."""
    return queues.included in ((), ("*",)) and not any(
        queue in queues.excluded for family in families.values() for queue in family
    )


def _means(queues: Filter | None, queue: str) -> bool:
    return queues is not None and any(matches(pattern, queue) for pattern in queues.included)


def _unclear_quotas(objects: Objects, family: Family, families: dict[str, Family]) -> Iterator[str]:
    """Why a family cannot be one queue: a rule that speaks of some of it and of other queues, or of hosts as well."""
    others = [queue for queue in objects["cluster_queue"] if queue not in family]
    for name, attributes in objects.get("resource_quota", {}).items():
        for text in attributes["limit"].split("\n"):
            queues = parse_rule(text).filters.get("queues") if text else None
            if (
                queues is None
                or _is_plain(queues, families)
                or not any(_means(queues, queue) or queue in queues.excluded for queue in family)
            ):
                continue
            if queues.excluded or any(_means(queues, other) for other in others) or "hosts" in parse_rule(text).filters:
                yield f'the resource quota set "{name}" has a rule about some of them: {text}'
