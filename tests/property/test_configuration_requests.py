"""Random and mutated object files through the qmaster's configuration requests: refused with a reason, or accepted whole."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from daemons.qmaster.decide import decide
from daemons.qmaster.decision import Decision, World
from daemons.qmaster.rules.memberships import membership_changes
from gridengine.config import KINDS
from gridengine.protocols.gdi.requests import REQUESTS, Caller, decode_request
from gridengine.state.apply import apply, load_state
from gridengine.state.machines.configuration import ObjectSet
from gridengine.state.state import State, decode_snapshot
from tests.default_cell import default_objects

ROOT = Caller("root", 0, "root", 0, "master")
WORLD = World(1_800_000_000.0, lambda name: name if name in ("h1", "h2", "h8") else None, "master", "root")


def _cell() -> State:
    state = State()
    for kind, name, text in default_objects(["h1", "h2"], 4):
        apply(state, ObjectSet(kind, name, text))
    more = {
        "project": {"name": "p"},
        "user": {"name": "u"},
        "calendar": {"calendar_name": "c", "week": "mon=off"},
        "checkpoint": {"ckpt_name": "k"},
        "resource_quota": {"name": "r", "limit": "users {*} to slots=3\nhosts {@allhosts} to slots=$num_proc"},
        "host_group": {"group_name": "@r", "rule": "arch=lx-* & num_proc>1"},
        "share_tree": {"nodes": "id=0\nname=Root\ntype=0\nshares=1\nchildnodes=NONE"},
    }
    for kind, changes in more.items():
        name = changes.get(KINDS[kind].key, "")
        apply(state, ObjectSet(kind, name, {**KINDS[kind].template(name).attributes(), **changes}))
    return state


STATE = _cell()
SNAPSHOT = STATE.snapshot()
EXISTING = [(kind, name, text) for kind, found in STATE.objects.items() for name, text in sorted(found.items())[:4]]
TOKENS = st.sampled_from(
    "NONE all.q @allhosts @r h1 h8 nohost 1 -1 0 slots=3 s=1 arch=lx [h1=1] [h1=2],[h1=3] 1,[@allhosts=2],[@r=3] [@no=1] "
    "1,[h1 TRUE 0:0:60 1G INFINITY x,y @a/b {} { } \\ \" $num_proc /bin/sh SIGKILL slots=2(all.q:1:sr) mon=0-24=off "
    "users {*} to a=$b*2 arch=lx&(num_proc>1 id=0 . .. global template YES <= EXCL".split(" ")
)
TEXT = TOKENS | st.text(max_size=20) | st.lists(TOKENS, max_size=4).map(" ".join) | st.lists(TOKENS, max_size=3).map(",".join)
GOOD = {
    "hostlist": ["h1", "@allhosts h8", "NONE", "@r h2"],
    "slots": ["3", "1,[h1=2]", "1,[@allhosts=2],[@r=3]", "[h2=7]"],
    "seq_no": ["7", "0,[@r=1]", "0x10"],
    "load_thresholds": ["NONE", "nla=2", "np_load_avg=1,[h1=mf=1G]"],
    "complex_values": ["s=3", "slots=3,arch=x", "NONE,[h1=h_vmem=1G]", "NONE"],
    "pe_list": ["make", "NONE", "NONE,[h1=make smp]"],
    "user_lists": ["arusers", "NONE", "NONE,[@r=arusers]"],
    "calendar": ["c", "NONE,[h1=c]"],
    "rule": ["num_proc>4", "hostname=*", "NONE"],
    "limit": ["users {*} to slots=3", "name a hosts @allhosts to s=1"],
    "week": ["mon=off", "NONE"],
    "entries": ["alice,bob", "@users", "NONE"],
    "type": ["DEPT", "ACL", "INT", "DOUBLE"],
    "consumable": ["YES", "JOB"],
    "urgency": ["3"],
    "fshare": ["5"],
    "finished_jobs": ["3"],
}
"""Values that an attribute may well have, so that many files are accepted."""


def _values(attribute: str) -> st.SearchStrategy[str]:
    return st.sampled_from(GOOD[attribute]) if attribute in GOOD else TEXT


Entries = list[tuple[str, str, int]]


@st.composite
def mutated(draw: st.DrawFn) -> tuple[str, str, Entries]:
    """Kind, name and entries of an object of the cell after a few changes of its file."""
    kind, name, text = draw(st.sampled_from(EXISTING))
    entries = [(attribute, value, number) for number, (attribute, value) in enumerate(text.items(), 1)]
    for _ in range(draw(st.integers(0, 3))):
        place = draw(st.integers(0, max(0, len(entries) - 1)))
        attribute, value, number = entries[place] if entries else ("name", "x", 1)
        change = draw(st.integers(0, 12))
        if change == 0:
            entries[place : place + 1] = []
        elif change == 1:
            entries.insert(place, (attribute, draw(TEXT), number))
        elif change == 2:
            entries[place : place + 1] = [(draw(TEXT), value, number)]
        elif change == 3:
            entries[place : place + 1] = [(attribute, f"{value},{draw(TEXT)}", number)]
        elif change == 4:
            entries[place : place + 1] = [(attribute, draw(TEXT), number)]
        elif known := [each for each in entries if each[0] in GOOD]:
            chosen = draw(st.sampled_from(known))
            entries[entries.index(chosen)] = (chosen[0], draw(_values(chosen[0])), chosen[2])
    return kind, draw(st.just(name) | TEXT), entries


def _decide(name: str, /, **fields: object) -> Decision:
    """Decide as the qmaster does; the state stays unchanged, and a refusal has a reason and no events."""
    try:
        request = decode_request(name, msgspec.json.encode(fields))
    except msgspec.DecodeError as error:
        return Decision().refuse(str(error))
    decision = decide(STATE, name, request, ROOT, WORLD)
    assert STATE.snapshot() == SNAPSHOT
    errors = [text for level, text in decision.answer.answers if level == "error"]
    if decision.answer.status:
        assert errors
    if errors and name not in ("change_users", "change_share_tree"):  # each user, each node for itself
        assert not decision.events
    return decision


def _accepted(decision: Decision) -> State:
    """The state after a decision; its events and the events of the rules must apply."""
    after = load_state(State(decode_snapshot(SNAPSHOT)))
    for event in decision.events:
        apply(after, event)
    for event in membership_changes(after):
        apply(after, event)
    assert load_state(State(decode_snapshot(after.snapshot()))).configs.keys() == after.configs.keys()
    return after


@pytest.mark.statement("GD-2", "GD-10", "CQ-33", "OB-2")
@given(mutated(), st.sampled_from(["config_add", "config_modify", "config_delete"]))
@settings(max_examples=300, deadline=None)
def test_objects_are_accepted_whole_or_refused_with_a_reason(what: tuple[str, str, Entries], verb: str) -> None:
    kind, name, entries = what
    after = _accepted(_decide(verb, kind=kind, name=name, attributes=entries))
    for changed, text in after.kind(kind).items():
        if text != STATE.kind(kind).get(changed):
            assert KINDS[kind].from_attributes(text, name=changed).attributes() == text, "what is stored reads the same"


@pytest.mark.statement("GD-5", "GD-10", "QF-1", "QF-3", "QF-4", "QF-5", "QF-8")
@given(
    st.sampled_from(["add", "delete", "modify", "replace", "purge"]),
    st.sampled_from([target for target in EXISTING if target[0] not in ("complex", "admin_host", "submit_host")]),
    st.sampled_from(["", "", "@h1", "@@allhosts", "/1", "@nohost"]),
    st.data(),
)
@settings(max_examples=300, deadline=None)
def test_attribute_verbs_change_the_attributes_named_or_nothing(
    verb: str, target: tuple[str, str, dict[str, str]], suffix: str, data: st.DataObject
) -> None:
    kind, name, text = target
    attributes = st.sampled_from(sorted(text.keys() & GOOD.keys()) or ["name"]) | st.sampled_from(list(text)) | TEXT
    named = data.draw(st.lists(attributes, min_size=1, max_size=3))
    changes = [(attribute, data.draw(_values(attribute) | TEXT)) for attribute in named]
    whole = name + suffix if kind in ("cluster_queue", "resource_quota") else name
    decision = _decide("config_attributes", verb=verb, kind=kind, name=whole, changes=changes)
    after = _accepted(decision).kind(kind).get(name, {})
    changed = {key for key in text if after.get(key) != text[key]}
    assert len(changed) <= len(changes) or verb == "purge"
    if any(level == "error" for level, _ in decision.answer.answers):
        assert not changed


@pytest.mark.statement("SP-6", "GD-10")
@given(st.lists(mutated(), max_size=4), st.booleans())
@settings(max_examples=150, deadline=None)
def test_change_sets_are_all_or_nothing(objects: list[tuple[str, str, Entries]], plan: bool) -> None:
    changes = [
        {"kind": kind, "name": name, "before": STATE.kind(kind).get(name), "after": {a: v for a, v, _ in entries} or None}
        for kind, name, entries in objects
    ]
    decision = _decide("config_change", changes=changes, plan=plan)
    assert not (plan and decision.events)
    if decision.events:
        _accepted(decision)


@pytest.mark.statement("GD-10")
@given(st.sampled_from(["add", "modify", "delete"]), st.lists(TEXT, max_size=3), st.lists(TEXT, max_size=3))
@settings(max_examples=150, deadline=None)
def test_nodes_users_and_queues_of_any_name(verb: str, first: list[str], second: list[str]) -> None:
    _accepted(_decide("change_share_tree", verb=verb, nodes=[f"{a}={b}" for a in first for b in second] + first))
    _accepted(_decide("clean_queues", queues=first))
    if verb != "modify":
        _accepted(_decide("change_users", verb=verb, users=first, lists=second))


@pytest.mark.statement("GD-10")
@given(st.sampled_from(sorted(REQUESTS)), st.binary(max_size=60) | st.text(max_size=60).map(str.encode))
@settings(max_examples=100, deadline=None)
def test_bodies_that_are_no_requests_are_refused_at_the_gate(name: str, body: bytes) -> None:
    try:
        decode_request(name, body)
    except msgspec.DecodeError as error:
        assert str(error)
