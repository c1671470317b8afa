"""sge_share_mon: fields, options, and the figures of nodes."""

from __future__ import annotations

import pytest

from gridengine.state.apply import apply
from gridengine.state.jobs import Usage
from gridengine.state.machines.usage import UsageCharged
from tests.harness import Cell
from tests.unit.clients.shell import Shell

HOUR_S = 3600
NODES = (
    ("Root", 0, 1, "1,2,4"),
    ("alice", 0, 10, "NONE"),
    ("P", 1, 30, "3"),
    ("default", 0, 60, "NONE"),
    ("default", 0, 60, "NONE"),
)
TREE = "\n".join(
    f"id={number}\nname={name}\ntype={kind}\nshares={shares}\nchildnodes={below}"
    for number, (name, kind, shares, below) in enumerate(NODES)
)


@pytest.fixture
def tree(shell: Shell, cell: Cell) -> Shell:
    """alice has a leaf of her own, bob and carl share `default`; alice and bob have jobs, bob used three times as much."""
    for user in ("alice", "bob", "carl"):
        cell.add("user", user)
    cell.add("project", "P")
    cell.configure("scheduler", "", weight_tickets_share="1000", halftime="1")
    (shell.cwd / "tree").write_text(TREE)
    assert shell.as_root("qconf -Astree tree").status == 0
    cell.submit("alice")
    cell.submit("bob")
    cell.submit("bob", project="P")
    used = (("alice", "", 100.0), ("bob", "", 300.0))
    apply(cell.state, UsageCharged([(user, project, Usage(cpu=cpu, mem=1.0), cell.now) for user, project, cpu in used]))
    return shell


@pytest.mark.statement("PR-11")
def test_every_node_with_its_shares_jobs_and_usage(tree: Shell) -> None:
    outcome = tree("sge_share_mon -c 1 -f node_name,user_name,project_name,shares,job_count,level%,total%,actual_share,cpu")
    assert outcome.lines == [
        "/\t\t\t1\t3\t1.000000\t1.000000\t1.000000\t400.000000\t",
        "/alice\talice\t\t10\t1\t0.100000\t0.100000\t0.250000\t100.000000\t",
        "/P\t\tP\t30\t1\t0.300000\t0.300000\t0.000000\t0.000000\t",
        *(
            f"/P/default{name}\t{name[1:]}\tP\t60\t{jobs}\t{level}\t{total}\t0.000000\t0.000000\t"
            for name, jobs, level, total in (
                ("", 1, "1.000000", "0.300000"),
                ("/alice", 0, "0.333333", "0.100000"),
                ("/bob", 1, "0.333333", "0.100000"),
                ("/carl", 0, "0.333333", "0.100000"),
            )
        ),
        "/default\t\t\t60\t1\t0.600000\t0.600000\t0.750000\t300.000000\t",
        "/default/bob\tbob\t\t60\t1\t0.500000\t0.300000\t0.750000\t300.000000\t",
        "/default/carl\tcarl\t\t60\t0\t0.500000\t0.300000\t0.000000\t0.000000\t",
    ]
    assert (outcome.status, outcome.err) == (0, "")


@pytest.mark.statement("PR-11")
def test_targets_of_a_node(tree: Shell) -> None:
    """Of 10:30:60 alice has used a quarter, bob the rest and P nothing: P is made up for at most five times its share."""
    outcome = tree("sge_share_mon -c 1 -n -f long_target_share,short_target_share /alice /P /default/bob")
    rows = [dict(pair.split("=") for pair in line.split("\t") if pair) for line in outcome.lines]
    assert [row["long_target_share"] for row in rows] == ["0.100000", "0.300000", "0.600000"]
    targets = [0.1 * 0.4, 0.3 * 5, 0.6 * 0.8]
    assert [float(row["short_target_share"]) for row in rows] == pytest.approx([t / sum(targets) for t in targets], abs=1e-6)


@pytest.mark.statement("PR-11")
def test_a_node_without_jobs_has_no_targets(tree: Shell) -> None:
    line = "0\t0.000000\t0.000000\t"
    assert tree("sge_share_mon -c 1 -f job_count,long_target_share,short_target_share /default/carl").lines == [line]


@pytest.mark.statement("PR-11")
def test_usage_is_decayed_and_the_sum_of_all_is_not(tree: Shell, cell: Cell) -> None:
    cell.now += HOUR_S
    assert tree("sge_share_mon -c 1 -f usage,cpu,mem,ltcpu,ltmem,ltio /alice").lines == [
        "50.000000\t50.000000\t0.500000\t100.000000\t1.000000\t0.000000\t"
    ]
    assert tree.as_root("qconf -clearusage").status == 0
    assert tree("sge_share_mon -c 1 -f usage_time,cpu,ltcpu /alice").lines == ["0\t0.000000\t0.000000\t"]


@pytest.mark.statement("PR-11")
def test_header_delimiters_formats_leaves_and_files(tree: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []
    monkeypatch.setattr("time.sleep", pauses.append)
    outcome = tree("sge_share_mon -c 2 -i 7 -h -d , -l | -r '#' -f node_name,shares /alice /P")
    assert outcome.out == "node_name,shares,|#/alice,10,|/P,30,|#/alice,10,|/P,30,|"
    assert pauses == [7]
    assert tree("sge_share_mon -c 1 -x -s %-8s -f node_name").lines[0] == "/alice  \t"
    assert "/default\t" not in tree("sge_share_mon -c 1 -x -f node_name").lines
    assert tree("sge_share_mon -c 1 -t -f curr_time /").out.count(":") == 2
    for mode in ("w", "a"):
        assert tree(f"sge_share_mon -c 1 -f shares -m {mode} -o file /").out == ""
    assert (tree.cwd / "file").read_text() == "1\t\n1\t\n"


@pytest.mark.statement("PR-11")
@pytest.mark.parametrize("wrong", ["-z", "-c x", "-f nosuch", "-s %d", "-m r", "-o /nosuch/file"])
def test_misuse_is_refused(tree: Shell, wrong: str) -> None:
    outcome = tree(f"sge_share_mon -c 1 {wrong}")
    assert (outcome.status, outcome.out) == (1, "")
    assert wrong.split()[-1] in outcome.err


@pytest.mark.statement("PR-11")
def test_without_a_tree(shell: Shell) -> None:
    outcome = shell("sge_share_mon -c 1")
    assert (outcome.status, outcome.out, outcome.err) == (2, "", "No share tree\n")
