"""qconf: showing, changing by file, editor and attribute; messages about missing objects."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

import pytest

from tests.harness import Cell
from tests.unit.clients.shell import Outcome, Shell


@pytest.fixture
def editor(monkeypatch: pytest.MonkeyPatch):  # type: ignore[no-untyped-def]
    """`editor(change)` has the next edited file changed by a function of its text; the words it was run with are kept."""
    runs: list[list[str]] = []

    def install(change, command: str = "ed -x"):  # type: ignore[no-untyped-def]
        def edit(program: str, arguments: list[str], environment: object) -> int:
            runs.append(arguments)
            path = Path(arguments[-1])
            changed = change(path.read_text())
            if changed is None:
                return 1
            path.write_text(changed)
            return 0

        monkeypatch.setenv("EDITOR", command)
        monkeypatch.setattr(os, "posix_spawnp", edit)
        monkeypatch.setattr(os, "waitpid", lambda pid, options: (pid, pid << 8))
        return runs

    return install


@pytest.mark.statement("QF-12", "QF-13", "QF-18", "QF-20", "QF-24", "QF-25", "QF-26", "QF-31")
@pytest.mark.parametrize(
    ("option", "first"),
    [
        ("-sql", "all.q"),
        ("-sq all.q", "qname                 all.q"),
        ("-sq", "qname                 template"),
        ("-spl", "make"),
        ("-sp mpi", "pe_name            mpi"),
        ("-sc", "#name               shortcut   type      relop requestable consumable default  urgency "),
        ("-sh", "h1"),
        ("-sm", "root"),
        ("-sul", "arusers"),
        ("-su arusers", "name    arusers"),
        ("-ssconf", "algorithm                         default"),
        ("-sconf", "#global:"),
        ("-sconf global", "#global:"),
        ("-shgrpl", "@allhosts"),
        ("-shgrp @allhosts", "group_name @allhosts"),
        ("-shgrp_resolved @allhosts", "h1 h2 h3"),
        ("-sel", "h1"),
    ],
)
def test_each_option_shows_its_object(shell: Shell, option: str, first: str) -> None:
    outcome = shell(f"qconf {option}")
    assert (outcome.lines[0], outcome.err, outcome.status) == (first, "", 0)


@pytest.mark.statement("QF-12")
def test_queues_by_expression(shell: Shell, cell: Cell) -> None:
    cell.configure("cluster_queue", "all.q", slots="4,[h2=7]")
    lines = shell("qconf -sq all.q@h2").lines
    assert lines[:2] == ["qname                 all.q", "hostname              h2"]
    assert "slots                 7" in lines
    assert shell("qconf -sq 'a*@h[12]'").out.count("\n\n") == 1
    assert shell("qconf -sq all.q@h1 all.q@h2").out == shell("qconf -sq all.q@h1,all.q@h2").out
    for divided in ("nosuch,all.q", "nosuch all.q"):
        outcome = shell(f"qconf -sq {divided}")
        assert outcome.lines[0] == "qname                 all.q"
        assert outcome.err == 'No cluster queue or queue instance matches the phrase "nosuch"\n'
        assert outcome.status == 1


@pytest.mark.statement("QF-17", "HG-5")
def test_nested_groups(shell: Shell, cell: Cell) -> None:
    cell.add("host_group", "@part", hostlist="h1 h2")
    cell.add("host_group", "@both", hostlist="@part h3 h2")
    assert shell("qconf -shgrp_tree @both").out == "@both\n   @part\n      h1\n      h2\n   h3\n   h2\n"
    assert shell("qconf -shgrp_resolved @both").out == "h3 h2 h1\n"
    assert shell("qconf -shgrp_tree @nosuch").status == 1


@pytest.mark.parametrize(
    ("option", "text"),
    [
        ("-suserl", "no user list defined"),
        ("-sprjl", "no project list defined"),
        ("-srqsl", "no resource quota set list defined"),
        ("-sckptl", "no ckpt interface definition defined"),
        ("-scall", "no calendar defined"),
        ("-sconfl", "no config defined"),
        ("-so", "no operator defined"),
        ("-srqs", "No resource quota set found"),
        ("-sstree", "no sharetree element"),
    ],
)
def test_a_missing_object_is_reported(shell: Shell, option: str, text: str) -> None:
    outcome = shell(f"qconf {option}")
    assert (outcome.out, outcome.err, outcome.status) == ("", f"{text}\n", 1)


@pytest.mark.statement("QF-23")
def test_a_host_with_its_load_values(shell: Shell) -> None:
    lines = shell("qconf -se h1").lines
    assert lines[0] == "hostname              h1"
    assert lines[3].startswith("load_values           arch=lx-amd64,num_proc=4,load_avg=0.1,")
    assert "processors            4" in lines
    assert "load_values           NONE" in shell("qconf -se global").lines


@pytest.mark.statement("OB-2", "QF-9", "QF-10", "QF-11", "QF-37")
def test_shown_files_are_read_again(shell: Shell, cell: Cell) -> None:
    path = shell.cwd / "queue"
    path.write_text(shell("qconf -sq all.q").out.replace("all.q\n", "b.q\n", 1))
    assert shell.as_root(f"qconf -Aq {path}").out == 'root@master added "b.q" to cluster queue list\n'
    path.write_text(path.read_text().replace("slots                 4", "slots                 9"))
    assert shell.as_root(f"qconf -Mq {path}").out == 'root@master modified "b.q" in cluster queue list\n'
    assert shell("qconf -sq b.q").out == path.read_text()
    assert shell.as_root("qconf -dq b.q").out == 'root@master removed "b.q" from cluster queue list\n'
    path.write_text(shell("qconf -sc").out)
    assert shell.as_root(f"qconf -Mc {path}").status == 0


@pytest.mark.statement("QF-20", "QF-23", "QF-30", "CQ-26")
@pytest.mark.parametrize(
    ("add", "change", "show", "text", "new"),
    [
        ("-Ap", "-Mp", "-sp", "pe_name new\nslots \\\n 5\n", "slots              5"),
        ("-Ae", "-Me", "-se", "hostname h8\ncomplex_values lic=1,\\\n  disk=4\n", "complex_values        lic=1,disk=4"),
        ("-Aconf", "-Mconf", "-sconf", "mailer \\\n/bin/x\n", "mailer                       /bin/x"),
    ],
)
def test_objects_from_files_with_continued_lines(
    shell: Shell, cell: Cell, add: str, change: str, show: str, text: str, new: str
) -> None:
    for each in ("lic", "disk"):
        cell.add("complex", each, shortcut=each, type="INT", relop="<=", requestable="YES", consumable="YES", default="0")
    name = {"-Ap": "new", "-Ae": "h8", "-Aconf": "h8"}[add]
    path = shell.cwd / name
    head = {"-Ap": shell("qconf -sp mpi"), "-Ae": shell("qconf -se template"), "-Aconf": Outcome("", "", 0)}[add].out
    given = {"load_values", "processors"} | {line.split()[0] for line in text.splitlines() if not line.startswith(" ")}
    path.write_text(text + "".join(f"{line}\n" for line in head.splitlines() if line.split()[0] not in given))
    outcome = shell.as_root(f"qconf {add} {path}")
    assert (outcome.err, outcome.status) == ("", 0)
    assert outcome.out.startswith(f'root@master added "{name}" to ')
    assert new in shell(f"qconf {show} {name}").lines
    path.write_text(path.read_text().replace("5\n", "6\n").replace("lic=1", "lic=2").replace("/bin/x", "/bin/y"))
    outcome = shell.as_root(f"qconf {change} {path}")
    assert (outcome.err, outcome.status) == ("", 0)
    assert outcome.out.startswith(f'root@master modified "{name}" in ')
    assert new not in shell(f"qconf {show} {name}").lines


@pytest.mark.statement("QF-20", "QF-23")
@pytest.mark.parametrize(
    ("option", "old", "new", "shown"),
    [
        ("-ap new", "slots              0", "slots 7", "-sp new"),
        ("-ae", "template", "h8", "-se h8"),
        ("-ae h1", "template", "h8", "-se h8"),
    ],
)
def test_objects_made_in_the_editor(shell: Shell, editor, option: str, old: str, new: str, shown: str) -> None:  # type: ignore[no-untyped-def]
    editor(lambda text: text.replace(old, new, 1))
    outcome = shell.as_root(f"qconf {option}")
    assert (outcome.err, outcome.status) == ("", 0)
    assert new.split()[-1] in shell(f"qconf {shown}").out


@pytest.mark.statement("QF-38")
def test_a_file_with_a_fault(shell: Shell) -> None:
    path = shell.cwd / "pe"
    path.write_text(shell("qconf -sp mpi").out.replace("mpi ", "new ").replace("slots              99999", "slots     many"))
    outcome = shell.as_root(f"qconf -Ap {path}")
    assert (outcome.out, outcome.status) == ("", 1)
    assert "line 2" in outcome.err
    assert shell.as_root("qconf -Ap /no/file").err == "qconf: cannot read /no/file: No such file or directory\n"
    path.write_text("\n# nothing\n")
    assert "describes no object" in shell.as_root(f"qconf -Ap {path}").err


@pytest.mark.statement("QF-24", "QF-25", "QF-37", "QF-38")
def test_lists_of_names_one_by_one(shell: Shell) -> None:
    outcome = shell.as_root("qconf -am alice,bob")
    assert outcome.out == 'root@master added "alice" to manager list\nroot@master added "bob" to manager list\n'
    outcome = shell.as_root("qconf -dm alice,nosuch,bob")
    assert len(outcome.lines) == 2
    assert outcome.status == 1
    assert "nosuch" in outcome.err


@pytest.mark.statement("QF-1", "QF-3", "QF-4", "QF-5", "QF-39")
def test_attributes(shell: Shell, cell: Cell) -> None:
    slots = lambda: cell.state.kind("cluster_queue")["all.q"]["slots"]  # noqa: E731
    assert shell.as_root("qconf -mattr queue slots 7 all.q@h1 all.q@@allhosts").status == 0
    assert "[h1=7]" in slots()
    assert "[@allhosts=7]" in slots()
    shell.as_root("qconf -rattr queue slots 5 all.q")
    assert slots().startswith("5")
    (shell.cwd / "attributes").write_text("seq_no 3\nslots 6\n")
    shell.as_root("qconf -Mattr queue attributes all.q")
    assert shell("qconf -sq all.q@h3").lines[2] == "seq_no                3"
    outcome = shell.as_root("qconf -mattr nothing slots 1 all.q")
    assert outcome.status == 1
    assert 'object name "nothing" is not supported' in outcome.err


@pytest.mark.statement("QF-26")
def test_access_lists(shell: Shell, cell: Cell) -> None:
    shell.as_root("qconf -au alice,bob one,two")
    shell.as_root("qconf -du bob one")
    entries = {name: cell.state.kind("userset")[name]["entries"] for name in ("one", "two")}
    assert entries == {"one": "alice", "two": "alice,bob"}


@pytest.mark.statement("QF-9", "QF-10")
def test_the_editor(shell: Shell, cell: Cell, editor) -> None:  # type: ignore[no-untyped-def]
    runs = editor(lambda text: text.replace("slots                 4", "slots                 8"))
    assert shell.as_root("qconf -mq all.q").out == 'root@master modified "all.q" in cluster queue list\n'
    assert runs[0][:2] == ["ed", "-x"], "the editor is run without a shell"
    assert not Path(runs[0][-1]).exists()
    assert cell.state.kind("cluster_queue")["all.q"]["slots"] == "8"
    editor(lambda text: text.replace("hostlist              NONE", "hostlist              @allhosts"))
    assert shell.as_root("qconf -aq c.q").out == 'root@master added "c.q" to cluster queue list\n'
    editor(lambda text: text.replace("finished_jobs                100", "finished_jobs                7"))
    assert shell.as_root("qconf -mconf").status == 0
    assert cell.state.configuration_text("")["finished_jobs"] == "7"


@pytest.mark.statement("QF-9", "QF-10")
def test_nothing_is_sent_when_nothing_was_edited(shell: Shell, editor) -> None:  # type: ignore[no-untyped-def]
    def changing() -> list[str]:
        return [name for name, _ in shell.asked if name in ("config_add", "config_modify")]

    editor(lambda text: text)
    outcome = shell.as_root("qconf -mq all.q")
    assert (outcome.out, outcome.err, outcome.status) == ("", "nothing was changed\n", 0)
    assert shell.as_root("qconf -mp mpi").status == 1
    assert shell.as_root("qconf -ap new").status == 1, "a template is no object yet"
    editor(lambda text: None)
    assert shell.as_root("qconf -mq all.q").status == 1
    assert changing() == []


@pytest.mark.statement("QF-29", "QF-10")
def test_all_quota_sets_in_the_editor(shell: Shell, cell: Cell, editor) -> None:  # type: ignore[no-untyped-def]
    block = "{{\n   name {}\n   description NONE\n   enabled TRUE\n   limit users {{*}} to slots={}\n}}\n"
    editor(lambda text: block.format("one", 4))
    assert shell.as_root("qconf -arqs one").out == 'root@master added "one" to resource quota set list\n'
    editor(lambda text: text.replace("slots=4", "slots=5"))
    assert shell.as_root("qconf -mrqs one").out == 'root@master modified "one" in resource quota set list\n'
    assert cell.state.kind("resource_quota")["one"]["limit"] == "users {*} to slots=5"
    editor(lambda text: block.format("two", 2) + block.format("three", 3))
    assert shell.as_root("qconf -mrqs").status == 0
    assert shell("qconf -srqsl").out == "three\ntwo\n"
    editor(lambda text: text)
    assert shell.as_root("qconf -mrqs").err == "nothing was changed\n"


@pytest.mark.statement("QF-26", "QF-30", "QF-9")
def test_missing_objects_are_made_in_the_editor(shell: Shell, cell: Cell, editor) -> None:  # type: ignore[no-untyped-def]
    editor(lambda text: text.replace("entries NONE", "entries alice"))
    assert shell.as_root("qconf -mu new").out == 'root@master added "new" to userset list\n'
    assert cell.state.kind("userset")["new"]["entries"] == "alice"
    for option in ("-aconf", "-mconf"):
        editor(lambda text: text + "load_sensor /bin/x\n")
        assert shell.as_root(f"qconf {option} h1").out == 'root@master added "h1" to configuration list\n'
        assert shell("qconf -sconf h1").out == "#h1:\nload_sensor                  /bin/x\n\n"
        shell.as_root("qconf -dconf h1")
    (shell.cwd / "h1").write_text("load_sensor /bin/x\n")
    assert shell.as_root("qconf -Mconf h1").err == "configuration h1 does not exist\n"


@pytest.mark.statement("QF-36", "QF-9")
def test_rights_are_checked_before_the_editor_starts(shell: Shell, editor) -> None:  # type: ignore[no-untyped-def]
    runs = editor(lambda text: text + "x")
    for option in ("-mconf", "-mq all.q", "-aq new", "-mc"):
        assert shell(f"qconf {option}").err == 'denied: "alice" must be manager for this operation\n'
    assert not runs
    editor(lambda text: None)
    assert shell.as_root("qconf -mq nosuch").err == 'denied: cluster queue "nosuch" does not exist\n'


@pytest.mark.statement("QF-10")
def test_an_editor_that_removes_the_file(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "posix_spawnp", lambda program, arguments, environment: Path(arguments[-1]).unlink() or 0)
    monkeypatch.setattr(os, "waitpid", lambda pid, options: (pid, pid))
    outcome = shell.as_root("qconf -mq all.q")
    assert (outcome.out, outcome.status) == ("", 1)
    assert outcome.err.startswith("qconf: cannot read ")


@pytest.mark.statement("QF-23", "QF-26", "QF-27", "QF-29")
def test_several_objects_shown_at_once(shell: Shell, cell: Cell) -> None:
    assert shell("qconf -se template").lines[:4] == [
        "hostname              template",
        "load_scaling          NONE",
        "complex_values        NONE",
        "load_values           NONE",
    ]
    assert "entries NONE\n\nname " in shell("qconf -su arusers,deadlineusers").out
    for name in ("u", "v"):
        cell.add("user", name)
        cell.add("resource_quota", name, limit="users {*} to slots=1")
    assert "default_project NONE\n\nname v\n" in shell("qconf -suser u,v").out
    assert "}\n{\n" in shell("qconf -srqs u,v").out


@pytest.mark.statement("QF-14")
def test_a_queue_is_cleaned(shell: Shell, cell: Cell) -> None:
    shell("qsub -b y -q all.q@h1 sleep 9")
    shell("qsub -b y -q all.q@h2 -t 1-2 sleep 9")
    cell.cycle()
    assert shell.as_root("qconf -cq all.q@h2").status == 0
    assert shell.asked[-1] == ("clean_queues", {"queues": ["all.q@h2"]})
    assert list(cell.state.jobs) == [1]
    outcome = shell.as_root("qconf -cq nosuch.q,all.q@h1")
    assert (outcome.err, outcome.status) == ('invalid queue or job "nosuch.q"\n', 1)
    assert outcome.out == 'root@master purged queue "all.q@h1"\n'
    assert not cell.state.jobs
    assert shell("qconf -cq all.q").status == 1, "alice is no operator"


@pytest.mark.statement("QF-34")
@pytest.mark.parametrize(
    ("option", "body"),
    [
        ("-km", {"what": "qmaster", "hosts": [], "kill_jobs": False}),
        ("-ks", {"what": "scheduler", "hosts": [], "kill_jobs": False}),
        ("-kt scheduler", {"what": "scheduler", "hosts": [], "kill_jobs": False}),
        ("-ke h1,h2", {"what": "execd", "hosts": ["h1", "h2"], "kill_jobs": False}),
        ("-kej all", {"what": "execd", "hosts": ["all"], "kill_jobs": True}),
    ],
)
def test_shutting_down(shell: Shell, monkeypatch: pytest.MonkeyPatch, option: str, body: dict) -> None:  # type: ignore[type-arg]
    from clients import gdi

    asked: list[object] = []
    monkeypatch.setattr(gdi, "call", lambda name, sent: asked.append((name, sent)) or gdi.Answer(0, [], None))
    assert shell(f"qconf {option}").status == 0
    assert asked == [("shutdown", body)]


def test_wrong_calls(shell: Shell) -> None:
    outcome = shell("qconf -zz")
    assert (outcome.err.splitlines()[0], outcome.status) == ('error: invalid option argument "-zz"', 1)
    assert shell("qconf").status == 1
    assert shell("qconf -sp").err.startswith("error: -sp option must have argument")
    assert shell("qconf -help").out.startswith("SGE 8.1.9\nusage: qconf")
    assert shlex.split(shell("qconf -sql -spl").out) == ["all.q", "make", "mpi", "smp"]


@pytest.mark.statement("QF-32")
def test_a_share_tree_is_made_in_the_editor_where_there_is_none(shell: Shell, cell: Cell, editor) -> None:  # type: ignore[no-untyped-def]
    editor(lambda text: "id=0\nname=Root\ntype=0\nshares=1\nchildnodes=NONE\n")
    assert shell.as_root("qconf -mstree").status == 0
    assert shell("qconf -sstree").lines[1] == "name=Root"


@pytest.mark.statement("QF-9")
@pytest.mark.parametrize("wrong", ["slots              many", "start_proc_args \nslots 1"])
def test_a_refused_text_is_edited_again_at_a_terminal(shell: Shell, editor, monkeypatch, wrong: str) -> None:  # type: ignore[no-untyped-def]
    answers = [b"y\n", b"n\n"]
    texts: list[str] = []

    def change(text: str) -> str:
        texts.append(text)
        return text.replace("slots              99999", wrong)

    editor(change)
    assert shell.as_root("qconf -mp mpi").status == 1 and len(texts) == 1, "a script is not asked"
    monkeypatch.setattr(os, "isatty", lambda descriptor: True)
    monkeypatch.setattr(os, "read", lambda descriptor, most: answers.pop(0))
    outcome = shell.as_root("qconf -mp mpi")
    assert (outcome.status, answers, len(texts)) == (1, [], 3)
    assert wrong in texts[2], "the text as it was left"
    assert "slots              99999" in shell("qconf -sp mpi").lines


@pytest.mark.statement("QF-9")
def test_editors_with_a_blank_in_the_path_and_editors_that_fail(shell: Shell, editor, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    program = tmp_path / "e d"
    program.write_text("")
    program.chmod(0o755)
    runs = editor(lambda text: None, str(program))
    outcome = shell.as_root("qconf -mq all.q")
    assert runs[0][0] == str(program)
    assert outcome.err == f'the editor "{program}" exited with 1\nthe editor failed, nothing was changed\n'
