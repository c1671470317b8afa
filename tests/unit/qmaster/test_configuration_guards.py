"""Objects in use are not broken: objects that other objects or jobs need, values that do not fit, changes of many at once."""

from __future__ import annotations

import pytest

from gridengine.config import KINDS
from gridengine.state.state_codes import instance_state_codes
from tests.harness import Cell
from tests.unit.qmaster.asking import attribute, entries, queue_text, texts


def _complex(cell: Cell, **columns: str):  # type: ignore[no-untyped-def]
    row = {**cell.state.kind("complex")["h_rt"], "name": "lic", "shortcut": "l", "type": "INT", "default": "0"}
    row |= {"consumable": "YES", **columns}
    return cell.admin("config_add", kind="complex", name="lic", attributes=entries(row))


@pytest.mark.statement("CX-16", "CX-17", "US-8")
def test_a_complex_that_jobs_request_stays_as_it_is(cell: Cell) -> None:
    _complex(cell)
    attribute(cell, "modify", "exec_host", "global", "complex_values", "lic=5")
    job = cell.submit(hard=["lic=1"])
    cell.cycle()
    assert _complex(cell, urgency="7").status == 0
    for change in ({"consumable": "NO"}, {"consumable": "JOB"}, {"type": "DOUBLE"}):
        answer = _complex(cell, **change)
        assert answer.status == 1
        assert f"job {job} requests it" in texts(answer)[0]
    attribute(cell, "replace", "exec_host", "global", "complex_values", "NONE")
    remove = lambda: cell.admin("config_delete", kind="complex", name="lic")  # noqa: E731
    assert texts(remove()) == [f'denied: complex attribute "lic" is still referenced in job {job}']
    cell.end(job)
    assert _complex(cell, consumable="JOB").status == 0
    assert remove().status == 0


@pytest.mark.statement("CX-16")
@pytest.mark.parametrize(
    ("kind", "name", "changes", "user"),
    [
        ("cluster_queue", "all.q", {"complex_values": "NONE,[h2=lic=3]"}, 'cluster queue "all.q"'),
        ("cluster_queue", "all.q", {"load_thresholds": "lic=3"}, 'cluster queue "all.q"'),
        ("exec_host", "global", {"complex_values": "lic=3"}, 'exechost "global"'),
        ("exec_host", "h1", {"report_variables": "lic"}, 'exechost "h1"'),
    ],
)
def test_a_complex_that_is_configured_is_not_removed(
    cell: Cell, kind: str, name: str, changes: dict[str, str], user: str
) -> None:
    _complex(cell)
    assert cell.configure(kind, name, **changes).status == 0
    answer = cell.admin("config_delete", kind="complex", name="lic")
    assert texts(answer) == [f'denied: complex attribute "lic" is still referenced in {user}']


@pytest.mark.statement("CX-16", "RQ-6")
def test_a_complex_that_a_quota_limits_is_not_removed(cell: Cell) -> None:
    _complex(cell)
    cell.add("resource_quota", "rq", limit="users {*} to l=3")
    assert cell.state.kind("resource_quota")["rq"]["limit"] == "users {*} to lic=3", "shortcuts become names"
    answer = cell.admin("config_delete", kind="complex", name="lic")
    assert 'resource quota set "rq"' in texts(answer)[0]


@pytest.mark.statement("CX-4", "CX-45", "QC-34", "CX-2")
@pytest.mark.parametrize(
    ("kind", "name", "attribute_name", "value", "text"),
    [
        ("exec_host", "h1", "complex_values", "slots=abc", "INT"),
        ("exec_host", "h1", "complex_values", "nosuch=1", '"nosuch" does not exist'),
        ("exec_host", "h1", "complex_values", "s=1,slots=2", "given twice"),
        ("exec_host", "h1", "complex_values", "slots=-1", "consumable"),
        ("exec_host", "h1", "complex_values", "slots=INFINITY", "consumable"),
        ("cluster_queue", "all.q", "complex_values", "slots=1,[h1=slots=-1]", "consumable"),
        ("cluster_queue", "all.q", "complex_values", "h_vmem=1,[h1=h_vmem=lots]", "MEMORY"),
        ("cluster_queue", "all.q", "load_thresholds", "np_load_avg=high", "DOUBLE"),
        ("cluster_queue", "all.q", "suspend_thresholds", "nosuch=1", '"nosuch" does not exist'),
    ],
)
def test_values_of_complexes_must_fit_their_type(
    cell: Cell, kind: str, name: str, attribute_name: str, value: str, text: str
) -> None:
    before = cell.state.kind(kind)[name]
    answer = cell.configure(kind, name, **{attribute_name: value})
    assert answer.status == 1
    assert text in texts(answer)[0]
    assert cell.state.kind(kind)[name] == before


@pytest.mark.statement("CX-2", "QF-4")
def test_a_shortcut_names_the_same_attribute(cell: Cell) -> None:
    for value in ("re=false", "re=true"):
        assert attribute(cell, "modify", "exec_host", "global", "complex_values", value).status == 0
    assert cell.state.kind("exec_host")["global"]["complex_values"] == "rerun=true"
    attribute(cell, "modify", "cluster_queue", "all.q", "load_thresholds", "[h1=nla=2],[h2=mf=1G]")
    assert queue_text(cell, "load_thresholds") == "NONE,[h1=np_load_avg=2],[h2=mem_free=1G]"
    attribute(cell, "delete", "exec_host", "global", "complex_values", "re")
    assert cell.state.kind("exec_host")["global"]["complex_values"] == "NONE"


@pytest.mark.statement("US-8", "QF-20", "QF-21", "QF-28", "QF-11")
@pytest.mark.parametrize(
    ("kind", "name", "request_fields"),
    [
        ("parallel_environment", "xpe", {"pe": "xpe", "pe_range": "2"}),
        ("project", "xpr", {"project": "xpr"}),
        ("checkpoint", "xck", {"checkpoint": "xck"}),
    ],
)
def test_objects_requested_by_a_job_are_not_removed(
    cell: Cell, kind: str, name: str, request_fields: dict[str, str]
) -> None:
    cell.add(kind, name)
    if kind != "project":
        fields = {"parallel_environment": "pe_list", "checkpoint": "ckpt_list"}
        attribute(cell, "add", "cluster_queue", "all.q", fields[kind], name)
    job = cell.submit(holds="u", **request_fields)
    if kind != "project":
        attribute(cell, "delete", "cluster_queue", "all.q", fields[kind], name)
    remove = lambda: cell.admin("config_delete", kind=kind, name=name)  # noqa: E731
    assert texts(remove())[0].endswith(f'"{name}" is still referenced in job {job}')
    cell.ask("delete_jobs", targets=[str(job)])
    assert remove().status == 0


@pytest.mark.statement("US-8", "QF-26", "QF-28")
@pytest.mark.parametrize(
    ("kind", "name", "user_kind", "user", "changes"),
    [
        ("userset", "acl", "cluster_queue", "all.q", {"xuser_lists": "NONE,[h1=acl]"}),
        ("userset", "acl", "exec_host", "h1", {"user_lists": "acl"}),
        ("userset", "acl", "parallel_environment", "smp", {"user_lists": "acl"}),
        ("userset", "acl", "configuration", "global", {"xuser_lists": "acl"}),
        ("project", "pro", "cluster_queue", "all.q", {"projects": "pro"}),
        ("project", "pro", "user", "u", {"default_project": "pro"}),
        ("checkpoint", "ck", "cluster_queue", "all.q", {"ckpt_list": "ck"}),
        ("cluster_queue", "sub.q", "cluster_queue", "all.q", {"subordinate_list": "sub.q=1"}),
        ("host_group", "@g", "cluster_queue", "all.q", {"seq_no": "0,[@g=1]"}),
        ("host_group", "@g", "host_group", "@allhosts", {"hostlist": "@g h1"}),
        ("host_group", "@g", "resource_quota", "rq", {"limit": "hosts {@g} to slots=1"}),
    ],
)
def test_objects_named_by_an_object_are_not_removed(
    cell: Cell, kind: str, name: str, user_kind: str, user: str, changes: dict[str, str]
) -> None:
    cell.add(kind, name)
    if user not in cell.state.kind(user_kind):
        cell.add(user_kind, user)
    assert cell.configure(user_kind, user, **changes).status == 0
    answer = cell.admin("config_delete", kind=kind, name=name)
    assert answer.status == 1
    assert f'is still referenced in {texts(answer)[0].split(" in ")[-1]}' in texts(answer)[0]
    assert f'"{user}"' in texts(answer)[0]


@pytest.mark.statement("QF-23", "CQ-29")
def test_an_exec_host_with_jobs_is_not_removed(cell: Cell) -> None:
    job = cell.submit(hard_queues=["all.q@h1"])
    cell.cycle()
    cell.configure("host_group", "@allhosts", hostlist="h2")
    assert instance_state_codes(cell.state, cell.state.instances["all.q@h1"]) == "o"
    remove = lambda: cell.admin("config_delete", kind="exec_host", name="h1")  # noqa: E731
    assert texts(remove()) == ['denied: there are still jobs on host "h1"']
    cell.end(job)
    assert "all.q@h1" not in cell.state.instances
    assert remove().status == 0
    assert cell.admin("config_delete", kind="exec_host", name="global").status == 1


@pytest.mark.statement("QC-41", "QC-40", "CX-48")
def test_slots_may_be_lowered_below_what_is_in_use(cell: Cell) -> None:
    jobs = [cell.submit(hard_queues=["all.q@h1"]) for _ in range(3)]
    cell.cycle()
    assert attribute(cell, "modify", "cluster_queue", "all.q@h1", "slots", "1").status == 0
    waiting = cell.submit(hard_queues=["all.q@h1"])
    for job in jobs[:2]:
        cell.end(job)
        cell.cycle()
        assert not cell.placed(waiting)
    cell.end(jobs[2])
    cell.cycle()
    assert cell.placed(waiting)


@pytest.mark.statement("SU-18", "SU-6")
def test_slot_wise_subordination_must_be_a_tree(cell: Cell) -> None:
    for name in ("b.q", "c.q"):
        cell.add("cluster_queue", name, hostlist="h1")
    assert cell.configure("cluster_queue", "all.q", subordinate_list="slots=2(c.q:1:sr)").status == 0
    answer = cell.configure("cluster_queue", "b.q", subordinate_list="slots=2(c.q:1:sr)")
    assert answer.status == 1
    assert "already a slot-wise subordinate" in texts(answer)[0]


@pytest.mark.statement("SU-18")
def test_queues_of_different_hosts_are_of_different_trees(cell: Cell) -> None:
    for name, host in (("a.q", "h1"), ("b.q", "h2"), ("low.q", "h1 h2")):
        cell.add("cluster_queue", name, hostlist=host)
    for name in ("a.q", "b.q"):
        assert cell.configure("cluster_queue", name, subordinate_list="slots=2(low.q:1:sr)").status == 0, name
    answer = cell.configure("cluster_queue", "b.q", hostlist="h1 h2")
    assert texts(answer)[0].endswith('"low.q" is already a slot-wise subordinate of "a.q"')


@pytest.mark.statement("SU-18")
def test_two_queues_cannot_be_slot_wise_subordinates_of_each_other(cell: Cell) -> None:
    for name in ("a.q", "b.q"):
        cell.add("cluster_queue", name, hostlist="h1")
    assert cell.admin("config_delete", kind="cluster_queue", name="all.q").status == 0
    assert cell.configure("cluster_queue", "a.q", subordinate_list="slots=2(b.q:1:sr)").status == 0
    answer = cell.configure("cluster_queue", "b.q", subordinate_list="slots=2(a.q:1:sr)")
    assert texts(answer)[0].endswith("would be a slot-wise subordinate of itself")


@pytest.mark.statement("CQ-28", "QF-11")
def test_hosts_that_a_queue_names_become_exec_hosts(cell: Cell) -> None:
    cell.add("host_group", "@new", hostlist="h9")
    cell.configure("exec_host", "h1", complex_values="slots=3")
    assert cell.add("cluster_queue", "new.q", hostlist="h8 h1 @new").status == 0
    assert cell.state.kind("exec_host")["h1"]["complex_values"] == "slots=3", "one that was there is left as it is"
    assert {"new.q@h8", "new.q@h9"} <= set(cell.state.instances)
    assert {"h8", "h9"} <= set(cell.state.kind("exec_host"))


@pytest.mark.statement("GD-10")
def test_kinds_that_do_not_exist_are_refused(cell: Cell) -> None:
    for verb in ("config_add", "config_modify", "config_delete"):
        assert cell.admin(verb, kind="complex_list", name="x").status == 1
    assert attribute(cell, "add", "nosuch", "x", "y", "z").status == 1


@pytest.mark.statement("GD-2", "GD-9", "QF-9")
def test_a_thousand_objects_take_no_more_than_their_number(cell: Cell) -> None:
    """No change looks at every object: the work is counted, not timed."""
    import gridengine.config.objects as objects

    cell.add("host_group", "@big", hostlist="NONE")
    made = 0
    build = objects.ConfigObject._build.__func__  # type: ignore[attr-defined]

    def counting(cls, *arguments):  # type: ignore[no-untyped-def]
        nonlocal made
        made += 1
        return build(cls, *arguments)

    for number in range(300):
        cell.add("project", f"p{number}")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(objects.ConfigObject, "_build", classmethod(counting))
        cell.add("project", "one")
        cell.admin("config_delete", kind="project", name="one")
        attribute(cell, "modify", "cluster_queue", "all.q", "slots", "7")
    assert made < 10


@pytest.mark.statement("LS-6", "CX-4")
@pytest.mark.parametrize("value", ["np_load_avg=x", "la=0.5,mem_free=much"])
def test_load_adjustments_are_values_of_their_types_so_that_the_scheduler_can_go_on(cell: Cell, value: str) -> None:
    answer = cell.configure("scheduler", "", job_load_adjustments=value)
    assert answer.status == 1 and "is of the type" in texts(answer)[0]
    assert cell.configure("scheduler", "", job_load_adjustments="la=0.5,mem_free=1G").status == 0
    assert cell.state.kind("scheduler")[""]["job_load_adjustments"] == "load_avg=0.5,mem_free=1G"
    job = cell.submit()
    cell.cycle()
    assert cell.placed(job)


@pytest.mark.statement("US-1", "US-2")
def test_users_and_projects_share_their_names(cell: Cell) -> None:
    cell.add("project", "one")
    answer = cell.admin("config_add", kind="user", name="one", attributes=entries(KINDS["user"].template("one").attributes()))
    assert answer.status == 1 and 'project "one"' in texts(answer)[0]
    assert not cell.state.has("user", "one")


@pytest.mark.statement("US-1", "US-2")
@pytest.mark.parametrize("kind", ["user", "project"])
def test_the_share_tree_has_its_own_default(cell: Cell, kind: str) -> None:
    answer = cell.admin("config_add", kind=kind, name="default", attributes=entries(KINDS[kind].template("default").attributes()))
    assert answer.status == 1 and "all users without a node" in texts(answer)[0]
    assert not cell.state.has(kind, "default")


@pytest.mark.statement("LS-7")
def test_a_load_formula_adds_numbers(cell: Cell) -> None:
    answer = cell.configure("scheduler", "", load_formula="np_load_avg+arch")
    assert answer.status == 1 and '"arch" is of the type STRING' in texts(answer)[0]
    assert cell.configure("scheduler", "", load_formula="-slots").status == 0


@pytest.mark.statement("RQ-6")
def test_a_dynamic_limit_adds_numbers(cell: Cell) -> None:
    answer = cell.add("resource_quota", "rq", limit="hosts {*} to slots=$arch*2")
    assert answer.status == 1 and '"arch" is of the type STRING, not a number' in texts(answer)[0]
    assert cell.add("resource_quota", "rq", limit="hosts {*} to slots=$num_proc*2").status == 0


@pytest.mark.statement("JV-1", "GC-1")
def test_a_verifier_that_cannot_be_run_is_refused_when_it_is_new(cell: Cell) -> None:
    cell.missing_programs = {"/opt/gone"}
    answer = cell.configure("configuration", "global", jsv_url="script:admin@/opt/gone")
    assert answer.status == 1 and 'JSV "/opt/gone" is either not a file or not executable' in texts(answer)[0]
    assert cell.configure("configuration", "global", jsv_url="script:/opt/jsv").status == 0
    cell.missing_programs.add("/opt/jsv")
    assert cell.configure("configuration", "global", max_u_jobs="5").status == 0, "what is set stays changeable"
    assert cell.configure("configuration", "global", jsv_url="script:/opt/jsv", jsv_allowed_mod="N").status == 0
    cell.missing_programs.add("none")
    assert cell.configure("configuration", "global", jsv_url="none").status == 0, "and can be taken away"
