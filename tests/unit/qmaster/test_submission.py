"""Submission: accepted jobs, refusals and their messages."""

from __future__ import annotations

import pytest

from tests.harness import Cell


def refusal(cell: Cell, user: str = "alice", **fields: object) -> tuple[int, str]:
    """Exit code and text of a submission that must leave nothing behind."""
    before = cell.state.revision, cell.state.next_job_id
    answer = cell.ask("submit", user, **{"binary": True, "script_file": "/bin/true", **fields})
    assert (cell.state.revision, cell.state.next_job_id) == before
    assert answer.data is None
    return answer.status, answer.answers[-1][1]


@pytest.mark.statement("SB-8")
def test_ids_come_from_a_counter_that_survives_and_wraps(cell: Cell) -> None:
    assert [cell.submit(), cell.submit()] == [1, 2]
    cell.restart()
    assert cell.submit() == 3
    cell.state.next_job_id = 9_999_999
    assert cell.submit() == 9_999_999
    assert cell.submit() == 4, "1 to 3 are still there"


@pytest.mark.statement("SB-9")
@pytest.mark.parametrize("name", ["1x", "a/b", "a:b", "a@b", "a\\b", "a*", "a?", " "])
def test_bad_job_names_are_refused(cell: Cell, name: str) -> None:
    status, text = refusal(cell, name=name)
    assert status == 1
    assert "is not a valid object name" in text
    assert "\n" not in text


@pytest.mark.statement("SB-9")
def test_default_names(cell: Cell) -> None:
    for fields, name in (
        ({"script_file": "/home/a/run.sh", "binary": False, "script": "true\n"}, "run.sh"),
        ({"script_file": "", "binary": False, "script": "true\n"}, "STDIN"),
        ({"script_file": "", "kind": "qlogin"}, "QLOGIN"),
    ):
        assert cell.ask("submit", **{"binary": True, **fields}).data["name"] == name


@pytest.mark.statement("CQ-40", "GD-12")
@pytest.mark.parametrize("field", ["hard_queues", "soft_queues"])
@pytest.mark.parametrize("expression", ["nosuch", "nosuch*", "all.q@nosuch", "all.q@@nosuch", "*@@none*"])
def test_unknown_queue_is_refused(cell: Cell, field: str, expression: str) -> None:
    assert refusal(cell, **{field: [expression]}) == (
        1,
        f'Job was rejected because job requests unknown queue "{expression}"',
    )


@pytest.mark.statement("CQ-40", "QN-8")
@pytest.mark.parametrize("expression", ["all.q", "a*", "all.q@h1", "*@h*", "all.q@@allhosts", "*@@all*"])
def test_known_queue_expressions_are_taken(cell: Cell, expression: str) -> None:
    job = cell.submit(hard_queues=[expression])
    assert cell.state.jobs[job].hard_queues == (expression,)


@pytest.mark.statement("CX-42", "CX-43", "CX-44", "CX-45")
@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"hard": ["nosuch=1"]}, "unknown resource"),
        ({"hard": ["load_avg=1"]}, "not requestable"),
        ({"hard": ["h_rt=-1"]}, "h_rt"),
        ({"hard": ["h_vmem=1x"]}, "h_vmem"),
        ({"soft": ["slots=2"]}, "slots"),
    ],
)
def test_bad_resource_requests_are_refused(cell: Cell, fields: dict[str, object], reason: str) -> None:
    assert reason in refusal(cell, **fields)[1]


@pytest.mark.statement("CX-44")
@pytest.mark.parametrize("consumable", ["YES", "JOB"])
def test_a_consumable_cannot_be_asked_for_softly(cell: Cell, consumable: str) -> None:
    for name, counted in (("lic", consumable), ("grade", "NO")):
        cell.add("complex", name, shortcut=name, type="INT", relop="<=", requestable="YES", consumable=counted, default="0")
    assert 'a soft request for the consumable resource "lic"' in refusal(cell, soft=["lic=1"])[1]
    cell.submit(soft=["grade=1"])
    cell.submit(hard=["lic=1"])


@pytest.mark.statement("SO-18")
def test_resources_are_kept_by_full_name_and_add_up(cell: Cell) -> None:
    job = cell.submit(hard=["mf=1G", "h_rt=0:1:0", "arch=lx-amd64"])
    assert cell.state.jobs[job].hard == {"mem_free": "1G", "h_rt": "60", "arch": "lx-amd64"}


@pytest.mark.statement("SO-20")
def test_master_queue_needs_a_parallel_environment(cell: Cell) -> None:
    assert "-pe" in refusal(cell, master_queues=["all.q"])[1]


@pytest.mark.statement("SO-28")
def test_unknown_pe_is_refused(cell: Cell) -> None:
    assert 'parallel environment "nosuch" does not exist' in refusal(cell, pe="nosuch", pe_range="2")[1]


@pytest.mark.statement("SO-36", "AJ-2")
@pytest.mark.parametrize("tasks", ["0-3", "3-x", "1-10:0", "a"])
def test_bad_task_ranges_are_refused(cell: Cell, tasks: str) -> None:
    assert "task range" in refusal(cell, tasks=tasks)[1]


@pytest.mark.statement("AJ-2")
def test_array_larger_than_max_aj_tasks_is_refused(cell: Cell) -> None:
    cell.configure("configuration", "global", max_aj_tasks="10")
    assert "max_aj_tasks" in refusal(cell, tasks="1-11")[1]
    assert cell.submit(tasks="1-10") == 1


@pytest.mark.statement("SB-7", "US-7")
def test_limits_of_jobs_give_exit_25(cell: Cell) -> None:
    cell.configure("configuration", "global", max_u_jobs="1")
    cell.submit()
    assert refusal(cell)[0] == 25
    assert cell.submit("bob") == 2
    cell.configure("configuration", "global", max_jobs="2", max_u_jobs="0")
    assert refusal(cell)[0] == 25


@pytest.mark.statement("EX-14")
def test_min_uid_is_checked_at_submission(cell: Cell) -> None:
    cell.configure("configuration", "global", min_uid="1002")
    assert "min_uid" in refusal(cell)[1]
    assert cell.submit("bob") == 1


@pytest.mark.statement("SO-27")
def test_only_operators_raise_priority(cell: Cell) -> None:
    assert "operator" in refusal(cell, priority=1)[1]
    assert cell.submit(priority=-1) == 1
    assert cell.submit("root", priority=1) == 2
    assert "outside" in refusal(cell, "root", priority=1025)[1]


@pytest.mark.statement("SO-11")
def test_deadline_needs_the_list(cell: Cell) -> None:
    assert "deadlineusers" in refusal(cell, deadline=cell.now + 60)[1]


@pytest.mark.statement("QF-36")
def test_only_submit_hosts_submit(cell: Cell) -> None:
    answer = cell.ask("submit", "alice", "elsewhere", binary=True, script_file="x")
    assert answer.status == 1
    assert "neither submit nor admin host" in answer.answers[0][1]


def test_a_script_with_nul_bytes_is_refused(cell: Cell) -> None:
    assert "NUL" in refusal(cell, binary=False, script="true\n\0")[1]


@pytest.mark.statement("DP-1", "DP-3")
def test_predecessors_are_resolved_at_submission(cell: Cell) -> None:
    first, second, other = cell.submit(name="prep1"), cell.submit(name="prep2"), cell.submit("bob", name="prep3")
    job = cell.submit(hold_jid=["prep*", "99", str(other)])
    assert cell.state.jobs[job].predecessors == (first, second, other)


@pytest.mark.statement("SP-3", "GD-13")
def test_an_accepted_job_is_on_disk_with_script_and_environment(cell: Cell) -> None:
    script = "#!/bin/sh\necho grüße\n"
    job = cell.submit(binary=False, script=script, script_file="x.sh", environment={"A": "1\n2"})
    cell.restart()
    assert cell.state.jobs[job].name == "x.sh"
    payload = cell.master.spool.payload(job)
    assert payload.script == script.encode()
    assert payload.environment == {"A": "1\n2"}


@pytest.mark.statement("SO-12")
def test_hosts_of_paths_must_exist(cell: Cell) -> None:
    for field in ("stdout", "stderr", "stdin", "shells"):
        assert refusal(cell, **{field: [("", "/tmp"), ("nowhere", "/x")]}) == (1, 'can\'t resolve hostname "nowhere"')
    job = cell.submit(stdout=[("h1", "/one"), ("", "/all")])
    assert cell.state.jobs[job].stdout == (("h1", "/one"), ("", "/all"))


@pytest.mark.statement("SB-1")
def test_an_empty_script_is_refused(cell: Cell) -> None:
    assert refusal(cell, binary=False, script="") == (1, "job rejected: the script is empty")


@pytest.mark.statement("SB-9")
@pytest.mark.parametrize(
    ("command", "name"),
    [("/bin/hostname -f", "hostname"), ("date;ls", "date"), (" ; ", "QRSH"), ("", "QRSH"), ("/opt/a b;c", "a")],
)
def test_the_name_of_a_command_of_qrsh_ends_where_a_shell_would_end_it(cell: Cell, command: str, name: str) -> None:
    assert cell.state.jobs[cell.submit(kind="qrsh", script_file=command)].name == name
    assert cell.state.jobs[cell.submit(script_file="/x/a b")].name == "a b"


@pytest.mark.statement("SB-8")
def test_numbers_that_jobs_have_are_passed_over(cell: Cell) -> None:
    cell.state.next_job_id = 9_999_998
    assert [cell.submit() for _ in range(3)] == [9_999_998, 9_999_999, 1]
    cell.state.next_job_id = 9_999_998
    assert cell.submit() == 2
    cell.state.next_job_id = 9_999_999
    answer = cell.ask("resubmit_jobs", targets=["1", "1"])
    assert [text.split()[2] for _, text in answer.answers] == ["3", "4"]


@pytest.mark.statement("SB-1", "SB-4")
@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"script": None}, "denied: a script or a command is needed"),
        ({"script": ""}, "job rejected: the script is empty"),
        ({"script": "a\0b"}, "denied: the script contains NUL bytes; submit it with -b y if it is a program"),
        ({"script": "!!!", "script_encoding": "base64"}, "denied: the script arrived damaged"),
    ],
)
def test_scripts_that_cannot_be(cell: Cell, fields: dict[str, object], text: str) -> None:
    status, message = refusal(cell, binary=False, **fields)
    assert status == 1
    assert message == text or "script" in message


@pytest.mark.statement("SO-25", "SO-27", "SO-11")
@pytest.mark.parametrize(
    ("fields", "user", "taken"),
    [
        ({"priority": 0}, "alice", True),
        ({"priority": 1}, "alice", False),
        ({"priority": 1}, "root", True),
        ({"override_tickets": 1}, "alice", False),
        ({"override_tickets": 1}, "root", True),
        ({"override_tickets": 0}, "alice", True),
        ({"deadline": 2e9}, "bob", False),
        ({"deadline": 2e9}, "alice", True),
        ({"deadline": 0.0}, "bob", True),
    ],
)
def test_privileged_options_need_their_rights(cell: Cell, fields: dict[str, float], user: str, taken: bool) -> None:
    cell.configure("userset", "deadlineusers", entries="alice")
    answer = cell.ask("submit", user, binary=True, script_file="x", **fields)
    assert (answer.status == 0) == taken, answer.answers


@pytest.mark.statement("SE-2", "AR-26", "SB-6")
@pytest.mark.parametrize("kind", ["submit_host", "admin_host"])
def test_admin_hosts_may_submit_as_submit_hosts_do(cell: Cell, kind: str) -> None:
    job = cell.submit()
    cell.admin("config_delete", kind=kind, name="h2")
    assert cell.ask("submit", "alice", "h2", binary=True, script_file="x").status == 0
    assert cell.ask("resubmit_jobs", "alice", "h2", targets=[str(job)]).status == 0
    cell.admin("config_delete", kind="admin_host" if kind == "submit_host" else "submit_host", name="h2")
    message = [("error", 'denied: host "h2" is neither submit nor admin host')]
    assert cell.ask("submit", "alice", "h2", binary=True, script_file="x").answers == message
    answer = cell.ask("resubmit_jobs", "alice", "h2", targets=[str(job)])
    assert (answer.status, answer.answers) == (4, message)
