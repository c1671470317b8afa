"""Control characters in the texts of users: one line a field in listings for people, unchanged for programs."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET

import pytest

from gridengine.values.printable import printable
from tests.harness import Cell
from tests.unit.clients.shell import Shell


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\nb\tc\r", "a\\nb\\tc\\r"),
        ("\x1b[2J\x7f\x9b", "\\x1b[2J\\x7f\\x9b"),
        ("\u2028\x85\u202eabc\u2066\udc80", "\\u2028\\x85\\u202eabc\\u2066\\udc80"),
        ("\U000e0001", "\\U000e0001"),
        ("Grün \\n", "Grün \\n"),
    ],
)
def test_escapes(text: str, shown: str) -> None:
    assert printable({text: [text, 1, None]}) == {shown: [shown, 1, None]}


@pytest.mark.statement("ST-18", "ST-28")
def test_everything_about_a_job_is_one_line_a_field(shell: Shell, cell: Cell) -> None:
    plain = "qsub -h -b y -N odd -ac note=ab -o /tmp/ab -v V=ab true ab"
    odd_line = plain.replace("note=ab", "note='a\nowner  root'").replace("ab", "'a\nowner  root\x1b[1m'")  # -ac takes no ESC
    for line in (plain, odd_line):
        submitted = shell(line)
        assert submitted.status == 0, submitted
    usual, odd = (shell(f"qstat -j {job}").lines for job in (1, 2))
    assert [line.partition(":")[0] for line in odd] == [line.partition(":")[0] for line in usual]
    assert sum("a\\nowner  root\\x1b[1m" in line for line in odd) >= 3
    (job,) = json.loads(shell("qstat -j 2 -json").out)["jobs"]
    assert job["context"] == {"note": "a\nowner  root"}
    found = ET.fromstring(shell("qstat -j 2 -xml").out)
    assert "a\nowner  root?[1m" in [each.text for each in found.iter()], "XML has no such character at all"


@pytest.mark.statement("SO-40")
def test_a_job_that_is_not_submitted(shell: Shell) -> None:
    assert "note=a\\nb\n" in shell("qsub -verify -b y -ac 'note=a\nb' true").out


def test_messages_and_values_of_hosts(shell: Shell, cell: Cell) -> None:
    shell("qsub -b y -N bad -q all.q@h3 sleep 9")
    cell.cycle()
    cell.end(1, failed=28, reason="no\ndirectory")
    assert "no\\ndirectory (on host h3)\n" in shell("qstat -j bad").out
    cell.state.hosts["h1"].load["arch"] = "lx\nqueue"
    for command in ("qhost -F arch", "qstat -F arch"):
        assert "lx\\nqueue\n" in shell(command).out
        ET.fromstring(shell(f"{command} -xml").out)


@pytest.mark.parametrize(
    "command",
    [
        "qstat -u *", "qstat -f -u *", "qstat -r -u *", "qstat -ext -urg -u *", "qstat -g t -u *", "qstat -j 1",
        "qhost -j", "qexplain 3", "qrstat", "qrstat -explain", "qrstat -ar 1",
        "qacct -j 2", "qacct -A", "qresub 1",
    ],
)
def test_no_name_steers_the_terminal(shell: Shell, cell: Cell, command: str) -> None:
    """Names that the qmaster would refuse, in the output of all commands, for all users."""
    evil = "x\x9b2J\u202e\u2028\x1b[2J"
    assert [shell(f"qsub -b y {more} sleep 9").status for more in ("", "", "-hold_jid 1")] == [0, 0, 0]
    cell.cycle()
    assert shell.as_root("qrsub -d 100").status == 0
    for job in cell.state.jobs.values():
        job.name, job.account = evil, evil
    cell.state.reservations[1].name = evil
    cell.end(2)
    shown = shell.as_root(command)
    text = shown.out + shown.err
    assert "x\\x9b2J" in text
    assert [line for line in text.split("\n") if not line.replace("\t", " ").isprintable()] == []


TEXTS = (
    "qsub -b y -ac 'k=a{}b' true",
    "qsub -b y -ac 'a{}b=1' true",
    "qsub -b y -comment 'a{}b' true",
    "qsub -b y -N 'a{}b' true",
    "qsub -b y -A 'a{}b' true",
    "qsub -b y -P 'a{}b' true",
    "qsub -b y -M 'a{}b' true",
    "qsub -b y -v 'a{}b=1' true",
    "qsub -b y -l 'a{}b=1' true",
    "qsub -b y -hold_jid 'a{}b' true",
    "qrsub -d 60 -N 'a{}b'",
    "qrsub -d 60 -A 'a{}b'",
)


@pytest.mark.parametrize("line", TEXTS)
@pytest.mark.parametrize("strange", ["\x1b", "\x07", "\x9b", "\u2028", "\u202e", "\u2066"])
def test_no_text_of_a_job_takes_what_steers_a_terminal(shell: Shell, line: str, strange: str) -> None:
    outcome = shell(line.format(strange))
    assert outcome.status != 0 and strange not in outcome.err
