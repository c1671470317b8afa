"""Mutants: small wrong changes, one at a time, and a check that the tests detect them.

Samples mutants of the parts that decide (placement, requests, reservations, scheduler, shepherd), runs for each the tests that
run the changed line, and prints the surviving mutants. Works on a copy in build/mutants, with one process at a time. Called by
`make mutants N= SEED= ONLY=`; ONLY is a pattern of paths (`daemons/qmaster/decide/*`), to sample in these files alone. Exit
status 1 if fewer than nine in ten die. Reasons against a library: docs/adr/0103-mutants.md.
"""

from __future__ import annotations

import argparse
import fnmatch
import hashlib
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, NoReturn

import pytest

from tools.covering import Covering
from tools.mutations import Mutation, mutations
from tools.swapped import runs_when_called, swap

ROOT = Path(__file__).resolve().parent.parent
TARGETS = (
    "gridengine/placement/*.py", "daemons/qmaster/decide/*/*.py", "daemons/qmaster/rules/reservation*.py",
    *(f"daemons/qmaster/rules/{name}.py" for name in ("ends", "task_ends", "failures", "rerun", "host_faults")),
    "daemons/schedd/*.py", "shepherd/*.py",
)
TESTS = ("tests/unit", "tests/property", "tests/simulation")
LAST_RESORT = {"shepherd": "tests/integration/shepherd"}
"""Tests that run a part in separate processes, where no line is recorded: for mutants that survive all other tests."""
COPIED = ("gridengine", "daemons", "shepherd", "clients", "tests", "tools", "docs", "cluster-config", "bench")
FIRST = 30
"""Tests that run before all other tests: they kill most mutants, and pytest collects few tests quickly."""
LIMIT_S = 600
LIMIT_CPU_S = 120
"""Limit of seconds; a mutant whose tests take longer counts as dead: it does not end."""
MEMORY_BYTES = 4 << 30
"""Limit of memory of such a mutant."""
REQUIRED_SHARE = 0.9

PYTEST = (sys.executable, "-m", "pytest", "-q", "-x", "--no-header", "--tb=no", "-p", "no:cacheprovider")
_NO_SUCH_TEST = 4
NOT_SWAPPED = 3


class NotSwapped(Exception):
    """The functions of a mutant cannot replace the loaded functions."""


class Mutant(NamedTuple):
    """A mutation of one of the sources, `path` from the project's root."""

    path: str
    mutation: Mutation


def sources(root: Path) -> list[Path]:
    """The files that mutants are made of."""
    return sorted(path for pattern in TARGETS for path in root.glob(pattern))


def all_mutants(root: Path) -> list[Mutant]:
    """Every mutant of the targets, in a fixed order."""
    return [Mutant(str(path.relative_to(root)), each) for path in sources(root) for each in mutations(path.read_text())]


def sample(mutants: list[Mutant], count: int, seed: int) -> list[Mutant]:
    """`count` of them, the same for the same seed and sources, in the order of the sources."""
    return sorted(random.Random(seed).sample(mutants, min(count, len(mutants))))


def fingerprint(root: Path) -> str:
    """Differs when a source or a test differs."""
    found = hashlib.sha256()
    for path in sorted(path for name in COPIED for path in (root / name).rglob("*") if path.is_file()):
        if "__pycache__" not in path.parts:
            found.update(f"{path.relative_to(root)} {hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    return found.hexdigest()


class Tree:
    """A copy of the project in which one source at a time is wrong."""

    def __init__(self, directory: Path) -> None:
        self.root = directory / "tree"
        self._covering, self._kept_for = directory / "covering", directory / "kept_for"
        self.in_process: Callable[[Path, str, list[str]], bool]
        self.environment = {**os.environ, "PYTHONPATH": str(self.root), "CI": "1"}

    def covering(self) -> Covering:
        """The lines that the tests run; reused from the last run while neither sources nor tests have changed."""
        project = fingerprint(ROOT)
        if not self._kept_for.exists() or self._kept_for.read_text() != project:
            self._make()
            self._record()
            self._kept_for.write_text(project)
        for path in sources(ROOT):  # the last run may have been ended in the middle of a mutant
            shutil.copy(path, self.root / path.relative_to(ROOT))
        self.environment["PYTHONDONTWRITEBYTECODE"] = "1"
        return Covering(self._covering)

    def _make(self) -> None:
        shutil.rmtree(self.root.parent, ignore_errors=True)
        for name in COPIED:
            shutil.copytree(ROOT / name, self.root / name, ignore=shutil.ignore_patterns("__pycache__"), symlinks=True)
        for name in ("pyproject.toml", "Makefile", "README.md", "CHANGELOG.md"):
            shutil.copy(ROOT / name, self.root / name)
        # by content: a mutant may be as long, and as old to the second, as what it replaces
        command = (sys.executable, "-m", "compileall", "-q", "--invalidation-mode", "checked-hash", *COPIED)
        subprocess.run(command, cwd=self.root, check=True)

    def _record(self) -> None:
        """Run all tests on the unchanged sources. Ends the program when one of them fails."""
        environment = {**self.environment, "COVERING": str(self._covering)}
        run = subprocess.run((*PYTEST, "-p", "tools.covering", *TESTS), cwd=self.root, env=environment)
        if run.returncode:
            sys.exit("the tests fail without any change")

    def fate(self, mutant: Mutant, covering: Covering) -> str:
        """`killed`, or `SURVIVED`, or `NO TEST` if none runs its line."""
        path = self.root / mutant.path
        source = path.read_text()
        first = mutant.mutation.line
        last = first + source.count("\n", mutant.mutation.start, mutant.mutation.end)
        found = covering.tests(path, first, last)
        wrong = mutant.mutation.applied(source)
        more = [LAST_RESORT[part]] if (part := mutant.path.partition("/")[0]) in LAST_RESORT else []
        try:
            if not runs_when_called(source, first, last):
                raise NotSwapped
            if any(self.in_process(path, wrong, some) for some in _portions(found)):
                return "killed"
        except NotSwapped:
            more = [*found, *more]
        path.write_text(wrong)
        try:
            if any(self._notice(some) for some in _portions(more)):
                return "killed"
        finally:
            path.write_text(source)
        return "SURVIVED" if found else "NO TEST"

    def _notice(self, tests: list[str]) -> bool:
        """Whether one of the tests fails."""
        (self.root / "tests.txt").write_text("\n".join(tests))
        command = (*PYTEST, "@tests.txt")
        try:
            status, output = run_alone(command, self.root, self.environment, LIMIT_S)
        except subprocess.TimeoutExpired:
            return True
        if status == _NO_SUCH_TEST and "not found:" in output and "rror" not in output.partition("not found:")[0]:
            sys.exit(output)
        return bool(status)


def run_alone(command: Sequence[str], directory: Path, environment: Mapping[str, str], limit_s: float) -> tuple[int, str]:
    """Exit status and output of a command in a session of its own, all of which ends with it or with this program.

    Raises subprocess.TimeoutExpired.
    """
    pipe, out = subprocess.PIPE, subprocess.STDOUT
    child = subprocess.Popen(command, cwd=directory, env=environment, stdout=pipe, stderr=out, text=True, start_new_session=True)
    try:
        output, _ = child.communicate(timeout=limit_s)
    finally:
        if child.returncode is None:  # too late, or this program is terminated
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()
    return child.returncode, output


def _portions(tests: list[str]) -> list[list[str]]:
    """The tests to run one after the other until a test fails."""
    return [some for some in (tests[:FIRST], tests[FIRST:]) if some]


class Loop:
    """pytest plugin: instead of the collected tests it runs the tests of each mutant, in a process that ends with the mutant."""

    def __init__(self, tree: Tree, chosen: list[Mutant], covering: Covering) -> None:
        self.tree, self.chosen, self.covering = tree, chosen, covering
        self.alive = 0
        tree.in_process = self.notice
        self._session: pytest.Session

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        self._session = session
        self._items = {item.nodeid: item for item in session.items}
        for mutant in self.chosen:
            begin = time.monotonic()
            change = mutant.mutation.described((self.tree.root / mutant.path).read_text())
            fate = self.tree.fate(mutant, self.covering)
            self.alive += fate != "killed"
            took = time.monotonic() - begin
            print(f"{fate:<8} {mutant.path}:{mutant.mutation.line} {change} ({took:.1f} s)", flush=True)
        return True

    def notice(self, path: Path, source: str, tests: list[str]) -> bool:
        """Whether one of the tests fails in a process with the functions of this source in place of the functions of a file."""
        pid = os.fork()
        if not pid:
            self._run(path, source, [self._items[test] for test in tests])
        _, status = os.waitpid(pid, 0)
        if os.waitstatus_to_exitcode(status) == NOT_SWAPPED:
            raise NotSwapped
        return status != 0

    def _run(self, path: Path, source: str, items: list[pytest.Item]) -> NoReturn:
        failed = 1
        try:
            swap(path, source)
        except ValueError:
            os._exit(NOT_SWAPPED)
        try:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            signal.alarm(LIMIT_S)  # it may wait for ever without any work
            signal.setitimer(signal.ITIMER_PROF, LIMIT_CPU_S)
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            for item, following in zip(items, [*items[1:], None], strict=True):
                item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
                if self._session.testsfailed:
                    break
            failed = min(1, self._session.testsfailed)
        finally:
            os._exit(failed)


def main() -> None:
    parser = argparse.ArgumentParser(description="sample mutants and say which of them no test notices")
    parser.add_argument("count", type=int, help="how many")
    parser.add_argument("seed", type=int, help="which ones")
    parser.add_argument("--only", default="*", metavar="PATTERN", help="in files whose path from the project's root is like this")
    given = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended"))  # the tests that run end with it
    every = [mutant for mutant in all_mutants(ROOT) if fnmatch.fnmatchcase(mutant.path, given.only)]
    chosen = sample(every, given.count, given.seed)
    print(f"seed {given.seed}: {len(chosen)} of {len(every)} mutants", flush=True)
    tree = Tree(ROOT / "build" / "mutants")
    covering = tree.covering()
    os.environ.update(tree.environment)
    os.chdir(tree.root)
    loop = Loop(tree, chosen, covering)
    temporary = f"--basetemp={tree.root.parent / 'tmp'}"
    if status := pytest.main(["-q", "-s", "-p", "no:cacheprovider", "--rootdir=.", temporary, *TESTS], plugins=[loop]):
        sys.exit(status)
    died = len(chosen) - loop.alive
    print(f"seed {given.seed}: {died} of {len(chosen)} mutants died ({died / max(1, len(chosen)):.1%})")
    sys.exit(died < REQUIRED_SHARE * len(chosen))


if __name__ == "__main__":
    main()
