"""Tests run where the checkout lies below a directory that other users cannot enter, and where no package can be installed."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

from tests import needs
from tests.integration import debian
from tests.integration.cells import ROOT, run


def copy_of(script: Path, directory: Path) -> Path:
    """A checkout with nothing but the script, copied to the same place as in this checkout."""
    copy = directory / script.relative_to(ROOT)
    copy.parent.mkdir(parents=True)
    shutil.copy(script, copy)
    return copy


def test_other_users_reach_a_checkout_below_a_closed_directory(open_directory: Path) -> None:
    needs.need_mounts()
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


@needs.root
def test_tests_of_other_users_are_skipped_in_a_closed_checkout(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    monkeypatch.setattr(needs, "PROJECT", closed / "proj")
    (closed / "proj").mkdir()
    reason = "needs a checkout that other users can enter: run `make test`, which opens .*closed"
    with pytest.raises(pytest.skip.Exception, match=reason):
        run([sys.executable, "-c", ""], user="nobody")


@pytest.mark.parametrize(("ci", "apt"), [(False, False), (False, True), (True, False), (True, True)])
def test_a_program_that_cannot_be_installed_skips_the_test(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, ci: bool, apt: bool
) -> None:
    """But where a server judges on a machine with apt-get: no test may be left out there without notice."""
    monkeypatch.delenv("CI", raising=False)
    if ci:
        monkeypatch.setenv("CI", "true")
    monkeypatch.setattr(debian, "can_install", lambda: apt)
    monkeypatch.setattr(debian, "LOCK", tmp_path / "lock")
    monkeypatch.setattr(debian, "_apt", lambda *arguments: "E: no network")
    outcome = pytest.fail.Exception if ci and apt else pytest.skip.Exception
    reason = "E: no network" if apt else "here is no root with apt-get"
    with pytest.raises(outcome, match=f"needs no-such-program.* Debian packages no-such-program .*: {reason}"):
        debian.need("no-such-program")


def test_a_program_that_the_set_does_not_bring_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Else its test goes on without it, and fails for another reason."""
    monkeypatch.setenv("CI", "true")
    monkeypatch.setattr(debian, "can_install", lambda: True)
    monkeypatch.setattr(debian, "LOCK", tmp_path / "lock")
    monkeypatch.setattr(debian, "_apt", lambda *arguments: "")
    with pytest.raises(pytest.fail.Exception, match="no package of the set has it"):
        debian.need("no-such-program")


@pytest.fixture
def lean(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A PATH with the programs of root, without the programs that make hosts."""
    for name in ("bash", "sh", "cat", "mkdir", "touch", "head", "env", "sed"):
        (tmp_path / name).symlink_to(shutil.which(name) or name)
    program(tmp_path / "id", "echo 0")
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


def program(path: Path, text: str) -> None:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def test_a_machine_without_hosts_prints_the_remedy(lean: Path) -> None:
    """By turns: a container that is not privileged, no program, a plain user."""
    for name in ("unshare", "nsenter", "setpriv", "ip"):
        program(lean / name, "echo 'unshare failed: Operation not permitted' >&2; exit 1")
    hosts = "^needs hosts of the test bed: "
    with pytest.raises(pytest.skip.Exception, match=f"{hosts}.*--privileged.*; here: unshare failed: Operation not permitted$"):
        needs.need_testbed()
    (lean / "ip").unlink()
    with pytest.raises(pytest.skip.Exception, match=f"{hosts}hosts need the program ip: install the Debian packages iproute2"):
        needs.need_testbed()
    program(lean / "id", "echo 1000")
    with pytest.raises(pytest.skip.Exception, match=f"{hosts}only root makes hosts on this machine: run it as root"):
        needs.need_testbed()


def test_a_test_that_mounts_is_skipped_where_root_may_not(monkeypatch: pytest.MonkeyPatch, lean: Path) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    program(lean / "unshare", "echo 'unshare failed: Operation not permitted' >&2; exit 1")
    with pytest.raises(pytest.skip.Exception, match="needs the right to mount: .*--privileged.*; here: unshare failed"):
        needs.need_mounts()


def test_an_installation_where_nothing_may_be_written_is_refused_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    done = run([str(ROOT / "tools" / "install"), str(tmp_path / "file"), sys.executable])
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"install: cannot write to {tmp_path}/file (") and "make install PREFIX=DIR" in done.stderr
    assert done.stderr.count("\n") == 1
