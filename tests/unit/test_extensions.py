"""Programs of extensions when a library is missing: one sentence on stderr, and exit code 1."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from clients.admin.__main__ import main as gridengine
from clients.admin.cell_plan import CellOptions
from daemons.dbwriter.__main__ import main as sge_dbwriter
from daemons.web.__main__ import main as sge_web
from gridengine.api.call_files import pickled
from gridengine.api.task_faults import NotPicklable
from gridengine.extensions import LIBRARIES, MissingLibraryError, missing_libraries, require_libraries

WEB = f"the extension web needs the library jinja2, which {sys.executable} lacks: pip install jinja2"
ARCO = f"the extension arco needs the library psycopg, which {sys.executable} lacks: pip install 'psycopg[binary]'"


@pytest.fixture
def hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    """A Python without a library of each extension."""
    for module in ("cloudpickle", "jinja2", "psycopg"):
        monkeypatch.setitem(sys.modules, module, None)


@pytest.mark.parametrize("extension", LIBRARIES)
def test_a_complete_python_lacks_nothing(extension: str) -> None:
    assert missing_libraries(extension) == ""
    require_libraries(extension)


def test_the_sentence_names_each_library(hidden: None, monkeypatch: pytest.MonkeyPatch) -> None:
    assert missing_libraries("web") == WEB
    assert missing_libraries("arco") == ARCO
    monkeypatch.setitem(sys.modules, "prometheus_client", None)
    both = "the libraries jinja2, prometheus_client, .*: pip install jinja2 prometheus-client$"
    with pytest.raises(MissingLibraryError, match=both):
        require_libraries("web")


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    """The exit code of a program."""
    monkeypatch.setattr(sys, "argv", list(arguments))
    programs = {"gridengine": gridengine, "sge_web": sge_web, "sge_dbwriter": sge_dbwriter}
    try:
        return programs[arguments[0]]()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 1


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        ("sge_web", WEB),
        ("sge_dbwriter --once", ARCO),
        ("gridengine demo --web", WEB),
        ("gridengine arco list", ARCO),
        ("gridengine init --root /nowhere --arco", ARCO),
    ],
)
def test_a_program_prints_the_sentence(
    hidden: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], command: str, sentence: str
) -> None:
    arguments = command.split()
    assert (run(monkeypatch, *arguments), capsys.readouterr().err) == (1, f"{arguments[0]}: {sentence}\n")


def test_an_executor_prints_it_too(hidden: None) -> None:
    with pytest.raises(NotPicklable, match="the extension api needs the library cloudpickle, .* lacks: pip install cloudpickle"):
        pickled(lambda: 1, "a function")


@pytest.mark.parametrize(("present", "arguments", "made"), [(True, [], True), (False, [], False), (True, ["--no-arco"], False)])
def test_a_new_cell_has_a_database_if_its_libraries_are_there(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    present: bool,
    arguments: list[str],
    made: bool,
) -> None:
    if not present:
        monkeypatch.setitem(sys.modules, "psycopg", None)
    plans: list[CellOptions] = []
    for name in ("create_cell", "_print_next_steps"):
        monkeypatch.setattr(f"clients.admin.cell_commands.{name}", lambda *_: None)
    monkeypatch.setattr("clients.admin.cell_commands.plan_cell", plans.append)
    monkeypatch.setattr("clients.admin.cell_commands.find_installation", lambda: None)
    assert run(monkeypatch, "gridengine", "init", "--root", str(tmp_path), *arguments) == 0
    assert [plan.arco for plan in plans] == [made]
    assert ("no accounting database: " + ARCO in capsys.readouterr().out) == (not present)
