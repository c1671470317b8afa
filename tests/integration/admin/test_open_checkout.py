"""Tests run where the checkout lies below a directory that other users cannot enter, and where no package can be installed."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

from tests.integration import cells, debian
from tests.integration.cells import ROOT, run


def copy_of(script: Path, directory: Path) -> Path:
    """A checkout with nothing but that script, which is copied to where it lies in this one."""
    copy = directory / script.relative_to(ROOT)
    copy.parent.mkdir(parents=True)
    shutil.copy(script, copy)
    return copy


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to be another user as well")
def test_other_users_reach_a_checkout_below_a_closed_directory(open_directory: Path) -> None:
    closed = open_directory / "closed"
    closed.mkdir(mode=0o700)
    script = copy_of(ROOT / "tests" / "open_checkout", closed / "deep" / "proj")
    (closed / "private").touch()
    as_nobody = [shutil.which("setpriv") or "setpriv", "--reuid=nobody", "--clear-groups"]
    assert run([*as_nobody, "ls", str(script)]).returncode != 0
    done = run([str(script), *as_nobody, "ls", str(script), str(closed)])
    assert (done.stdout.splitlines(), done.stderr) == ([str(script), "", f"{closed}:", "deep"], "")
    assert sorted(path.name for path in closed.iterdir()) == ["deep", "private"], "the directory itself is as it was"


def test_an_open_checkout_is_used_as_it_is(open_directory: Path) -> None:
    script = copy_of(ROOT / "tests" / "open_checkout", open_directory / "proj")
    done = run([str(script), "readlink", "/proc/self/ns/mnt"])
    assert done.stdout.strip() == os.readlink("/proc/self/ns/mnt")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can run tests as other users")
def test_tests_of_other_users_are_skipped_in_a_closed_checkout(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    monkeypatch.setattr(cells, "ROOT", closed / "proj")
    (closed / "proj").mkdir()
    with pytest.raises(pytest.skip.Exception, match="other users cannot enter .*: run `make test`"):
        run([sys.executable, "-c", ""], user="nobody")


@pytest.mark.parametrize(("ci", "apt"), [(False, False), (False, True), (True, False), (True, True)])
def test_a_program_that_cannot_be_installed_skips_the_test(monkeypatch: pytest.MonkeyPatch, ci: bool, apt: bool) -> None:
    """But where a server judges on a machine with apt-get: no test may be left out there without notice."""
    monkeypatch.delenv("CI", raising=False)
    if ci:
        monkeypatch.setenv("CI", "true")
    monkeypatch.setattr(debian, "can_install", lambda: apt)
    monkeypatch.setattr(debian, "_apt", lambda *words: "E: no network")
    outcome = pytest.fail.Exception if ci and apt else pytest.skip.Exception
    reason = "E: no network" if apt else "needs root and apt-get"
    with pytest.raises(outcome, match=f"no-such-program is not installed and cannot be: {reason}"):
        debian.need("no-such-program")


def test_a_program_that_the_set_does_not_bring_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else its test goes on without it, and fails for another reason."""
    monkeypatch.setenv("CI", "true")
    monkeypatch.setattr(debian, "can_install", lambda: True)
    monkeypatch.setattr(debian, "_apt", lambda *words: "")
    with pytest.raises(pytest.fail.Exception, match="no package of the set has it"):
        debian.need("no-such-program")
