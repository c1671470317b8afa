"""`gridengine config`: the configuration as files, plans, all or nothing, history and undo, on a cell in this process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from clients import gdi
from gridengine.kinds import KIND
from gridengine.state.state_codes import instance_state_codes
from tests.harness import Cell
from tests.unit.admin.administrator import Administrator


@pytest.fixture
def cell(tmp_path: Path) -> Cell:
    found = Cell(tmp_path / "cell")
    found.add("host_group", "@a", hostlist="h1 h2")
    found.add("host_group", "@b", hostlist="h3")
    found.add("project", "p")
    found.add("resource_quota", "rq", limit="users {*} to slots=9\nprojects p to slots=3")
    return found


@pytest.fixture
def admin(
    cell: Cell, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Administrator:
    (tmp_path / "cell").mkdir(exist_ok=True)
    monkeypatch.setenv("SGE_ROOT", str(tmp_path))
    monkeypatch.setenv("SGE_CELL", "default")
    return Administrator(cell, "config", capsys, monkeypatch)


@pytest.fixture
def files(admin: Administrator, tmp_path: Path) -> Path:
    """A directory that holds the cell as it is."""
    directory = tmp_path / "files"
    assert admin("export", directory)[0] == 0
    return directory


def _edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


@pytest.mark.statement("OB-2", "SP-5")
def test_an_unchanged_export_changes_nothing(admin: Administrator, files: Path) -> None:
    assert admin("diff", files) == (0, "")
    assert admin("plan", files) == (0, "the cell matches the directory, nothing would change\n")
    before = admin.cell.state.revision
    assert admin("apply", files)[0] == 0
    assert admin.cell.state.revision == before
    assert (files / "hostgroups" / "@a").read_text() == "group_name @a\nhostlist h1 h2\n"


@pytest.mark.statement("HG-8", "CQ-28", "CQ-12")
def test_a_plan_shows_the_effect_on_instances(admin: Administrator, files: Path) -> None:
    job = admin.cell.submit(hard_queues=["all.q@h3"])
    admin.cell.cycle()
    _edit(files / "queues" / "all.q", "@allhosts", "@a h9")
    _edit(files / "queues" / "all.q", "seq_no                0", "seq_no                0,[@a=1],[@b=2],[@allhosts=3]")
    before = admin.cell.state.objects["cluster_queue"]["all.q"]
    status, text = admin("plan", files)
    assert status == 0
    assert "    hostlist: @allhosts -> @a h9\n" in text
    assert "1 queue instances appear: all.q@h9\n" in text
    assert "1 queue instances are orphaned, their jobs go on (o): all.q@h3\n" in text
    assert "all.q@h1 becomes ambiguous (c): seq_no has values for @a, @allhosts\n" in text
    assert admin.cell.state.objects["cluster_queue"]["all.q"] == before, "a plan changes nothing"
    assert admin("apply", files)[0] == 0
    codes = {name: instance_state_codes(admin.cell.state, found) for name, found in admin.cell.state.instances.items()}
    assert codes == {"all.q@h1": "c", "all.q@h2": "c", "all.q@h3": "o", "all.q@h9": "u"}
    admin.cell.end(job)


@pytest.mark.statement("SP-6", "GD-2", "US-8")
def test_all_or_nothing(admin: Administrator, files: Path) -> None:
    (files / "projects" / "q").write_text((files / "projects" / "p").read_text().replace("name p", "name q"))
    (files / "pe" / "make").unlink()
    objects, revision = admin.cell.state.objects, admin.cell.state.revision
    status, text = admin("plan", files)
    reason = 'denied: parallel environment "make" is still referenced in cluster queue "all.q"'
    # a queue that refers to what is not there is the same fault, seen from its other end
    assert status == 1
    assert text.count(reason) == 1, "each reason once"
    status, text = admin("apply", files)
    assert status == 1
    assert reason in text
    assert (admin.cell.state.revision, "q" in objects["project"]) == (revision, False)
    _edit(files / "queues" / "all.q", "make smp mpi", "smp mpi")
    assert admin("apply", files)[0] == 0
    assert admin.cell.state.revision == revision + 1, "one transaction"
    assert not admin.cell.state.has("parallel_environment", "make")
    assert admin.cell.state.has("project", "q")


@pytest.mark.statement("SP-6", "QI-13")
def test_hosts_that_move_between_groups_keep_their_state(admin: Administrator, files: Path) -> None:
    admin.cell.configure("cluster_queue", "all.q", hostlist="@a @b")
    admin.cell.admin("change_states", action="disable", what="queue", targets=["all.q@h2"])
    admin("export", files)
    _edit(files / "hostgroups" / "@a", "h1 h2", "h1")
    _edit(files / "hostgroups" / "@b", "h3", "h2 h3")
    status, text = admin("plan", files)
    assert (status, "queue instances" in text) == (0, False)
    admin("apply", files)
    assert admin.cell.state.instances["all.q@h2"].disabled


@pytest.mark.parametrize("verb", ["plan", "apply"])
def test_a_refusal_is_printed_once(admin: Administrator, files: Path, verb: str) -> None:
    _edit(files / "queues" / "all.q", "seq_no", "seq_no x #")
    status, text = admin(verb, files)
    assert status == 1 and text.count("is not an integer") == 1, text


def test_changes_made_meanwhile_are_not_lost(admin: Administrator, files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _edit(files / "projects" / "p", "fshare 0", "fshare 5")
    call = gdi.call

    def slowly(name: str, body: Any) -> gdi.Answer:
        answer = call(name, body)
        if name == "config_export":
            admin.cell.configure("project", "p", oticket="7")
        return answer

    monkeypatch.setattr(gdi, "call", slowly)
    status, text = admin("apply", files)
    assert status == 1
    assert 'project "p" has been changed since this change was made' in text
    assert admin.cell.state.objects["project"]["p"]["fshare"] == "0"


@pytest.mark.statement("GD-10")
@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("queues/all.q", "qname all.q\nslots x\n", "the attribute is missing"),
        ("queues/other", None, "is in another file, too"),
        ("quues/all.q", "x", "a cell has no file of this name"),
        ("projects/p", "\x00\xff", "project"),
    ],
)
def test_files_that_are_wrong_are_named(
    admin: Administrator, files: Path, name: str, text: str | None, reason: str
) -> None:
    path = files / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text if text is not None else (files / "queues" / "all.q").read_text())
    for command in ("diff", "plan", "apply"):
        status, printed = admin(command, files)
        assert status == 1
        assert reason in printed
        assert "Traceback" not in printed


def test_files_under_version_control(admin: Administrator, files: Path) -> None:
    (files / ".git").mkdir()
    (files / ".git" / "config").write_text("x")
    admin.cell.admin("config_delete", kind="resource_quota", name="rq")
    assert (files / "resource_quotas" / "rq").exists()
    assert "removed" in admin("export", files)[1]
    assert not (files / "resource_quotas" / "rq").exists()
    assert (files / ".git" / "config").exists()
    assert admin("diff", files) == (0, "")


def test_a_difference_is_shown_by_file(admin: Administrator, files: Path) -> None:
    _edit(files / "projects" / "p", "fshare 0", "fshare 5")
    status, text = admin("diff", files)
    assert status == 1
    assert "--- cell/projects/p\n" in text
    assert "-fshare 0\n+fshare 5\n" in text


@pytest.mark.statement("QF-37")
def test_history_shows_changes_with_their_users_and_undo_reverts_them(admin: Administrator) -> None:
    admin.cell.configure("project", "p", fshare="5")
    admin.cell.configure("cluster_queue", "all.q", slots="7")
    text = admin("history", "--limit", 2)[1]
    assert text.index('~ cluster queue "all.q"') < text.index('~ project "p"'), "the newest first"
    assert "    slots: 4 -> 7\n" in text
    assert "root@master" in text
    assert "all.q" not in admin("history", "--kind", "project", "--name", "p")[1]
    assert "slots: 4 -> 7" in admin("history", "--kind", "queue")[1], "as qconf calls it"
    status, text = admin("history", "--kind", "queues")
    assert (status, '"queues" is no kind of object' in text) == (1, True)
    assert admin("undo", "--plan")[0] == 0
    assert admin.cell.state.configs["all.q@h1"].slots == 7
    status, text = admin("undo")
    assert (status, "slots: 7 -> 4" in text, "back" in text) == (0, True, False)
    assert admin.cell.state.configs["all.q@h1"].slots == 4
    number = admin.cell.master.spool.history(2)[-1][0]
    assert f"change {number}, which it undid, is applied again\n" in admin("undo")[1]
    assert admin.cell.state.configs["all.q@h1"].slots == 7, "an undo can be undone"
    number = admin.cell.master.spool.history(1, kind="project")[0][0]
    assert admin("undo", number)[0] == 0
    assert admin.cell.state.objects["project"]["p"]["fshare"] == "0"


@pytest.mark.statement("US-8")
def test_an_undo_that_would_break_something_is_refused(admin: Administrator) -> None:
    admin.cell.add("parallel_environment", "new")
    admin.cell.configure("cluster_queue", "all.q", pe_list="new")
    number = admin.cell.master.spool.history(1, kind="parallel_environment")[0][0]
    status, text = admin("undo", number)
    assert (status, 'still referenced in cluster queue "all.q"' in text) == (1, True)
    admin.cell.configure("parallel_environment", "new", slots="5")
    assert "has been changed since this change was made" in admin("undo", number)[1]
    assert admin("undo", 999999)[0] == 1


@pytest.mark.statement("BU-2")
def test_another_cell_becomes_what_was_saved(
    admin: Administrator, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every kind of object, saved from a cell and loaded into a new cell."""
    saved = admin.cell
    for kind in KIND.values():
        if not saved.state.kind(kind.name):
            assert saved.add(kind.name, "" if kind.single else "h1" if kind.hosts else "x").status == 0
    saved.configure("cluster_queue", "all.q", priority="5", user_lists="NONE", calendar="x")
    assert all(saved.state.kind(kind) for kind in KIND)
    assert admin("export", tmp_path / "saved")[0] == 0
    fresh = Administrator(Cell(tmp_path / "fresh"), "config", capsys, monkeypatch)
    assert fresh("diff", tmp_path / "saved")[0] == 1
    assert fresh("apply", tmp_path / "saved")[0] == 0
    assert fresh("diff", tmp_path / "saved") == (0, "")
    assert fresh.cell.state.objects == saved.state.objects
