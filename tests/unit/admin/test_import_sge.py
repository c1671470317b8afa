"""`gridengine import-sge` on a cell in this process. The configuration was made on Grid Engine 8.1.9 and saved by its own
save_sge_config.sh (tests/data/sge-8.1.9): all kinds of objects, queues with values of hosts and groups, queues of one host each.
"""

from __future__ import annotations

import gzip
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from clients.admin.cell_plan import CellOptions, plan_cell
from clients.admin.certificate import utc_now
from clients.admin.creation import create_cell
from clients.admin.installation import Installation
from gridengine.config.queue_resolution import resolve
from gridengine.kinds import KIND
from gridengine.syntax.lists import split_names
from gridengine.syntax.object_file import format_object, parse
from tests.harness import Cell
from tests.unit.admin.administrator import Administrator

CONFIG = Path(__file__).parents[3] / "cluster-config"
DATA = Path(__file__).parents[2] / "data" / "sge-8.1.9"
HOSTS = ["node1", "node2", "node3"]
#: where the saved files of a kind are, and how it is called here
DIRECTORIES = {
    "calendars": "calendar",
    "ckpt": "checkpoint",
    "cqueues": "cluster_queue",
    "hostgroups": "host_group",
    "pe": "parallel_environment",
    "projects": "project",
    "users": "user",
    "usersets": "userset",
}


@pytest.fixture
def admin(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Administrator:
    aliases = [f"{name}=127.0.0.{number}" for number, name in enumerate((*HOSTS, "node0"), 1)]
    options = CellOptions(
        root=tmp_path,
        spool_dir=tmp_path / "spool",
        run_dir=Path("/tmp/r"),
        master_host="node0",
        exec_hosts=HOSTS,
        aliases=aliases,
        arco=False,
    )
    create_cell(plan_cell(options), Installation(tmp_path / "bin", CONFIG), utc_now())
    (tmp_path / "cell").mkdir()
    monkeypatch.setenv("SGE_ROOT", str(tmp_path))
    monkeypatch.setenv("SGE_CELL", "default")
    cell = Cell(tmp_path / "cell", hosts=HOSTS)
    cell.aliases["oldmaster"] = "oldmaster"
    return Administrator(cell, "import-sge", capsys, monkeypatch)


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    """A copy of the saved configuration, to be spoilt."""
    return Path(shutil.copytree(DATA, tmp_path / "saved"))


@pytest.fixture
def queue(saved: Path) -> Callable[..., None]:
    """Write another queue like low.q."""

    def write(name: str, **attributes: str) -> None:
        found = {attribute: text for attribute, text, _ in parse((DATA / "cqueues" / "low.q").read_text())}
        (saved / "cqueues" / name).write_text(format_object("cluster_queue", {**found, "qname": name, **attributes}))

    return write


def revision(admin: Administrator) -> int:
    return int(admin.cell.state.revision)


@pytest.mark.statement("IN-4", "IN-5")
def test_a_dry_run_shows_all_changes_and_changes_nothing(admin: Administrator) -> None:
    before = revision(admin)
    status, output = admin("--dry-run", DATA)
    assert (status, revision(admin)) == (0, before), output
    assert '+ cluster queue "bulk"\n' in output and "queue instances appear: bulk@node1" in output
    assert 'merged: queue "bulk_node2" is "bulk" on host node2 now: -q bulk@node2\n' in output
    assert "bulk_node2" not in admin.cell.state.kind("cluster_queue")


def test_every_object_is_as_it_was(admin: Administrator) -> None:
    """Kind by kind the output of the real qconf, except for the differences that the import reports."""
    status, output = admin("--keep-queues", DATA)
    assert status == 0, output
    state = admin.cell.state
    for directory, kind in DIRECTORIES.items():
        for path in (DATA / directory).iterdir():
            assert state.kind(kind)[path.name] == {name: text for name, text, _ in parse(path.read_text())}, path
    for path in (DATA / "execution").iterdir():
        measured = ("load_values", "processors")
        expected = {name: text for name, text, _ in parse(path.read_text()) if name not in measured}
        assert state.kind("exec_host")[path.name] == expected
    assert state.kind("scheduler")[""] == {name: text for name, text, _ in parse((DATA / "schedconf").read_text())}
    assert state.kind("share_tree")[""]["nodes"] + "\n" == (DATA / "sharetree").read_text()
    for path in (DATA / "resource_quotas").iterdir():
        text = format_object("resource_quota", state.kind("resource_quota")[path.name], single_line=True)
        assert text == path.read_text()
    for kind in ("manager", "operator", "admin_host", "submit_host"):
        assert set((DATA / KIND[kind].file).read_text().split()) <= state.kind(kind).keys()
    assert {"gpu", "matlab", "exclusive", "os_release"} <= state.kind("complex").keys()
    assert state.kind("configuration")["node3"]["load_report_time"] == "00:00:20"


def test_differences_to_the_old_configuration_are_named(admin: Administrator, saved: Path) -> None:
    text = (saved / "configurations" / "global").read_text()
    (saved / "configurations" / "global").write_text(text.replace("/var/spool/gridengine/execd", "/old/spool"))
    status, output = admin(saved)
    assert status == 0
    notes = [line.removeprefix("note: ") for line in output.splitlines() if line.startswith("note: ")]
    saved = {name: text for name, text, _ in parse((saved / "configurations" / "global").read_text())}
    here = admin.cell.state.kind("configuration")["global"]
    others = {name for name, text in saved.items() if here.get(name) != text}
    assert others == {"execd_spool_dir", "flush_time=00:00:15", "jsv_url"}
    for text in (
        "execd_spool_dir stays /var/spool/gridengine/execd",
        '"flush_time=00:00:15" (joblog=false) is unknown',
        "ENABLE_ADDGRP_KILL has no",
    ):
        assert any(text in note for note in notes), (text, notes)
    assert any("start_proc_args names a path in the old installation" in note for note in notes)
    assert any(note.startswith("the file common/sge_request is not taken: copy it") for note in notes)
    assert "past usage of the share tree" in output and "jobs and reservations are not taken" in output


def test_a_verifier_that_is_not_there_would_let_no_job_in(admin: Administrator) -> None:
    status, output = admin(DATA)
    assert status == 0 and admin.cell.state.kind("configuration")["global"]["jsv_url"] == "none"
    assert "jsv_url /var/lib/gridengine/site/check.jsv is not taken: there is no program" in output


def test_a_second_time_there_is_nothing_left(admin: Administrator) -> None:
    assert admin(DATA)[0] == 0
    before = admin.cell.state.snapshot()
    status, output = admin(DATA)
    assert status == 0 and output.startswith("the cell has all of it, nothing was changed\n")
    assert admin.cell.state.snapshot() == before


def test_objects_of_this_cell_alone_stay_and_are_named(admin: Administrator) -> None:
    admin.cell.add("cluster_queue", "own.q", hostlist="node1")
    status, output = admin(DATA)
    assert status == 0 and "own.q" in admin.cell.state.kind("cluster_queue")
    assert 'note: cluster queue "own.q" is of this cell alone and stays\n' in output
    assert 'note: manager "root" is of this cell alone and stays\n' not in output  # it has the rights of its administrator anyway


@pytest.mark.statement("IN-4")
def test_queues_of_one_host_each_become_one_with_the_values_that_each_had(admin: Administrator) -> None:
    assert admin(DATA)[0] == 0
    queues = admin.cell.state.kind("cluster_queue")
    for family in ("bulk", "night"):
        assert list(split_names(queues[family]["hostlist"])) == HOSTS
        for host in HOSTS:
            old = {name: text for name, text, _ in parse((DATA / "cqueues" / f"{family}_{host}").read_text())}
            new, _ = resolve(queues[family], host, frozenset())
            other = {name: (old[name], text) for name, text in new.items() if old[name] != text}
            renamed = {"subordinate_list": (f"bulk_{host}=1", "bulk=1")} if family == "night" else {}
            assert other == {"qname": (f"{family}_{host}", family), **renamed}
    assert queues["bulk"]["slots"] == "2,[node2=3],[node3=4]"
    assert not any(name.startswith(("bulk_", "night_")) for name in queues)
    rules = admin.cell.state.kind("resource_quota")["bulk_limits"]["limit"].split("\n")
    assert rules == [
        "queues bulk hosts node1,node2 to slots=3",
        "name each queues {bulk} hosts {node1,node2,node3} to slots=2",
    ]


def test_queues_that_belong_together_by_a_pattern(admin: Administrator, saved: Path, queue: Callable[..., None]) -> None:
    for host in HOSTS:
        queue(f"{host}.q", hostlist=host, slots=host[-1])
    status, output = admin(saved)
    assert status == 0 and "queues node1.q node2.q node3.q are of one host each: --merge NAME=PATTERN merges them" in output
    assert admin("--merge", "batch.q=node*.q", saved)[0] == 0
    assert admin.cell.state.kind("cluster_queue")["batch.q"]["slots"] == "1,[node2=2],[node3=3]"


@pytest.mark.parametrize(
    ("option", "why"),
    [
        ("x=nothing*", "selects 0 queues"),
        ("x=*.q", "is not a queue of one host"),
        ("x=*_node1", "two of these queues are of the host node1"),
        ("low.q=bulk_*", "there is a queue of this name"),
        ("x", "give NAME=PATTERN"),
    ],
)
def test_a_pattern_that_makes_no_queue_is_refused(admin: Administrator, option: str, why: str) -> None:
    before = revision(admin)
    status, output = admin("--merge", option, DATA)
    assert (status, revision(admin)) == (1, before) and why in output, output


@pytest.mark.parametrize(
    ("rule", "stays"),
    [
        ("queues bulk_node1,low.q to slots=3", True),
        ("queues bulk_node1 hosts node1 to slots=3", True),
        ("queues !bulk_node1 to slots=3", True),
        ("queues *_node1 to slots=3", True),
        ("queues * to slots=3", False),
        ("users alice to slots=3", False),
    ],
)
def test_a_rule_that_one_queue_cannot_be_asked_for_keeps_them_apart(
    admin: Administrator, saved: Path, rule: str, stays: bool
) -> None:
    text = f"{{\n   name mixed\n   description NONE\n   enabled TRUE\n   limit {rule}\n}}\n"
    (saved / "resource_quotas" / "mixed").write_text(text)
    status, output = admin(saved)
    assert status == 0, output
    assert ("bulk_node1" in admin.cell.state.kind("cluster_queue")) is stays
    assert ('stay as they are: the resource quota set "mixed" has a rule on some of them' in output) is stays
    assert admin.cell.state.kind("resource_quota")["mixed"]["limit"] == rule


def test_the_new_name_may_be_taken(admin: Administrator, saved: Path, queue: Callable[..., None]) -> None:
    queue("bulk", hostlist="@compute")
    status, output = admin(saved)
    assert status == 0 and 'queues bulk_node1 bulk_node2 bulk_node3 stay as they are: there is a queue "bulk" already' in output
    assert admin.cell.state.kind("cluster_queue")["night"]["subordinate_list"].startswith("bulk_node1=1,[node2=bulk_node2=1]")


@pytest.mark.parametrize(
    ("file", "old", "new", "option", "why"),
    [
        ("cqueues/low.q", "slots                 2", "slots many", "cluster_queue/low.q/slots", '"many" is not an integer'),
        ("calendars/nights", "week", "week never # ", "calendar/nights/week", "week"),
        ("pe/mpi", "pe_name            mpi", "", "parallel_environment/mpi", '"pe_name"'),
        ("schedconf", "halftime", "halftime 1\nhalftime", "scheduler", "is given twice"),
    ],
)
def test_an_unreadable_object_stops_the_import_until_it_is_left_out(
    admin: Administrator, saved: Path, file: str, old: str, new: str, option: str, why: str
) -> None:
    text = (saved / file).read_text()
    assert old in text
    (saved / file).write_text(text.replace(old, new, 1))
    before = revision(admin)
    status, output = admin(saved)
    assert (status, revision(admin)) == (1, before)
    assert f"{saved / file}: " in output and why in output and "nothing was changed" in output, output
    status, output = admin("--leave-out", option, saved)
    assert status == 0 and "is left out, as requested" in output, output


def test_a_refusal_of_the_qmaster_stops_the_whole_import(admin: Administrator, saved: Path, queue: Callable[..., None]) -> None:
    queue("x.q", hostlist="node7", pe_list="nowhere")
    before = revision(admin)
    status, output = admin(saved)
    assert (status, revision(admin)) == (1, before)
    assert 'parallel environment "nowhere" does not exist' in output and 'unable to resolve host "node7"' in output
    status, output = admin("--without-host", "node7", "--leave-out", "cluster_queue/x.q/pe_list", saved)
    assert status == 0 and admin.cell.state.kind("cluster_queue")["x.q"]["hostlist"] == "NONE", output


def test_options_with_unknown_names_are_refused(admin: Administrator) -> None:
    for option in (["--leave-out", "cluster_queue/lo.q"], ["--without-host", "node77"]):
        status, output = admin(*option, DATA)
        assert status == 1 and option[1] in output and "nothing was changed" in output


def test_a_host_that_is_gone_is_taken_nowhere(admin: Administrator) -> None:
    status, output = admin("--without-host", "node2", DATA)
    state = admin.cell.state
    assert status == 0 and split_names(state.kind("cluster_queue")["bulk"]["hostlist"]) == ("node1", "node3"), output
    assert state.kind("host_group")["@rack1"]["hostlist"] == "node1"


def test_differences_of_other_versions(admin: Administrator, saved: Path) -> None:
    """Differences of forks and old versions: values without a meaning here are named and left out."""
    spoilt = (
        ("pe/hybrid8", "qsort_args         NONE", "qsort_args /opt/order.so order"),
        ("usersets/gpuusers", "fshare  0", "fshare 7"),
        ("schedconf", "MONITOR=1", "MONITOR=1,SELECT_PE_RANGE_ALG=2"),
        ("ckpt/blcr", "signal", "energy_aware TRUE\nsignal"),
        ("pe/openmpi", "accounting_summary TRUE", ""),
    )
    for file, old, new in spoilt:
        text = (saved / file).read_text()
        assert old in text, file
        (saved / file).write_text(text.replace(old, new))
    (saved / "strange").write_text("x")
    status, output = admin(saved)
    assert status == 0, output
    for note in (
        'parallel environment "hybrid8": qsort_args /opt/order.so order is left out',
        'userset "gpuusers": fshare 7 is left out',
        "scheduler configuration: params SELECT_PE_RANGE_ALG=2 is unknown here and is left out",
        'checkpoint interface "blcr": the attribute "energy_aware" (TRUE) is unknown here and is left out',
        "strange was not read",
    ):
        assert note in output, output
    assert admin.cell.state.kind("scheduler")[""]["params"] == "MONITOR=1"
    assert admin.cell.state.kind("parallel_environment")["openmpi"]["accounting_summary"] == "FALSE"


@pytest.mark.parametrize("source", ["live", "/dev/null", "/nowhere"])
def test_sources_that_are_none(admin: Administrator, source: str) -> None:
    status, output = admin(source)
    assert status == 1 and ("--sge-root" in output or "is not a directory" in output)


def test_a_directory_without_a_configuration(admin: Administrator, tmp_path: Path) -> None:
    (tmp_path / "none").mkdir()
    assert admin(tmp_path / "none") == (
        1,
        f"gridengine: {tmp_path / 'none'} holds no configuration: give a directory made by save_sge_config.sh, or `live`\n",
    )


@pytest.mark.parametrize("packed", [False, True])
def test_the_accounting_file_comes_along_once(admin: Administrator, tmp_path: Path, packed: bool) -> None:
    text = (DATA / "cell" / "accounting").read_bytes() + b"no record\n\0\n"
    file = tmp_path / "accounting"
    file.write_bytes(gzip.compress(text) if packed else text)
    status, output = admin("--accounting", file, DATA)
    assert status == 0 and f"{file}: 6 records imported, 0 were known, 2 lines are no records\n" in output, output
    assert "no records, the first of them: line 11, 12" in output
    status, output = admin("--accounting", file, DATA)
    assert f"{file}: 0 records imported, 6 were known, 2 lines are no records\n" in output
    found = admin.cell.master.spool.accounted.records([12])
    assert sorted(record.task_number for _, record in found) == ["1", "2", "3"]
    assert admin.cell.ask("submit", "alice", "node1", binary=True, script_file="/bin/true").data["job_id"] == 13


def test_numbers_of_jobs_go_on_where_they_were(admin: Administrator) -> None:
    status, output = admin(DATA)
    assert status == 0 and output.endswith("jobs get numbers from 13 on\n")
    assert admin.cell.ask("submit", "alice", "node1", binary=True, script_file="/bin/true").data["job_id"] == 13


def test_an_accounting_file_that_cannot_be_read(admin: Administrator, tmp_path: Path) -> None:
    status, output = admin("--accounting", tmp_path / "nowhere", DATA)
    assert status == 1 and f"cannot read {tmp_path / 'nowhere'}" in output
    (tmp_path / "torn").write_bytes(gzip.compress((DATA / "cell" / "accounting").read_bytes())[:-20])
    status, output = admin("--accounting", tmp_path / "torn", DATA)
    assert status == 1 and f"cannot read {tmp_path / 'torn'}" in output
