"""-comment: a note that goes with a job from its submission to its accounting record, and does nothing."""

from __future__ import annotations

import json

from gridengine.jsv.parameters import corrected, parameters
from tests.harness import Cell
from tests.unit.clients.shell import Shell


def shown(shell: Shell, job: int = 1) -> list[str]:
    return [line.split(maxsplit=1)[1] for line in shell(f"qstat -j {job}").lines if line.startswith("comment:")]


def test_a_comment_is_submitted_shown_changed_and_accounted(shell: Shell, cell: Cell) -> None:
    shell("qsub -b y -N one -comment 'for the paper: figure 3' true")
    shell("qsub -b y -N two true")
    assert (shown(shell), shown(shell, 2)) == (["for the paper: figure 3"], [])
    assert "modified comment of job 1" in shell("qalter -comment 'for the talk' 1").out
    assert shown(shell) == ["for the talk"]
    assert json.loads(shell("qstat -j 1 -json").out)["jobs"][0]["notes"] == {"comment": "for the talk"}
    cell.cycle()
    for job in (1, 2):
        cell.end(job)
    assert [line for line in shell("qacct -j").lines if "comment" in line] == ["comment      for the talk"]
    records = json.loads(shell("qacct -j -json").out)["records"]
    assert [record["notes"] for record in records] == [{"comment": "for the talk"}, {}]
    lines = (cell.master.spool.path.parent / "accounting").read_text().splitlines()
    assert [line.count(":") for line in lines if not line.startswith("#")] == [44, 44]  # programs count the fields


def test_a_comment_is_removed_and_copied(shell: Shell) -> None:
    shell("qsub -b y -h -comment first true")
    shell("qresub 1")
    assert shown(shell, 2) == ["first"]
    shell("qalter -comment '' 1")
    assert shown(shell) == []


def test_verify_shows_a_comment(shell: Shell) -> None:
    assert "comment:                    draft" in shell("qsub -verify -b y -comment draft true").lines


def test_a_verifier_sees_and_sets_it() -> None:
    assert ("comment", "mine") in parameters({"comment": "mine", "script_file": "true"})
    assert corrected({"comment": "mine"}, {"comment": "the site's"})["comment"] == "the site's"


def test_unprintable_comments_are_refused(shell: Shell) -> None:
    outcome = shell("qsub -b y -comment 'a\nb' true")
    assert (outcome.status, "comment" in outcome.err, shell("qstat").out) == (1, True, "")
