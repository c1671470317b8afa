"""qconf names the programs of a configuration that this host cannot execute, and refuses nothing for that reason."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from tests.harness import Cell
from tests.unit.clients.shell import Shell

NOTE = "note: {}: {} is not on this host\n"
_GONE = "/no/such/file"
_CHECKPOINT = f"""ckpt_name new
interface userdefined
ckpt_command none
migr_command {_GONE} x
restart_command none
clean_command none
ckpt_dir /tmp
signal none
when sx
"""


def _file(shell: Shell, text: str, name: str = "object") -> Path:
    path = shell.cwd / name
    path.write_text(text)
    return path


@pytest.fixture
def manager(shell: Shell) -> Shell:
    shell.user = "root"
    return shell


@pytest.mark.parametrize(
    "attribute", ["prolog", "epilog", "shell", "starter_method", "suspend_method", "resume_method", "terminate_method"]
)
@pytest.mark.parametrize("verb", ["-mattr", "-rattr"])
def test_methods_of_queues(manager: Shell, cell: Cell, attribute: str, verb: str) -> None:
    before = manager(f"qconf {verb} queue {attribute} /bin/sh all.q")
    after = manager(f"qconf {verb} queue {attribute} {_GONE} all.q")
    assert (before.err, after.err) == ("", NOTE.format(attribute, _GONE))
    assert (after.status, after.out) == (before.status, before.out) == (0, before.out)
    assert cell.state.objects["cluster_queue"]["all.q"][attribute] == _GONE


@pytest.mark.parametrize(
    ("value", "paths"),
    [
        ("NONE", []),
        ("SIGSTOP", []),
        ("/bin/sh -c x", []),
        ("root@/bin/sh", []),
        (f"root@{_GONE} /bin/sh", [_GONE]),
        ("$sge_root/x", []),
        ("/$sge_cell/x", []),
        (f"NONE,[h1={_GONE} 1],[h2=root@/no/other]", [_GONE, "/no/other"]),
        (f"[h1={_GONE}]", [_GONE]),
        (f"{_GONE},[h1={_GONE}]", [_GONE]),
        ('"/no/with blank" x', ["/no/with blank"]),
    ],
)
def test_forms_of_values(manager: Shell, value: str, paths: list[str]) -> None:
    attribute = "suspend_method" if value.startswith(("SIG", "/")) else "prolog"
    outcome = manager(f"qconf -mattr queue {attribute} {shlex.quote(value)} all.q")
    if not outcome.status:
        assert outcome.err == "".join(NOTE.format(attribute, path) for path in paths)
    else:
        assert "note" not in outcome.err


def test_files_that_are_no_programs(manager: Shell) -> None:
    data = _file(manager, "exit 0\n")
    assert f"{data} is not executable on this host" in manager(f"qconf -mattr queue prolog {data} all.q").err
    assert f"{data.parent} is not a file on this host" in manager(f"qconf -mattr queue epilog {data.parent} all.q").err
    data.chmod(0o755)
    assert manager(f"qconf -mattr queue prolog {data} all.q").err == ""


def test_objects_of_files(manager: Shell) -> None:
    for add, modify, template, attribute in (
        ("-Aq", "-Mq", "-sq", "epilog"),
        ("-Ap", "-Mp", "-sp mpi", "stop_proc_args"),
    ):
        lines = manager(f"qconf {template}").lines
        text = "\n".join(f"{attribute} {_GONE} x" if line.split()[0] == attribute else line for line in lines)
        path = _file(manager, re.sub(r"(name +)\S+", r"\1new", text, count=1) + "\n")
        for option in (add, modify):
            outcome = manager(f"qconf {option} {path}")
            assert (outcome.status, outcome.err) == (0, NOTE.format(attribute, _GONE)), option
    path = _file(manager, _CHECKPOINT)
    for option in ("-Ackpt", "-Mckpt"):
        assert manager(f"qconf {option} {path}").err == NOTE.format("migr_command", _GONE)
    lines = manager("qconf -sconf").lines
    text = "\n".join("load_sensor /bin/sh,/no/sensor" if line.startswith("load_sensor") else line for line in lines)
    assert manager(f"qconf -Mconf {_file(manager, text, 'global')}").err == NOTE.format("load_sensor", "/no/sensor")
    assert manager(f"qconf -Aconf {_file(manager, f'prolog {_GONE}', 'h1')}").err == NOTE.format("prolog", _GONE)
    path = _file(manager, f"prolog {_GONE}\nepilog /no/epilog\n")
    assert manager(f"qconf -Mattr queue {path} all.q").err == NOTE.format("prolog", _GONE) + NOTE.format("epilog", "/no/epilog")


def test_an_edited_object(manager: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    from clients.configure import change

    new = f"\nprolog {_GONE}"
    monkeypatch.setattr(change, "_edit_text", lambda kind, text: text.replace("\nprolog                NONE", new))
    assert manager("qconf -mq all.q").err == NOTE.format("prolog", _GONE)
    assert manager("qconf -aq other.q").err == NOTE.format("prolog", _GONE)


def test_no_note_of_what_is_refused_or_removed(manager: Shell) -> None:
    manager(f"qconf -mattr queue prolog NONE,[h1={_GONE}] all.q")
    assert "note" not in manager(f"qconf -dattr queue prolog {_GONE} all.q@h1").err
    manager.user = "alice"
    refused = manager(f"qconf -mattr queue prolog {_GONE} all.q")
    assert refused.status == 1
    assert "note" not in refused.err
