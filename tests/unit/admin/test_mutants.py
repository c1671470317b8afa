"""Mutants: the wrong changes, their selection, and the verdict on each."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import pytest
from coverage import CoverageData

from tools import mutants
from tools.covering import Covering
from tools.mutants import FIRST, Mutant, Tree, all_mutants, fingerprint, sample
from tools.mutations import Mutation, mutations
from tools.swapped import runs_when_called, swap


def changed(source: str) -> list[str]:
    """The source after each mutation, without the brackets around it."""
    return [each.applied(source) for each in mutations(source)]


@pytest.mark.parametrize(
    ("source", "results"),
    [
        ("a < b", ["(a <= b)"]),
        ("a is not b", ["(a is b)"]),
        ("a <= b < c", ["(a < b < c)", "(a <= b <= c)"]),
        ("x and y", ["(x or y)", "(x)", "(y)"]),
        ("not x", ["(x)"]),
        ("a + b", ["(a - b)"]),
        ("f(3)", ["f((4))", "pass"]),
        ("x = True", ["x = (False)"]),
        ("x = min(a, key=k)", ["x = (max(a, key=k))"]),
        ("x = sorted(a, key=k)", ["x = (list(a))"]),
        ("x += y", ["x -= y"]),
        ("if x: y", ["if not x: y"]),
        ("x = [y for y in z if y]", ["x = [y for y in z if True]"]),
        ("for x in y: continue", ["for x in y: break"]),
        ("é = 'é'; x = a or b", ["é = 'é'; x = (a and b)", "é = 'é'; x = (a)", "é = 'é'; x = (b)"]),
    ],
)
def test_each_change_alone(source: str, results: list[str]) -> None:
    assert sorted(changed(source)) == sorted(results)


@pytest.mark.parametrize(
    "source",
    [
        "raise Fault(1 + a)",
        "assert a < b",
        "_log.warning('x', a + 1)",
        "x = f'{a + 1}'",
        "x = 'a' + b",
        "x: A | B",
        "@cache(1)\ndef f(x: A | None = None) -> B | None: 'text'",
        "class X(Y, tag=True): pass",
        "if TYPE_CHECKING:\n    x = 1",
        "from x import y",
    ],
)
def test_code_that_decides_nothing_is_left_alone(source: str) -> None:
    assert changed(source) == []


def test_a_mutation_is_described_in_one_line() -> None:
    source = "x = (\n    a\n    and b\n)"
    assert mutations(source)[0].described(source) == "a and b  ->  (a or b)"


def test_the_same_seed_chooses_the_same() -> None:
    every = [Mutant("a.py", Mutation(line, line, line, "")) for line in range(100)]
    assert sample(every, 10, 7) == sample(every, 10, 7) == sorted(sample(every, 10, 7))
    assert sample(every, 10, 7) != sample(every, 10, 8)
    assert sample(every, 1000, 7) == every


def test_all_mutants_of_the_project_can_be_compiled() -> None:
    sources = {mutant.path: (mutants.ROOT / mutant.path).read_text() for mutant in all_mutants(mutants.ROOT)}
    assert {path.partition("/")[0] for path in sources} == {"gridengine", "daemons", "shepherd"}
    for mutant in sample(all_mutants(mutants.ROOT), 100, 1):
        compile(mutant.mutation.applied(sources[mutant.path]), mutant.path, "exec")


def test_a_record_is_valid_until_a_source_or_a_test_changes(tmp_path: Path) -> None:
    for name in mutants.COPIED:
        (tmp_path / name / "__pycache__").mkdir(parents=True)
    before = fingerprint(tmp_path)
    (tmp_path / "tests/__pycache__/x.pyc").write_text("x")
    assert fingerprint(tmp_path) == before
    (tmp_path / "tests/x.py").write_text("x")
    assert fingerprint(tmp_path) != before


@pytest.fixture
def recorded(tmp_path: Path) -> Covering:
    """wide runs lines 1 to 9 of x.py, narrow line 3; line 20 is run by loading the module."""
    data = CoverageData(str(tmp_path / "covering"))
    source = str(tmp_path / "tree/shepherd/x.py")
    for test, lines in (("wide", range(1, 10)), ("narrow", [3]), ("", [20])):
        data.set_context(test)
        data.add_lines({source: lines})
    data.write()
    return Covering(tmp_path / "covering")


def test_the_tests_of_a_line_begin_with_those_that_run_least(recorded: Covering, tmp_path: Path) -> None:
    path = tmp_path / "tree/shepherd/x.py"
    assert recorded.tests(path, 3, 3) == ["narrow", "wide"]
    assert recorded.tests(path, 4, 9) == ["wide"]
    assert recorded.tests(path, 30, 30) == recorded.tests(tmp_path / "y.py", 3, 3) == []
    assert recorded.tests(path, 20, 20) == ["narrow", "wide"]


@pytest.mark.parametrize(
    ("place", "line", "noticed_by", "fate", "in_process", "by_file"),
    [
        ("shepherd", 3, "narrow", "killed", [["narrow", "wide"]], []),
        ("shepherd", 3, "", "SURVIVED", [["narrow", "wide"]], [["tests/integration/shepherd"]]),
        ("shepherd", 41, "tests/integration/shepherd", "killed", [], [["tests/integration/shepherd"]]),
        ("daemons", 41, "", "NO TEST", [], []),
        ("shepherd", 20, "", "SURVIVED", [], [["narrow", "wide", "tests/integration/shepherd"]]),
    ],
)
def test_the_fate_of_a_mutant(
    recorded: Covering,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    place: str,
    line: int,
    noticed_by: str,
    fate: str,
    in_process: list[list[str]],
    by_file: list[list[str]],
) -> None:
    tree = Tree(tmp_path)
    path = tree.root / place / "x.py"
    path.parent.mkdir(parents=True)
    source = "\n" * (line - 2) + ("x =\\\n 1" if line == 20 else "def f():\n    return 1")
    path.write_text(source)
    changed = source.replace("1", "(2)")
    runs: dict[str, list[list[str]]] = {"in process": [], "by file": []}

    def notice(path: Path, wrong: str, tests: list[str]) -> bool:
        assert (path.read_text(), wrong) == (source, changed)
        runs["in process"].append(tests)
        return noticed_by in tests

    def notice_by_file(tests: list[str]) -> bool:
        assert path.read_text() == changed
        runs["by file"].append(tests)
        return noticed_by in tests

    tree.in_process = notice
    monkeypatch.setattr(tree, "_notice", notice_by_file)
    assert tree.fate(Mutant(f"{place}/x.py", mutations(source)[0]), recorded) == fate
    assert runs == {"in process": in_process, "by file": by_file}
    assert path.read_text() == source


def test_few_tests_are_tried_before_many() -> None:
    tests = [str(number) for number in range(FIRST + 5)]
    assert mutants._portions(tests) == [tests[:FIRST], tests[FIRST:]]


# --- swapped -----------------------------------------------------------------------------------------------

SOURCE = """
NUMBER = 1

def plain(low=1):
    return [low + one for one in (1,)]

class Thing:
    @property
    def size(self):
        return 1

    @size.setter
    def size(self, size):
        self.given = size - 1

    @staticmethod
    @cache
    def known():
        return 1
"""


def test_functions_that_are_known_already_run_the_other_version(tmp_path: Path) -> None:
    path = tmp_path / "x.py"
    space = {"cache": lru_cache}
    exec(compile(SOURCE, str(path), "exec"), space)
    plain, thing = space["plain"], space["Thing"]()  # type: ignore[operator]
    swap(path, SOURCE.replace("1", "5"))
    assert plain() == [6], "what was worked out at definition stays"
    assert thing.size == 5 and thing.known() == 5
    thing.size = 9
    assert thing.given == 4
    assert space["NUMBER"] == 1


def test_lines_that_run_when_a_function_is_called() -> None:
    lines = {line for line in range(1, 20) if runs_when_called(SOURCE, line, line)}
    assert lines == {5, 10, 14, 19}
