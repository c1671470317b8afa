"""What of a job's request is refused at the gate, as the original does: names, hosts, and options without their object."""

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
    assert cell.state.jobs[job].mail_list == ["alice@h1"]


@pytest.mark.statement("SB-1")
def test_an_empty_script_is_none(cell: Cell) -> None:
    assert "script is empty" in refused(cell, binary=False, script="")


@pytest.mark.statement("DP-1")
def test_what_is_neither_number_nor_name_is_no_predecessor(cell: Cell) -> None:
    assert '"1.1"' in refused(cell, hold_jid=["1.1"])


@pytest.mark.statement("QM-7")
def test_suspending_twice_is_told(cell: Cell) -> None:
    job = cell.submit()
    cell.cycle()
    told = [cell.ask("change_states", targets=[str(job)], action=action, what="job") for action in ("suspend", "suspend")]
    assert [answer.status for answer in told] == [0, 0] and "already suspended" in told[1].answers[0][1]
