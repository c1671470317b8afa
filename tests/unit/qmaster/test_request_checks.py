"""Parts of a job's request that are refused at the gate, as the original does: names, hosts, and options without their object."""

import re

import pytest

from tests.harness import Cell


def refused(cell: Cell, **fields: object) -> str:
    answer = cell.ask("submit", **{"binary": True, "script_file": "/bin/true", **fields})
    assert answer.status == 1 and not cell.state.jobs
    return answer.answers[0][1]


@pytest.mark.statement("SB-9", "SO-4")
@pytest.mark.parametrize("name", ["none", "ALL", "Template", "a:b", "a/b", "a@b", "a*b", "a?b", "a\\b", " "])
def test_names_and_accounts_that_cannot_be(cell: Cell, name: str) -> None:
    assert "valid object name" in refused(cell, name=name)
    assert "valid object name" in refused(cell, account=name)


@pytest.mark.parametrize("name", ["a\tb", "a\nb", "a\x9bb", "a\u2028b", "a\x00b"])
def test_names_that_cannot_be_printed(cell: Cell, name: str) -> None:
    assert "name contains a character that cannot be printed" in refused(cell, name=name)
    assert "account contains a character that cannot be printed" in refused(cell, account=name)
    assert "is not a valid object name" in refused(cell, script_file=f"/bin/{name}".replace("\0", "\1")), "nor one that follows"


@pytest.mark.statement("SO-4")
def test_an_account_may_begin_with_a_digit_and_hold_blanks(cell: Cell) -> None:
    assert cell.state.jobs[cell.submit(account="3 x")].account == "3 x"


@pytest.mark.statement("SO-12", "SO-30", "SO-35")
@pytest.mark.parametrize("option", ["stdout", "stderr", "stdin", "shells"])
def test_hosts_that_nothing_knows(cell: Cell, option: str) -> None:
    assert refused(cell, **{option: [["", "/bin/sh"], ["nosuch", "/bin/sh"]]}) == 'can\'t resolve hostname "nosuch"'
    assert refused(cell, hard=["h=nosuch"]) == refused(cell, soft=["hostname=nosuch"]) == 'can\'t resolve hostname "nosuch"'
    cell.submit(**{option: [["h2", "/bin/sh"]]}, hard=["h=h9"])
    cell.submit(hard=["h=no*"])


@pytest.mark.statement("SO-28")
@pytest.mark.parametrize(("text", "kept"), [("1-", "1-9999999"), ("4-2", "2-4"), ("-4", "1-4"), ("1,3,5-7", "1,3,5-7")])
def test_slot_ranges_are_kept_in_one_form(cell: Cell, text: str, kept: str) -> None:
    assert cell.state.jobs[cell.submit(pe="make", pe_range=text)].pe_range == kept
    job = cell.submit()
    cell.ask("alter_jobs", targets=[str(job)], changes={"pe": "make", "pe_range": text})
    assert cell.state.jobs[job].pe_range == kept


@pytest.mark.statement("SO-28")
@pytest.mark.parametrize("text", ["0", "x", ""])
def test_slot_ranges_that_cannot_be(cell: Cell, text: str) -> None:
    assert "slot range" in refused(cell, pe="make", pe_range=text)


@pytest.mark.statement("SO-18")
@pytest.mark.parametrize(
    ("text", "kept"), [("1:0:0", "3600"), (":10:", "600"), ("INFINITY", "INFINITY"), ("90", "90"), ("010", "8")]
)
def test_times_are_kept_in_seconds(cell: Cell, text: str, kept: str) -> None:
    assert cell.state.jobs[cell.submit(hard=[f"h_rt={text}"])].hard == {"h_rt": kept}


@pytest.mark.statement("SO-36", "SO-7", "SO-18")
def test_options_without_what_they_are_for(cell: Cell) -> None:
    assert "-tc" in refused(cell, task_concurrency=3)
    assert "-ckpt" in refused(cell, checkpoint_when="sx")
    assert "-pe" in refused(cell, hard=["slots=2"])
    job = cell.submit(checkpoint_when="n")
    assert cell.ask("alter_jobs", targets=[str(job)], changes={"task_concurrency": 2}).status == 1
    array = cell.submit(tasks="1-3")
    assert cell.ask("alter_jobs", targets=[str(array)], changes={"task_concurrency": 2}).status == 0


@pytest.mark.statement("SO-19")
@pytest.mark.parametrize("address", ["a b", "a\nb", "|/bin/x", "/tmp/x"])
def test_addresses_that_cannot_be(cell: Cell, address: str) -> None:
    assert re.search("-M|mail_list", refused(cell, mail_list=["x@y", address]))
    job = cell.submit()
    answer = cell.ask("alter_jobs", targets=[str(job)], changes={"mail_list": [address]})
    assert answer.status == 1 and re.search("-M|mail_list", answer.answers[0][1])
    assert cell.state.jobs[job].mail_list == ("alice@h1",)


@pytest.mark.statement("SB-1")
def test_an_empty_script_is_none(cell: Cell) -> None:
    assert "script is empty" in refused(cell, binary=False, script="")


@pytest.mark.statement("DP-1")
def test_a_malformed_predecessor_is_refused(cell: Cell) -> None:
    assert '"1.1"' in refused(cell, hold_jid=["1.1"])


@pytest.mark.statement("QM-7")
def test_suspending_twice_is_reported(cell: Cell) -> None:
    job = cell.submit()
    cell.cycle()
    outcomes = [cell.ask("change_states", targets=[str(job)], action=action, what="job") for action in ("suspend", "suspend")]
    assert [answer.status for answer in outcomes] == [0, 0] and "already suspended" in outcomes[1].answers[0][1]


def changed(cell: Cell, job: int, **changes: object) -> str:
    """The first line of the answer to a change of a job."""
    return cell.ask("alter_jobs", targets=[str(job)], changes=changes, verify="n").answers[0][1]


@pytest.mark.statement("SO-7")
@pytest.mark.parametrize(
    ("has", "change", "text"),
    [
        ({"checkpoint": "ck"}, {"checkpoint_when": "n"}, "cannot be submitted with"),
        ({"checkpoint": "ck"}, {"checkpoint_when": "sx"}, "modified checkpoint attributes of job 1"),
        ({"checkpoint": "ck", "checkpoint_when": "s"}, {"checkpoint": ""}, "job rejected: -c is for jobs with"),
        ({"checkpoint": "ck", "checkpoint_when": "s"}, {"checkpoint": "other"}, "modified checkpoint object of job 1"),
        ({"checkpoint_when": "n"}, {"checkpoint": "ck"}, "cannot be submitted with"),
        ({}, {"checkpoint": "ck"}, "modified checkpoint object of job 1"),
        ({}, {"checkpoint_when": "s"}, "job rejected: -c is for jobs with"),
        ({}, {"checkpoint_when": "n"}, "modified checkpoint attributes of job 1"),
        ({}, {"checkpoint": "nosuch"}, 'the requested checkpointing environment "nosuch" does not exist'),
        ({}, {"account": "x"}, "modified account of job 1"),
    ],
)
def test_environment_and_occasions_fit_each_other_after_a_change(
    cell: Cell, has: dict[str, str], change: dict[str, str], text: str
) -> None:
    for name in ("ck", "other"):
        cell.add("checkpoint", name)
    assert text in changed(cell, cell.submit(**has), **change)


@pytest.mark.statement("SO-27")
@pytest.mark.parametrize(("priority", "taken"), [(-1024, False), (-1023, True), (1024, True), (1025, False)])
def test_the_bounds_of_priorities(cell: Cell, priority: int, taken: bool) -> None:
    answer = cell.ask("submit", "root", binary=True, script_file="x", priority=priority)
    assert (answer.status == 0) == taken, answer.answers
    job = cell.submit()
    assert (cell.ask("alter_jobs", "root", targets=[str(job)], changes={"priority": priority}).status == 0) == taken


@pytest.mark.statement("CX-42", "CX-43")
@pytest.mark.parametrize(
    ("request_of", "kept"),
    [
        (["gpu"], {"gpu": "TRUE"}),
        (["g"], {"gpu": "TRUE"}),
        (["gpu=0"], {"gpu": "0"}),
        (["arch=a", "arch=b"], {"arch": "b"}),
        (["hostname=h*"], {"hostname": "h*"}),
        (["hostname=h1|nosuch*"], {"hostname": "h1|nosuch*"}),
        (["hostname=one"], {"hostname": "h1"}),
    ],
)
def test_requests_are_stored_by_full_name(cell: Cell, request_of: list[str], kept: dict[str, str]) -> None:
    cell.aliases = {"one": "h1"}
    row = {**cell.state.kind("complex")["rerun"], "name": "gpu", "shortcut": "g", "requestable": "YES"}
    cell.admin("config_add", kind="complex", name="gpu", attributes=[(column, value, 1) for column, value in row.items()])
    assert cell.state.jobs[cell.submit(hard=request_of)].hard == kept


@pytest.mark.statement("CX-42", "CX-44")
@pytest.mark.parametrize("request_of", ["arch", "h_rt", "slots=1", "s=1", "nosuch=1", "hostname=nohost", "rerun=maybe"])
def test_invalid_resource_requests_are_refused(cell: Cell, request_of: str) -> None:
    refused(cell, hard=[request_of])


@pytest.mark.statement("GC-5")
def test_an_exec_host_that_no_longer_resolves_can_be_asked_for(cell: Cell) -> None:
    cell.aliases = {"h2": None}  # type: ignore[dict-item]
    assert cell.submit(hard=["hostname=h2"])


@pytest.mark.statement("SO-36", "AJ-2")
def test_a_list_with_a_range_in_it_may_be_one_progression(cell: Cell) -> None:
    answer = cell.ask("submit", binary=True, script_file="x", tasks="2,4-6:2")
    assert answer.data["tasks"] == "2-6:2"  # type: ignore[index,call-overload]
    cell.configure("configuration", "global", max_aj_tasks="3")
    assert cell.submit(tasks="1-3"), "as many as may be"
    text = "job rejected: you tried to submit a job with more than 3 tasks (max_aj_tasks)"
    answer = cell.ask("submit", binary=True, script_file="x", tasks="1-4")
    assert answer.answers == [("error", text)]


@pytest.mark.statement("SO-1")
def test_a_limit_of_running_tasks_is_for_arrays(cell: Cell) -> None:
    job = cell.submit(tasks="1-3", task_concurrency=2)
    assert cell.state.jobs[job].task_concurrency == 2
    assert changed(cell, cell.submit(), task_concurrency=0).startswith("modified task concurrency")


@pytest.mark.statement("AR-89", "SO-41")
def test_slots_and_what_they_are_for_come_together(cell: Cell) -> None:
    cell.add("parallel_environment", "mpi")
    assert "needs a number of slots" in refused(cell, pe="mpi")
    assert "is for a PE or a rule" in refused(cell, pe_range="2")
    job = cell.submit()
    assert "is for a PE or a rule" in changed(cell, job, pe_range="2")
    assert "needs a number of slots" in changed(cell, job, pe="mpi")
    assert changed(cell, job, allocation_rule="2", pe_range="4") == f"modified slot range of job {job}"


@pytest.mark.statement("SO-36")
def test_a_master_queue_is_for_a_rule_of_allocation_as_for_a_pe(cell: Cell) -> None:
    assert cell.submit(master_queues=["all.q"], allocation_rule="2", pe_range="4")


@pytest.mark.statement("AR-126")
def test_a_rule_of_allocation_is_checked_at_submission(cell: Cell) -> None:
    text = "job rejected: the allocation rule (-alloc) is wrong: "
    assert refused(cell, allocation_rule="$nosuch", pe_range="4").startswith(text)
    job = cell.submit()
    assert changed(cell, job, allocation_rule="$nosuch", pe_range="4").startswith(text)


@pytest.mark.statement("SO-28", "SO-42")
def test_a_removed_pe_prevents_no_other_change_of_a_job(cell: Cell) -> None:
    cell.add("parallel_environment", "mine", pe_name="mine", slots="9")
    job = cell.submit(pe="min*", pe_range="2")
    assert cell.admin("config_delete", kind="parallel_environment", name="mine").status == 0
    assert changed(cell, job, account="x") == f"modified account of job {job}"
    assert "does not exist" in changed(cell, job, pe="min*", pe_range="3")
