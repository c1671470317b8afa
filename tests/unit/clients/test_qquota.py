"""qquota: rows, selection by options, XML, default files."""

from __future__ import annotations

import pytest

from tests.harness import Cell
from tests.unit.clients.shell import Shell

SETS = """{
   name         one
   description  "a few limits"
   enabled      TRUE
   limit        users {*} hosts {h1,h2} to slots=2,virtual_free=4G,h_rt=3600
   limit        name byq users !bob queues {all.q} hosts !h1 to slots=10
}
{
   name         two
   description  NONE
   enabled      TRUE
   limit        to slots=50
}
{
   name         off
   description  NONE
   enabled      FALSE
   limit        to slots=1,h_rt=1
}
"""
HEADER = ["resource quota rule limit                filter", "-" * 80]
ALICE = "one/1              slots=1/2            users alice hosts h1"
BOB = "one/1              slots=1/2            users bob hosts h2"
FREE = "one/1              virtual_free=4G      users {*} hosts {h1,h2}"
TIME = "one/1              h_rt=3600            users {*} hosts {h1,h2}"
BY_QUEUE = "one/byq            slots=1/10           users !bob queues all.q hosts !h1"
ALL = "two/1              slots=3/50           -"


@pytest.fixture
def loaded(shell: Shell, cell: Cell) -> Shell:
    """alice runs on h1 and h3, bob on h2."""
    (shell.cwd / "sets").write_text(SETS)
    cell.add("userset", "crew", entries="bob")
    assert shell.as_root("qconf -Arqs sets").status == 0
    for user, host in (("alice", "h1"), ("alice", "h3"), ("bob", "h2")):
        cell.submit(user, hard=[f"h={host}"])
    cell.cycle()
    return shell


@pytest.mark.statement("RQ-7")
@pytest.mark.parametrize(
    ("options", "rows"),
    [
        ("", [ALICE, FREE, TIME, BY_QUEUE, ALL]),
        ("-u '*'", [ALICE, BOB, FREE, TIME, BY_QUEUE, ALL]),
        ("-u bob", [BOB, FREE, TIME, ALL]),
        ("-u al*", [ALICE, FREE, TIME, BY_QUEUE, ALL]),
        ("-u @crew", [BOB, FREE, TIME, ALL]),
        ("-h h1", [ALICE, FREE, TIME, ALL]),
        ("-u '*' -h h3", [BY_QUEUE, ALL]),
        ("-u '*' -h @allhosts", [ALICE, BOB, FREE, TIME, BY_QUEUE, ALL]),
        ("-u '*' -l h_rt,vf", [FREE, TIME]),
        ("-u '*' -q nosuch", [ALICE, BOB, FREE, TIME, ALL]),
        ("-u '*' -l nosuch", []),
    ],
)
def test_options_select_rules(loaded: Shell, options: str, rows: list[str]) -> None:
    outcome = loaded(f"qquota {options}")
    assert outcome.lines == (HEADER + rows if rows else [])
    assert (outcome.status, outcome.err) == (0, "")


@pytest.mark.statement("RQ-7")
@pytest.mark.parametrize(
    ("options", "rules"),
    [
        ("-P red -pe mpi", ["s/1", "s/2", "s/3"]),
        ("-P 'b*'", ["s/2", "s/3"]),
        ("-pe make", ["s/1", "s/3"]),
        ("-P blue -pe 'm*k*'", ["s/3"]),
    ],
)
def test_rules_of_projects_and_parallel_environments(shell: Shell, cell: Cell, options: str, rules: list[str]) -> None:
    for name in ("red", "blue"):
        cell.add("project", name)
    (shell.cwd / "set").write_text(
        "{\nname s\nenabled TRUE\nlimit projects red to h_rt=1\nlimit pes mpi to h_rt=2\nlimit to h_rt=3\n}\n"
    )
    assert shell.as_root("qconf -Arqs set").status == 0
    assert [line.split()[0] for line in shell(f"qquota {options}").lines[2:]] == rules


@pytest.mark.statement("RQ-7")
def test_amounts_are_printed_by_their_type(shell: Shell, cell: Cell) -> None:
    cell.add("complex", "mem", shortcut="mem", type="MEMORY", relop="<=", requestable="YES", consumable="YES")
    cell.configure("exec_host", "h1", complex_values="mem=100G")
    (shell.cwd / "set").write_text(
        "{\nname s\nenabled TRUE\nlimit pes !* to mem=4G\nlimit hosts {*} to slots=$num_proc*2.5\n}\n"
    )
    assert shell.as_root("qconf -Arqs set").status == 0
    cell.submit(hard=["mem=1500M"])
    cell.cycle()
    assert shell("qquota").lines[2:] == ["s/1                mem=1.465G/4.000G    pes !*"]
    cell.configure("resource_quota", "s", limit="hosts {*} to slots=$num_proc*2.5")
    assert shell("qquota").lines[2:] == ["s/1                slots=1/10           hosts h1"]


@pytest.mark.statement("RQ-7")
def test_xml(loaded: Shell) -> None:
    lines = loaded("qquota -xml -u '*'").lines
    assert lines[0] == "<?xml version='1.0'?>"
    assert lines[1].startswith("<qquota_result xmlns=") and lines[-1] == "</qquota_result>"
    assert lines[2:7] == [
        " <qquota_rule name='one/1'>",
        "   <users>alice</users>",
        "   <hosts>h1</hosts>",
        "   <limit resource='slots' limit='2' value='1'/>",
        " </qquota_rule>",
    ]
    assert "   <xusers>bob</xusers>" in lines
    assert "   <limit resource='h_rt' limit='3600'/>" in lines


@pytest.mark.statement("RQ-7")
def test_default_files(loaded: Shell) -> None:
    (loaded.common / "sge_qquota").write_text("# of the cell\n-u *\n-l slots\n")
    assert loaded("qquota").lines[2:] == [ALICE, BOB, BY_QUEUE, ALL]
    (loaded.home / ".sge_qquota").write_text("-h h2\n")
    assert loaded("qquota -u bob").lines[2:] == [BOB, ALL]


@pytest.mark.statement("RQ-7")
def test_wrong_calls(shell: Shell) -> None:
    outcome = shell("qquota -zz")
    assert outcome.status == 1 and "-zz" in outcome.err and "usage: qquota" in outcome.err
    assert shell("qquota nosuch").status == 1
    assert shell("qquota").out == ""
