"""qalter: its changes, its refusals, and the messages for both."""

from __future__ import annotations

from datetime import UTC
from typing import Any

import pytest

from daemons.qmaster.queries.explanation import explain_jobs
from gridengine.protocols.gdi.requests import Caller
from gridengine.state.bookings import Holder
from tests.harness import Cell


def alter(cell: Cell, target: object, user: str = "alice", verify: str = "n", **changes: Any) -> tuple[int, list[str]]:
    answer = cell.ask("alter_jobs", user, targets=[str(target)], changes=changes, verify=verify)
    return answer.status, [text for _, text in answer.answers]


@pytest.mark.statement("SO-42", "SO-18")
def test_messages_come_in_a_fixed_order_and_lists_are_replaced(cell: Cell) -> None:
    job = cell.submit(holds="u", hard=["h_rt=3600", "mem_free=1G"])
    status, texts = alter(cell, job, hard=["h_rt=100"], name="x", account="acc", mail_options="e", stdout=[["", "/tmp/x"]])
    assert status == 0
    assert texts == [
        f"modified account of job {job}",
        f"modified hard resource list of job {job}",
        f"modified mail options of job {job}",
        f"modified job name of job {job}",
        f"modified stdout path list of job {job}",
    ]
    assert cell.state.jobs[job].hard == {"h_rt": "100"}
    assert cell.state.jobs[job].name == "x"


@pytest.mark.statement("SO-42", "ST-20")
def test_the_version_counts_changes_and_survives(cell: Cell) -> None:
    job = cell.submit()
    for name in "abc":
        alter(cell, job, name=name)
    cell.restart()
    assert (cell.state.jobs[job].version, cell.state.jobs[job].name) == (3, "c")


@pytest.mark.statement("SO-42", "SO-49", "ST-20")
def test_holds_count_as_changes_but_priority_and_share_do_not(cell: Cell) -> None:
    job = cell.submit()
    alter(cell, job, "root", priority=-5, job_share=5)
    assert cell.state.jobs[job].version == 0
    for release in (False, True):
        cell.ask("hold_jobs", "alice", targets=[str(job)], release=release)
    assert cell.state.jobs[job].version == 2


@pytest.mark.statement("SO-42")
def test_priority_job_share_and_tickets_name_who_set_them(cell: Cell) -> None:
    job = cell.submit()
    assert alter(cell, job, priority=-10) == (0, [f"alice@h1 sets scheduling priority of job {job} to -10"])
    assert alter(cell, job, job_share=5) == (0, [f"alice@h1 sets job share of job {job} to 5"])
    assert alter(cell, job, "root", override_tickets=7)[0] == 0
    assert cell.state.jobs[job].override_tickets == 7


@pytest.mark.statement("SO-27", "SO-25", "SO-11")
def test_rights_of_single_options(cell: Cell) -> None:
    job = cell.submit(priority=-10)
    assert alter(cell, job, priority=-5) == (1, ['denied: "alice" must be operator to increase job priority'])
    assert alter(cell, job, priority=-10)[0] == 0, "the same is no increase"
    assert alter(cell, job, priority=-20)[0] == 0
    assert alter(cell, job, "root", priority=10)[0] == 0
    assert alter(cell, job, override_tickets=1)[0] == 1
    assert "deadline initiation user" in alter(cell, job, deadline=cell.now + 60)[1][0]
    assert alter(cell, job, deadline=0.0)[0] == 0


@pytest.mark.statement("SO-44")
def test_targets_by_number_name_pattern_and_user(cell: Cell) -> None:
    one, two = cell.submit(name="one"), cell.submit(name="other")
    strange = cell.submit("bob", name="only")
    assert alter(cell, "o*", account="x") == (0, [f"modified account of job {one}", f"modified account of job {two}"])
    assert cell.state.jobs[strange].account == "sge", "patterns mean own jobs"
    answer = cell.admin("alter_jobs", targets=[], users=["bob"], changes={"account": "y"})
    assert (answer.status, cell.state.jobs[strange].account) == (0, "y")
    assert alter(cell, strange, name="z") == (
        1,
        [f'denied: "alice" must be at least owner of job {strange} to change job attributes'],
    )
    assert alter(cell, 99, name="z") == (1, ['denied: job "99" does not exist'])
    assert cell.ask("alter_jobs", targets=[], users=["eve"], changes={"name": "x"}).answers == [
        ("error", "The job * of user(s) eve does not exist")
    ]


@pytest.mark.statement("SO-44")
def test_only_holds_go_by_task(cell: Cell) -> None:
    job = cell.submit(tasks="1-5", holds="u")
    text = "denied: the selected option works only on jobs and not on tasks"
    assert alter(cell, f"{job}.2", name="x") == (4, [text])
    assert alter(cell, f"{job}.2", verify="p") == (4, [text])
    assert alter(cell, f"{job}.2", holds="U") == (0, [f"modified hold of job-array task {job}.2"])
    assert str(cell.state.jobs[job].holds[1]) == "1,3-5:1"


@pytest.mark.statement("SO-13")
def test_hold_types_of_qalter(cell: Cell) -> None:
    job = cell.submit(tasks="1-6", holds="u")
    assert alter(cell, f"{job}.3", holds="s") == (1, ['denied: "alice" must be manager to set manager hold'])
    assert alter(cell, f"{job}.3", "root", holds="s") == (0, [f"modified hold of job-array task {job}.3"])
    assert alter(cell, job, holds="O") == (0, []), "nothing to remove is nothing to be denied"
    assert alter(cell, f"{job}.3", holds="n") == (1, ['denied: "alice" must be manager to remove manager hold'])
    assert alter(cell, f"{job}.4", holds="n")[0] == 1, "n names all three kinds"
    assert alter(cell, f"{job}.4", holds="UO") == (1, ['denied: "alice" must be operator to remove operator hold'])
    assert alter(cell, f"{job}.4", holds="U") == (0, [f"modified hold of job-array task {job}.4"])
    assert alter(cell, f"{job}.4", holds="n") == (0, []), "nothing to remove is nothing to be denied"
    assert alter(cell, job, "root", holds="n")[0] == 0
    assert not cell.state.jobs[job].holds


@pytest.mark.statement("SO-5", "SO-36", "SO-42")
@pytest.mark.parametrize("change", [{"tasks": "1-3"}, {"script": "x"}, {"binary": True}, {"now": True}])
def test_fixed_fields_cannot_be_changed(cell: Cell, change: dict[str, Any]) -> None:
    job = cell.submit()
    status, texts = alter(cell, job, **change)
    assert status == 1
    assert "cannot be changed" in texts[0]
    assert cell.state.jobs[job].version == 0


@pytest.mark.statement("SO-42")
@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"hard_queues": ["nosuch"]}, 'Job was rejected because job requests unknown queue "nosuch"'),
        ({"hard": ["nosuch=1"]}, 'unknown resource "nosuch"'),
        ({"name": "1x"}, 'denied: "1x" is not a valid object name (cannot start with a digit)'),
        ({"project": "nosuch"}, 'job rejected: the requested project "nosuch" does not exist'),
        ({"pe": "nosuch", "pe_range": "1"}, 'job rejected: the requested parallel environment "nosuch" does not exist'),
        ({"master_queues": ["all.q"]}, "job rejected: a master queue (-masterq) is for parallel jobs (-pe) only"),
        ({"nosuch": 1}, "denied: malformed request alter_jobs: there is no field \"nosuch\""),
        ({"priority": "high"}, "denied: malformed request alter_jobs: priority: a whole number is expected, not a text"),
    ],
)
def test_a_change_is_checked_like_a_submission(cell: Cell, change: dict[str, Any], text: str) -> None:
    job = cell.submit()
    assert alter(cell, job, **change) == (1, [text])
    assert cell.state.jobs[job].version == 0


@pytest.mark.statement("SO-42")
def test_unchanged_fields_are_not_checked_again(cell: Cell) -> None:
    cell.add("cluster_queue", "other.q", hostlist="h1")
    job = cell.submit(hard_queues=["other.q"])
    assert cell.admin("config_delete", kind="cluster_queue", name="other.q").status == 0
    assert alter(cell, job, name="still")[0] == 0


@pytest.mark.statement("SO-2")
def test_context_changes_in_their_order(cell: Cell) -> None:
    job = cell.submit(context={"a": "1", "b": "2"})
    changes = [["dc", "a", ""], ["ac", "c", "3"]]
    assert alter(cell, job, context_changes=changes) == (0, [f"modified context of job {job}"])
    assert cell.state.jobs[job].context == {"b": "2", "c": "3"}
    alter(cell, job, context_changes=[["sc", "", ""], ["ac", "z", "9"]])
    assert cell.state.jobs[job].context == {"z": "9"}


@pytest.mark.statement("SO-39")
def test_exported_variables_are_replaced_and_the_origin_stays(cell: Cell) -> None:
    environment = {"A": "1", "SGE_O_HOME": "/home/alice"}
    job = cell.submit(environment=environment, environment_names=["A"], binary=False, script="true\n")
    assert alter(cell, job, environment={"B": "2\n3"}, environment_names=["B"])[1] == [f"modified environment of job {job}"]
    cell.restart()
    payload = cell.master.spool.payload(job)
    assert payload.environment == {"SGE_O_HOME": "/home/alice", "B": "2\n3"}
    assert payload.script == b"true\n"


def test_a_job_can_be_changed_before_its_submission_is_on_disk(cell: Cell) -> None:
    cell.undecided("submit", {"binary": False, "script": "true\n", "environment": {"A": "1"}})
    assert alter(cell, 1, environment={"B": "2"}, environment_names=["B"])[0] == 0
    assert cell.master.spool.payload(1).script == b"true\n"


@pytest.mark.statement("SO-42", "SO-43")
def test_running_jobs_change_but_not_what_they_hold(cell: Cell) -> None:
    row = {**cell.state.kind("complex")["h_vmem"], "name": "room", "shortcut": "room", "consumable": "YES"}
    entries = [(attribute, value, 1) for attribute, value in row.items()]
    assert cell.admin("config_add", kind="complex", name="room", attributes=entries).status == 0
    cell.configure("exec_host", "h1", complex_values="room=8G")
    job = cell.submit(hard=["room=1G", "h_rt=100"], hard_queues=["all.q@h1"])
    cell.cycle()
    assert cell.placed(job)
    for change in (
        {"context_changes": [["ac", "q", "1"]]},
        {"account": "run", "name": "rr", "priority": -5, "notify": True, "mail_options": "e", "rerun": True},
        {"hold_jid": []},
        {"hard": ["room=1G", "h_rt=200"]},
    ):
        assert alter(cell, job, **change)[0] == 0, change
    status, texts = alter(cell, job, hard=["h_rt=100"])
    assert status == 1
    assert '"room" cannot change' in texts[0]
    assert cell.state.jobs[job].hard == {"room": "1G", "h_rt": "200"}
    before = cell.state.bookings.at(Holder("host", "h1"))["room"]
    cell.end(job)
    assert before == 1024**3
    assert "room" not in cell.state.bookings.at(Holder("host", "h1"))


@pytest.mark.statement("SO-41")
def test_validation_of_a_change(cell: Cell) -> None:
    job = cell.submit(hard=["arch=nosuch"])
    status, texts = alter(cell, job, verify="v")
    assert (status, texts[-1]) == (1, "verification: no suitable queues")
    status, texts = alter(cell, job, verify="e", name="x")
    assert (status, texts[0].split("\n")[0]) == (1, "error: no suitable queues")
    assert cell.state.jobs[job].name == "sleep"
    warned = [f"modified job name of job {job}", "warning: no suitable queues"]
    assert alter(cell, job, verify="w", name="x") == (1, warned)
    assert cell.state.jobs[job].name == "x", "a warning refuses nothing"
    assert alter(cell, job, verify="w") == (1, ["warning: no suitable queues"])
    assert alter(cell, job, verify="v", hard=["arch=lx-amd64"]) == (0, ["verification: found suitable queue(s)"])
    assert cell.state.jobs[job].hard == {"arch": "nosuch"}, "v and p change nothing"
    assert alter(cell, job, verify="e", hard=["arch=*"])[0] == 0
    held = cell.submit(holds="u")
    assert alter(cell, held, verify="v") == (0, ["verification: job is already running or is held"])


@pytest.mark.statement("DP-5")
def test_dependencies_are_replaced_and_removed(cell: Cell) -> None:
    first, second = cell.submit(), cell.submit()
    job = cell.submit(hold_jid=[str(first)])
    status, texts = alter(cell, job, hold_jid=[str(second)])
    assert (status, texts) == (
        0,
        [f"modified job id hold list of job {job}", f"   blocking jobs: {second}", "   exited jobs:   NONE"],
    )
    assert cell.state.dependents[first] == set()
    assert alter(cell, job, hold_jid=["999", "nosuch"])[1][1:] == ["   blocking jobs: NONE", "   exited jobs:   999"]
    assert alter(cell, job, hold_jid=[])[0] == 0
    assert cell.state.waits_for(cell.state.jobs[job]) == []
    assert "would wait for itself" in alter(cell, job, hold_jid=[str(job)])[1][0]
    alter(cell, job, hold_jid=[str(second)])
    assert "would wait for itself" in alter(cell, second, hold_jid=[str(job)])[1][0]


@pytest.mark.statement("DP-5")
def test_a_list_of_dependencies_is_changed_independent_of_the_others(cell: Cell) -> None:
    first, second = cell.submit(), cell.submit()
    job = cell.submit(hold_jid_ok=[str(first)])
    assert alter(cell, job, hold_jid=[str(second)])[0] == 0
    assert cell.state.jobs[job].conditions == {first: "ok"}
    assert sorted(cell.state.jobs[job].predecessors) == [first, second]
    cell.restart()
    assert cell.state.jobs[job].conditions == {first: "ok"}


@pytest.mark.statement("JV-5")
def test_with_a_server_verifier_only_allowed_fields_change(cell: Cell) -> None:
    job = cell.submit()
    cell.configure("configuration", "global", jsv_url="/bin/verify", jsv_allowed_mod="N,p,h")
    assert alter(cell, job, name="x", priority=-1, holds="u")[0] == 0
    assert alter(cell, job, name="y", hard=["h_rt=1"], pe="mpi", pe_range="1") == (
        1,
        [
            "denied: changes of l_hard, pe are not allowed by jsv_allowed_mod",
            "this cell's job submission verifier checks jobs when they are submitted: submit the job again, or ask a manager",
        ],
    )
    cell.configure("configuration", "global", jsv_allowed_mod="none")
    assert alter(cell, job, "root", name="y")[0] == 1
    assert alter(cell, job, verify="v")[0] == 0


@pytest.mark.statement("SO-44")
def test_a_refusal_for_a_job_does_not_stop_the_change_of_the_next(cell: Cell) -> None:
    strange, broken, own = cell.submit("bob"), cell.submit(tasks="1-2"), cell.submit(tasks="1-2")
    answer = cell.ask("alter_jobs", targets=[str(strange), "99", f"{broken}.1", str(own)], changes={"account": "x"})
    assert [text for _, text in answer.answers] == [
        f'denied: "alice" must be at least owner of job {strange} to change job attributes',
        'denied: job "99" does not exist',
        "denied: the selected option works only on jobs and not on tasks",
        f"modified account of job {own}",
    ]
    assert [cell.state.jobs[job].account for job in (strange, broken, own)] == ["sge", "sge", "x"]


@pytest.mark.statement("SO-42", "SO-5")
def test_all_that_never_changes_is_named_in_order(cell: Cell) -> None:
    job = cell.submit()
    texts = alter(cell, job, tasks="1-3", binary=False, script="x", now=True)[1]
    assert texts == ["denied: binary, now, script, tasks of a job cannot be changed"]


@pytest.mark.statement("SO-41")
@pytest.mark.parametrize(("hold", "changed"), [("e", True), ("w", True), ("v", False), ("p", False)])
def test_a_job_that_runs_or_is_held_is_not_looked_at(cell: Cell, hold: str, changed: bool) -> None:
    runs, held = cell.submit(), cell.submit(holds="u")
    cell.cycle()
    for job in (runs, held):
        expected = ["verification: job is already running or is held", *([f"modified account of job {job}"] if changed else [])]
        assert alter(cell, job, verify=hold, account="x", hard_queues=["all.q"])[1][:2] == expected
        assert (cell.state.jobs[job].account == "x") == changed


@pytest.mark.statement("SO-41", "SO-42")
def test_without_w_a_change_is_not_asked_where_it_fits(cell: Cell) -> None:
    waits = cell.submit()
    assert alter(cell, waits, verify="", hard=["arch=nosuch"])[1] == [f"modified hard resource list of job {waits}"]


@pytest.mark.statement("SO-41", "SO-44")
def test_a_missing_job_is_an_error_beside_a_matching_job(cell: Cell) -> None:
    job = cell.submit()
    answer = cell.ask("alter_jobs", targets=["99", str(job)], changes={}, verify="v")
    assert answer.status == 1
    assert [text for _, text in answer.answers] == [
        'denied: job "99" does not exist', "verification: found suitable queue(s)",
    ]


@pytest.mark.statement("SO-42", "SO-19")
def test_without_addresses_mail_goes_to_the_owner_at_his_host(cell: Cell) -> None:
    job = cell.submit(mail_list=["bob@h2"])
    assert alter(cell, job, mail_list=["carol@h3"])[0] == 0
    assert cell.state.jobs[job].mail_list == ("carol@h3",)
    assert alter(cell, job, mail_list=[])[0] == 0
    assert cell.state.jobs[job].mail_list == ("alice@h1",)


@pytest.mark.statement("SO-26", "SO-42")
def test_the_project_of_a_job_is_checked_for_its_owner(cell: Cell) -> None:
    cell.add("userset", "some", entries="bob")
    cell.add("project", "p", acl="some")
    job = cell.submit()
    text = 'job rejected: no access to project "p" for user "alice"'
    assert alter(cell, job, "root", project="p") == (1, [text])
    assert alter(cell, cell.submit("bob"), "root", project="p")[0] == 0


@pytest.mark.statement("SO-43")
def test_only_consumables_are_fixed_while_a_job_runs(cell: Cell) -> None:
    rows = {"one": "YES", "two": "NO"}
    for name, consumable in rows.items():
        row = {**cell.state.kind("complex")["h_vmem"], "name": name, "shortcut": name, "consumable": consumable}
        cell.admin("config_add", kind="complex", name=name, attributes=[(a, v, 1) for a, v in row.items()])
    cell.configure("exec_host", "h1", complex_values="one=8G,two=8G")
    waits, runs = cell.submit(hard=["one=1G"], holds="u"), cell.submit(hard=["two=1G"])
    cell.cycle()
    assert alter(cell, waits, hard=["one=2G"])[0] == 0
    assert alter(cell, runs, hard=["two=2G"])[0] == 0
    text = f'denied: job {runs} is running, its request of the consumable "one" cannot change'
    assert alter(cell, runs, hard=["two=2G", "one=1G"]) == (1, [text])


@pytest.mark.statement("DP-5", "SO-42")
def test_predecessors_that_have_exited_are_listed(cell: Cell) -> None:
    first, second = cell.submit(tasks="1-2"), cell.submit(name="second")
    job = cell.submit(tasks="1-2")
    assert alter(cell, job, hold_jid=[str(first), "77", "second", "78"])[1] == [
        f"modified job id hold list of job {job}", f"   blocking jobs: {first},{second}", "   exited jobs:   77,78",
    ]
    assert alter(cell, job, hold_jid_ad=[str(first)])[1] == [
        f"modified job id hold array list of job {job}", f"   blocking jobs: {first}", "   exited jobs:   NONE",
    ]


@pytest.mark.statement("AR-95")
def test_only_a_job_that_waits_changes_its_reservation(cell: Cell) -> None:
    job = cell.submit()
    cell.cycle()
    text = f"denied: cannot modify running job {job}: it stays in its advance reservation"
    assert alter(cell, job, ar=5) == (1, [text])
    assert "invalid" in alter(cell, cell.submit(holds="u"), ar=5)[1][0]


@pytest.mark.statement("SO-44")
def test_of_several_users_jobs_only_ones_own_change(cell: Cell) -> None:
    strange, own = cell.submit("bob"), cell.submit()
    answer = cell.ask("alter_jobs", targets=[], users=["*"], changes={"account": "x"})
    assert [text for _, text in answer.answers] == [
        f'denied: "alice" must be at least owner of job {strange} to change job attributes',
        f"modified account of job {own}",
    ]


@pytest.mark.statement("JV-5")
def test_no_change_is_proposed_that_the_verifier_of_the_cell_would_have_refused(cell: Cell) -> None:
    """qexplain shows the qalter line only where qalter would be done."""
    job = cell.submit(hard=["mem_free=999G"])

    def change() -> dict[str, Any]:
        answer = explain_jobs(cell.state, [str(job)], cell.now, UTC, Caller("alice", 1001, "users", 1001, "h1"), "root")
        return answer["jobs"][0]["change"]

    assert change()["options"]
    cell.configure("configuration", "global", jsv_url="/bin/verify", jsv_allowed_mod="N")
    assert "options" not in change() or not change()["options"]
    assert "this cell's verifier" in change()["texts"][-1]
