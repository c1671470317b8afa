"""Verbs of qconf beyond whole objects: purge, search, detached settings, user lists, rules, share tree nodes, -cq."""

from __future__ import annotations

import pytest

from gridengine.protocols.delivery import Load
from gridengine.state.state_codes import instance_state_codes
from tests.harness import Cell
from tests.unit.qmaster.asking import attribute, entries, queue_text, read, texts


@pytest.fixture
def queue(cell: Cell) -> Cell:
    cell.add("host_group", "@g", hostlist="h2 h3")
    cell.configure("cluster_queue", "all.q", slots="1,[@g=2],[h3=3]", load_thresholds="NONE,[h1=load_avg=200]")
    return cell


@pytest.mark.statement("QF-8", "GD-6")
def test_purge_takes_the_tuple_of_one_identifier_out(queue: Cell) -> None:
    purge = lambda attributes, name: attribute(queue, "purge", "cluster_queue", name, attributes)  # noqa: E731
    assert texts(purge("slots", "all.q@h3")) == ['root@master modified "all.q" in cluster queue list']
    assert queue_text(queue, "slots") == "1,[@g=2]"
    again = purge("slots", "all.q@h3")
    assert (again.status, texts(again)) == (0, ['Attribute name ("slots") and/or value ("h3") not found'])
    assert queue.state.configs["all.q@h3"].slots == 2
    queue.configure("cluster_queue", "all.q", slots="1,[@g=2],[h3=3]")
    purge("slots", "all.q@@g")
    assert queue_text(queue, "slots") == "1,[h3=3]", "the group's hosts keep their own"
    queue.aliases = {"three": "h3"}
    purge("slots", "all.q@three")
    assert queue_text(queue, "slots") == "1", "by any name of the host"
    purge("*", "all.q@h1")
    assert queue_text(queue, "load_thresholds") == "NONE"


@pytest.mark.statement("QF-8")
def test_purge_needs_a_host_or_group_of_a_queue(queue: Cell) -> None:
    refused = [("cluster_queue", "all.q", "needs a host"), ("cluster_queue", "nosuch@h1", "does not exist")]
    for kind, name, reason in [*refused, ("exec_host", "h1", "only the settings")]:
        answer = attribute(queue, "purge", kind, name, "slots")
        assert answer.status == 1
        assert reason in texts(answer)[0]


@pytest.mark.statement("QF-15")
def test_search_looks_at_defaults_or_at_tuples(queue: Cell) -> None:
    search = lambda what, name, value: read(  # noqa: E731
        queue, "config_search", object=what, attribute=name, value=value
    ).data
    assert search("queue", "slots", "1") == ["all.q"]
    assert search("queue", "slots", "2") == []
    assert search("queue_domain", "sl*", "2") == ["all.q@@g"]
    assert search("queue_instance", "*", "3") == ["all.q@h3"]
    assert search("queue_instance", "load_thresholds", "load_avg*") == ["all.q@h1"]
    assert search("queue", "pe_list", "smp") == ["all.q"], "an element of a list"
    assert search("exechost", "hostname", "h*") == ["h1", "h2", "h3"]
    queue.report("h1", Load(queue.now, {"arch": "lx-amd64", "num_proc": "16"}))
    assert search("exechost", "load_values", "*num_proc=16*") == ["h1"], "as qconf -se shows it"
    assert read(queue, "config_search", object="pe", attribute="*", value="*").status == 1


@pytest.mark.statement("CQ-18", "CQ-19", "CQ-20", "QF-16", "GD-10")
def test_detached_settings_are_accepted_with_a_warning_and_listed(cell: Cell) -> None:
    assert read(cell, "config_detached").answers == []
    answer = cell.add("cluster_queue", "linux.q", hostlist="h1", seq_no="0,[h1=1],[h2=2],[@allhosts=3]")
    line = 'unused setting for attribute "seq_no" and host "h2" in queue "linux.q".'
    assert answer.status == 0
    assert texts(answer, "warning") == [line]
    listed = read(cell, "config_detached")
    assert listed.status == 1
    assert [setting[2:] for setting in listed.data] == [["@allhosts", True], ["h2", False]]  # type: ignore[attr-defined]
    assert texts(listed)[1] == line
    changed = cell.configure("cluster_queue", "linux.q", slots="7")
    assert texts(changed, "warning") == [], "what was known is not said again"


@pytest.mark.statement("CQ-13", "CQ-23", "X-3", "QI-17")
def test_an_ambiguous_change_warns_once(cell: Cell) -> None:
    cell.add("host_group", "@a", hostlist="h1 h2")
    cell.add("host_group", "@b", hostlist="h1 h2")
    answer = cell.configure("cluster_queue", "all.q", seq_no="0,[@a=1],[@b=2]")
    assert texts(answer, "warning") == [
        'warning: "seq_no" of queue "all.q" has ambiguous value ("@a", "@b") for hosts: h1 h2'
    ]
    assert instance_state_codes(cell.state, cell.state.instances["all.q@h2"]) == "c"
    cell.configure("host_group", "@b", hostlist="h1")
    assert "c" not in instance_state_codes(cell.state, cell.state.instances["all.q@h2"])
    warned = texts(cell.configure("host_group", "@b", hostlist="h1 h2 h3"), "warning")
    assert warned == ['warning: "seq_no" of queue "all.q" has ambiguous value ("@a", "@b") for hosts: h2']


@pytest.mark.statement("X-1")
def test_the_old_name_of_the_host_list_is_taken_with_a_warning(cell: Cell) -> None:
    text = {("hostname" if key == "hostlist" else key): v for key, v in cell.state.kind("cluster_queue")["all.q"].items()}
    answer = cell.admin("config_modify", kind="cluster_queue", name="all.q", attributes=entries(text))
    assert answer.status == 0
    assert '"hostlist"' in texts(answer, "warning")[0]


@pytest.mark.statement("GC-3")
def test_unknown_keys_of_parameters_are_kept_with_a_warning(cell: Cell) -> None:
    answer = cell.configure("configuration", "global", qmaster_params="NOSUCH_KEY=1")
    assert (answer.status, "NOSUCH_KEY" in texts(answer, "warning")[0]) == (0, True)
    assert cell.state.configuration_text("")["qmaster_params"] == "NOSUCH_KEY=1"


@pytest.mark.statement("QF-26", "QF-36", "US-3")
def test_users_go_into_and_out_of_access_lists(cell: Cell) -> None:
    change = lambda verb, users, lists: cell.admin("change_users", verb=verb, users=users, lists=lists)  # noqa: E731
    assert texts(change("add", ["joe", "moe"], ["mylist", "arusers"])) == [
        'added "joe" to access list "mylist"',
        'added "moe" to access list "mylist"',
        'added "joe" to access list "arusers"',
        'added "moe" to access list "arusers"',
    ]
    assert cell.state.kind("userset")["mylist"]["entries"] == "joe,moe"
    again = change("add", ["joe"], ["mylist"])
    assert (again.status, texts(again)) == (1, ['"joe" is already in access list "mylist"'])
    gone = change("delete", ["joe", "xx"], ["mylist"])
    assert gone.status == 1
    assert texts(gone) == ['deleted user "joe" from access list "mylist"', 'user "xx" is not in access list "mylist"']
    assert texts(change("delete", ["joe"], ["nosuch"])) == ['access list "nosuch" doesn\'t exist']
    assert change("add", ["joe"], ["a/b"]).status == 1
    assert cell.ask("change_users", "alice", "h1", verb="add", users=["a"], lists=["mylist"]).status == 1
    cell.admin("config_add", kind="operator", name="alice")
    assert cell.ask("change_users", "alice", "h1", verb="add", users=["a"], lists=["mylist"]).status == 0


@pytest.mark.statement("US-4")
def test_a_user_is_in_one_department_only(cell: Cell) -> None:
    cell.add("userset", "d1", type="DEPT", entries="alice")
    answer = cell.add("userset", "d2", type="DEPT", entries="alice")
    assert answer.status == 1
    assert '"alice" is already in the department "d1"' in texts(answer)[0]
    assert cell.add("userset", "a2", type="ACL", entries="alice").status == 0
    assert cell.admin("change_users", verb="add", users=["alice"], lists=["defaultdepartment"]).status == 1
    assert cell.configure("userset", "defaultdepartment").status == 0, "as it is shown"
    answer = cell.configure("userset", "defaultdepartment", entries="alice")
    assert answer.status == 1 and "must not list users" in texts(answer)[0]


RULES = "name r1 users alice to slots=3\nusers bob to slots=4"


@pytest.fixture
def quotas(cell: Cell) -> Cell:
    cell.add("resource_quota", "rq", limit=RULES)
    return cell


@pytest.mark.statement("QF-6", "QF-29", "RQ-1")
def test_limits_of_one_rule_are_changed_by_name_or_number(quotas: Cell) -> None:
    change = lambda verb, name, value: attribute(quotas, verb, "resource_quota", name, "limit", value)  # noqa: E731
    limit = lambda: quotas.state.kind("resource_quota")["rq"]["limit"].split("\n")  # noqa: E731
    change("modify", "rq/r1", "slots=9")
    change("modify", "rq/2", "slots=8")
    change("add", "rq/2", "mf=8G")
    assert limit() == ["name r1 users alice to slots=9", "users bob to slots=8,mem_free=8G"]
    change("delete", "rq/2", "mem_free")
    change("replace", "rq/1", "slots=1")
    assert limit() == ["name r1 users alice to slots=1", "users bob to slots=8"]
    for name in ("rq/7", "rq", "nosuch/1"):
        assert change("replace", name, "slots=1").status == 1
    assert texts(change("replace", "rq", "slots=1"))[0].endswith("a rule is needed: name it as rq/RULE, of r1, 2")
    assert change("delete", "rq/2", "slots").status == 1, "a rule needs a limit"
    assert attribute(quotas, "modify", "resource_quota", "rq", "enabled", "TRUE").status == 0
    assert quotas.state.kind("resource_quota")["rq"]["enabled"] == "TRUE"


@pytest.mark.statement("QF-29")
def test_replacing_all_resource_quota_sets_is_one_transaction(quotas: Cell) -> None:
    text = quotas.state.kind("resource_quota")["rq"]
    before = quotas.state.revision
    replace = lambda *sets: quotas.admin(  # noqa: E731
        "config_replace", kind="resource_quota", objects=[entries(each) for each in sets]
    )
    assert texts(replace(text, {**text, "name": "other"})) == [
        'root@master removed "rq" from resource quota set list',
        'root@master added "rq" to resource quota set list',
        'root@master added "other" to resource quota set list',
    ]
    assert quotas.state.revision == before + 1
    assert replace(text, text).status == 1, "the same name twice"
    assert replace({**text, "limit": "to nosuch=1"}).status == 1
    assert sorted(quotas.state.kind("resource_quota")) == ["other", "rq"]


@pytest.mark.statement("RQ-12")
def test_a_wrong_rule_is_refused_with_line_and_reason(cell: Cell) -> None:
    answer = cell.admin(
        "config_add",
        kind="resource_quota",
        name="x",
        attributes=[("name", "x", 2), ("enabled", "TRUE", 4), ("limit", "users alice slots=3", 5)],
    )
    assert answer.status == 1
    assert texts(answer)[0].startswith('line 5: resource quota "x", attribute "limit": the rule is wrong')


@pytest.mark.statement("RQ-12", "RQ-6")
@pytest.mark.parametrize(
    ("limit", "resource"),
    [("to slots=-1", "slots"), ("hosts {*} to slots=2,mf=-1G", "mem_free"), ("to slots=INFINITY", "slots")],
)
def test_limits_of_consumables_start_at_0(cell: Cell, limit: str, resource: str) -> None:
    cell.add("complex", "grade", shortcut="g", type="INT", relop="<=", requestable="YES", consumable="NO", default="0")
    assert cell.add("resource_quota", "below", limit="to g=-3").status == 0
    answer = cell.add("resource_quota", "x", limit=limit)
    assert answer.status == 1 and "x" not in cell.state.kind("resource_quota")
    assert f'"{resource}"' in texts(answer)[0]


@pytest.mark.statement("QF-29")
def test_quota_sets_are_shown_by_patterns(quotas: Cell) -> None:
    quotas.add("resource_quota", "other", limit="to slots=1")
    names = lambda *given: [each["name"] for each in read(quotas, "config_show", kind="resource_quota", names=list(given)).data]  # type: ignore[attr-defined]  # noqa: E731
    assert names("*") == ["other", "rq"]
    assert names("o*", "rq") == ["other", "rq"]
    assert names("x*") == []


@pytest.fixture
def tree(cell: Cell) -> Cell:
    for name in ("u1", "u2"):
        cell.add("user", name)
    cell.add("project", "p")
    return cell


def _nodes(cell: Cell, verb: str, *nodes: str) -> list[str]:
    return texts(cell.admin("change_share_tree", verb=verb, nodes=list(nodes)))


@pytest.mark.statement("QF-32", "PR-6")
def test_nodes_of_the_share_tree(tree: Cell) -> None:
    assert _nodes(tree, "add", "/u1=10", "/p=20") == ["setting \n/u1=10", "setting \n/p=20", "modified sharetree"]
    assert _nodes(tree, "add", "p.u2=5")[-1] == "modified sharetree"
    assert _nodes(tree, "modify", "/u1=3")[-1] == "modified sharetree"
    assert read(tree, "config_share_tree").data == [
        ["/", "Root", 1],
        ["/u1", "u1", 3],
        ["/p", "p", 20],
        ["/p/u2", "u2", 5],
    ]
    assert [row[0] for row in read(tree, "config_share_tree", paths=["p"]).data] == ["/p", "/p/u2"]  # type: ignore[attr-defined]
    assert texts(read(tree, "config_share_tree", paths=["/x"])) == ["Unable to locate /x in sharetree"]
    assert _nodes(tree, "delete", "/p")[-1] == "no modifications to sharetree", "it has a child"
    assert _nodes(tree, "delete", "/p/u2") == ["removing \n/p/u2", "modified sharetree"]


@pytest.mark.statement("QF-32")
def test_each_node_of_a_call_is_for_itself(tree: Cell) -> None:
    _nodes(tree, "add", "/u1=10", "/u2=20")
    missing = "Unable to locate /x in sharetree"
    assert _nodes(tree, "add", "/u1=11", "/x/y=2", "/p=5") == [
        "setting \n/u1=11", missing, "setting \n/p=5", "modified sharetree"
    ]
    answer = tree.admin("change_share_tree", verb="delete", nodes=["/x", "/u2", "/u2"])
    assert texts(answer) == [missing, "removing \n/u2", "Unable to locate /u2 in sharetree", "modified sharetree"]
    assert answer.status == 1, "not all of it was done"
    assert [row[0] for row in read(tree, "config_share_tree").data] == ["/", "/u1", "/p"]  # type: ignore[attr-defined]
    assert _nodes(tree, "delete", "/x", "/") == [missing, "Unable to locate / in sharetree", "no modifications to sharetree"]


@pytest.mark.statement("QF-32", "US-8")
def test_nodes_that_cannot_be_so(tree: Cell) -> None:
    assert texts(read(tree, "config_share_tree")) == ["No sharetree"]
    assert _nodes(tree, "modify", "/u1=1") == ["No sharetree"]
    assert "does not exist" in _nodes(tree, "add", "/nobody=1")[0]
    _nodes(tree, "add", "/u1=1")
    for node in ("/a/b=5", "/u1", "/u1=x", "/u1=-1"):
        assert _nodes(tree, "add", node)[-1] == "no modifications to sharetree"
    assert 'still referenced in sharetree' in texts(tree.admin("config_delete", kind="user", name="u1"))[0]
    assert texts(tree.admin("config_delete", kind="share_tree", name="share_tree")) == [
        "root@master removed sharetree list"
    ]
    assert tree.admin("config_delete", kind="share_tree", name="share_tree").status == 1


@pytest.mark.statement("QF-14", "QF-36", "CX-46", "AC-1")
def test_cleaning_a_queue_ends_what_runs_there_and_keeps_its_record(cell: Cell) -> None:
    here = cell.submit(hard_queues=["all.q@h1"])
    there = cell.submit(hard_queues=["all.q@h2"])
    cell.cycle()
    answer = cell.admin("clean_queues", queues=["all.q@h1", "nosuch"])
    assert texts(answer) == ['root@master purged queue "all.q@h1"', 'invalid queue or job "nosuch"']
    assert here not in cell.state.jobs
    assert there in cell.state.jobs
    assert [record.failed for record in cell.records(here)] == ["37"]
    assert cell.state.bookings.slots("all.q@h1") == 0
    assert cell.inventory("h1")[0].forget == [(here, 1, 1)], "its host is told to kill it"
    assert cell.ask("clean_queues", "alice", "h1", queues=["all.q"]).status == 1


@pytest.mark.statement("QF-30")
def test_configurations_of_hosts(cell: Cell) -> None:
    make = lambda verb, name, **text: cell.admin(  # noqa: E731
        verb, kind="configuration", name=name, attributes=entries(text)
    )
    assert texts(make("config_add", "h1", mailer="/bin/mail")) == ['root@master added "h1" to configuration list']
    assert texts(make("config_add", "h1", mailer="/bin/mail")) == ["configuration h1 already exists"]
    assert texts(make("config_modify", "h1", mailer="/bin/m")) == ['root@master modified "h1" in configuration list']
    assert make("config_add", "nohost", mailer="/bin/mail").status == 1
    assert make("config_add", "h2", finished_jobs="3").status == 1, "only for the whole cell"
    remove = lambda name: cell.admin("config_delete", kind="configuration", name=name)  # noqa: E731
    for _ in range(2):
        assert texts(remove("h1")) == ['root@master removed "h1" from configuration list']
    kept = remove("global")
    assert (kept.status, texts(kept)) == (0, ['can\'t delete configuration "global" from list'])
    assert cell.state.has("configuration", "global")


@pytest.mark.statement("QF-23", "QF-24", "GC-5")
def test_hosts_are_known_by_their_unique_names(cell: Cell) -> None:
    aliases = {"h1.example": "h1", "h2.example": "h2", "h9.example": "h9"}
    resolve = cell.master.world().resolve_host
    world = cell.master.world
    cell.master.world = lambda: _with(world(), lambda name: aliases.get(name) or resolve(name))
    cell.add("host_group", "@x", hostlist="h1.example")
    assert cell.state.kind("host_group")["@x"]["hostlist"] == "h1"
    cell.configure("cluster_queue", "all.q", slots="1,[h2.example=5]")
    assert queue_text(cell, "slots") == "1,[h2=5]"
    attribute(cell, "modify", "cluster_queue", "all.q@h1.example", "slots", "3")
    assert cell.state.configs["all.q@h1"].slots == 3
    assert texts(cell.admin("config_add", kind="submit_host", name="h1.example")) == ['submithost "h1" already exists']
    assert cell.add("exec_host", "h9.example").status == 0
    assert cell.state.kind("exec_host")["h9"]["hostname"] == "h9"
    removed = cell.admin("config_delete", kind="exec_host", name="h9.example")
    assert texts(removed) == ['root@master removed "h9" from execution host list']


@pytest.mark.statement("GC-5", "CQ-40", "QM-1")
def test_an_alias_or_address_of_a_host_means_it_wherever_jobs_and_queues_are_asked_for(cell: Cell) -> None:
    names = {"10.88.0.14": "h1", "h1.example": "h1"}
    resolve = cell.master.world().resolve_host
    world = cell.master.world
    cell.master.world = lambda: _with(world(), lambda name: names.get(name) or resolve(name))
    for name in names:
        job = cell.submit(hard_queues=[f"all.q@{name}", "all.q@h2"], hard=[f"hostname={name}"])
        assert cell.state.jobs[job].hard_queues == ("all.q@h1", "all.q@h2")
        assert cell.state.jobs[job].hard == {"hostname": "h1"}
        assert cell.admin("change_states", what="queue", action="disable", targets=[f"all.q@{name}"]).status == 0
        assert cell.state.instances["all.q@h1"].disabled
        assert cell.admin("change_states", what="queue", action="enable", targets=[f"all.q@{name}"]).status == 0
        selections = ({"queues": [f"all.q@{name}"]}, {"requests": [f"h={name}"]})
        listings = [("queues", {"select": select}, "all.q@h1") for select in selections]
        listings.append(("hosts", {"hosts": [name]}, "h1"))
        for part, body, shown in listings:
            rows = read(cell, "status", **{part: body}).data[part]
            assert [row["name"] for row in rows if row["name"] != "global"] == [shown], (part, body)
    cell.add("host_group", "@y", hostlist="10.88.0.14")
    assert cell.state.kind("host_group")["@y"]["hostlist"] == "h1"
    attribute(cell, "replace", "cluster_queue", "all.q", "slots", "4,[10.88.0.14=7]")
    assert queue_text(cell, "slots") == "4,[h1=7]"


def _with(world, resolve):  # type: ignore[no-untyped-def]
    world.resolve_host = resolve
    return world


@pytest.mark.statement("GD-9", "CX-14")
def test_single_complexes_are_added_and_removed(cell: Cell) -> None:
    row = {**cell.state.kind("complex")["h_rt"], "name": "gpu", "shortcut": "g", "type": "INT", "default": "0"}
    put = lambda row: cell.admin("config_add", kind="complex", name=row["name"], attributes=entries(row))  # noqa: E731
    assert texts(put(row)) == ['root@master added "gpu" to complex entry list']
    assert texts(put({**row, "urgency": "5"})) == ['root@master modified "gpu" in complex entry list']
    assert len(cell.state.kind("complex")) > 50
    remove = lambda name: cell.admin("config_delete", kind="complex", name=name)  # noqa: E731
    assert texts(remove("gpu")) == ['root@master removed "gpu" from complex list']
    assert remove("arch").status == 1


@pytest.mark.statement("QF-31", "QF-32", "QF-37")
def test_the_objects_of_which_there_is_one(tree: Cell) -> None:
    write = lambda verb, kind, text: tree.admin(verb, kind=kind, name=kind, attributes=entries(text))  # noqa: E731
    scheduler = tree.state.kind("scheduler")[""]
    assert texts(write("config_modify", "scheduler", {**scheduler, "maxujobs": "5"})) == ["changed scheduler configuration"]
    assert tree.state.scheduler.maxujobs == 5
    assert tree.admin("config_delete", kind="scheduler", name="scheduler").status == 1
    nodes = {"nodes": "id=0\nname=Root\ntype=0\nshares=1\nchildnodes=1\nid=1\nname=u1\ntype=0\nshares=10\nchildnodes=NONE"}
    for verb in ("config_add", "config_add", "config_modify"):
        assert texts(write(verb, "share_tree", nodes)) == ["changed sharetree"]
    unknown = write("config_modify", "share_tree", {"nodes": nodes["nodes"].replace("u1", "nobody")})
    assert (unknown.status, 'user "nobody" does not exist' in texts(unknown)[0]) == (1, True)
