"""`.sge_request` of a working directory, and files of default options of a HOME, that may be another user's."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests import needs
from tests.unit.clients.shell import Shell

STRANGER = 1


@pytest.fixture
def request_file(shell: Shell) -> Path:
    """A file by which another user's program would verify the job."""
    path = shell.cwd / ".sge_request"
    path.write_text("-A directory\n")
    path.chmod(0o644)
    return path


FILES_OF_HOME = {
    "qsub -b y true": ".sge_request",
    "qsub -cwd -b y true": ".sge_aliases",
    "qstat": ".sge_qstat",
    "qquota": ".sge_qquota",
    "qrstat": ".sge_qrstat",
    "qrsub -a 203001010000 -d 60": ".sge_ar_request",
}
"""Commands, and a file of HOME that each reads."""


@needs.root
@pytest.mark.parametrize(("command", "name"), list(FILES_OF_HOME.items()))
def test_no_command_reads_one_of_another_user_in_home(shell: Shell, command: str, name: str) -> None:
    """After `su -m` HOME is the directory of another user: the content of the file would be an error, or another path."""
    path = shell.home / name
    path.write_text("/ * * /elsewhere\n" if name == ".sge_aliases" else "-nonsense\n")
    path.chmod(0o644)
    os.chown(path, STRANGER, -1)
    outcome = shell(command)
    assert f'warning: {path} is not read: it belongs to user "daemon"\n' in outcome.err
    assert "nonsense" not in outcome.err and "elsewhere" not in str(shell.asked)
    os.chown(path, 0, -1)
    outcome = shell(command)
    assert "is not read" not in outcome.err and "nonsense" in outcome.err + str(shell.asked).replace("elsewhere", "nonsense")


@needs.root
@pytest.mark.statement("SB-3")
def test_a_link_in_home_to_the_file_of_another_user_is_not_followed(shell: Shell) -> None:
    (shell.cwd / "kept").write_text("-A theirs\n")
    os.chown(shell.cwd / "kept", STRANGER, -1)
    (shell.home / ".sge_request").symlink_to(shell.cwd / "kept")
    outcome = shell("qsub -b y true")
    assert outcome.status == 0 and "is not read" in outcome.err and "theirs" not in str(shell.submitted)


def account(shell: Shell, warning: str = "") -> str | None:
    """The account that `qsub` takes from the directory, and its warning about the file."""
    outcome = shell("qsub -b y true")
    assert outcome.status == 0
    path = shell.cwd / ".sge_request"
    assert outcome.err == (f"warning: {path} is not read: {warning}\n" if warning else "")
    found: str | None = shell.submitted.get("account")
    return found


@pytest.mark.statement("SB-3")
def test_the_callers_own_is_read_also_by_way_of_a_link(shell: Shell, request_file: Path) -> None:
    assert account(shell) == "directory"
    request_file.rename(shell.cwd / "kept")
    request_file.symlink_to("kept")
    assert account(shell) == "directory"


@pytest.mark.statement("SB-3")
def test_a_file_that_others_may_write_is_not_read(shell: Shell, request_file: Path) -> None:
    request_file.chmod(0o646)
    assert account(shell, "users other than its owner may write to it (chmod go-w)") is None


@needs.root
@pytest.mark.statement("SB-3")
def test_a_file_that_a_group_may_write_is_read_if_the_group_is_the_owners_alone(shell: Shell, request_file: Path) -> None:
    """Users have such groups, and the umask 002, on many systems."""
    request_file.chmod(0o664)
    assert account(shell) == "directory", "the group root is root's"
    os.chown(request_file, -1, STRANGER)
    assert account(shell, "users other than its owner may write to it (chmod go-w)") is None


@needs.root
@pytest.mark.statement("SB-3")
def test_a_file_of_another_user_is_not_read(shell: Shell, request_file: Path) -> None:
    os.chown(request_file, STRANGER, -1)
    assert account(shell, 'it belongs to user "daemon"') is None


@needs.root
@pytest.mark.statement("SB-3")
def test_neither_a_link_of_another_user_nor_one_to_his_file_is(shell: Shell, request_file: Path) -> None:
    request_file.rename(shell.cwd / "kept")
    request_file.symlink_to("kept")
    os.chown(request_file, STRANGER, -1, follow_symlinks=False)
    assert account(shell, 'it belongs to user "daemon"') is None
    os.chown(request_file, 0, -1, follow_symlinks=False)
    os.chown(shell.cwd / "kept", STRANGER, -1)
    assert account(shell, 'it belongs to user "daemon"') is None


@needs.root
@pytest.mark.statement("SB-3")
def test_a_file_of_root_is_read_by_others(shell: Shell, request_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1001)
    assert account(shell) == "directory"
    os.chown(request_file, STRANGER, -1)
    assert account(shell, 'it belongs to user "daemon"') is None


@pytest.mark.statement("SB-3")
def test_a_pipe_does_not_block_a_command(shell: Shell) -> None:
    os.mkfifo(shell.cwd / ".sge_request", 0o644)
    assert account(shell, "not a regular file") is None


def _pipe(path: Path) -> None:
    os.mkfifo(path)


def _gigabyte(path: Path) -> None:
    path.touch(0o644)
    os.truncate(path, 1 << 30)


ODD_FILES: dict[str, tuple[Callable[[Path], None], str]] = {
    "pipe": (_pipe, "not a regular file"),
    "directory": (Path.mkdir, "not a regular file"),
    "device": (lambda path: path.symlink_to("/dev/zero"), "not a regular file"),
    "gigabyte": (_gigabyte, "larger than 1 MB"),
}


@pytest.mark.parametrize(("command", "name"), list(FILES_OF_HOME.items()))
@pytest.mark.parametrize("kind", list(ODD_FILES))
def test_paths_that_are_no_files_of_options_are_skipped(shell: Shell, command: str, name: str, kind: str) -> None:
    make, reason = ODD_FILES[kind]
    make(shell.home / name)
    outcome = shell(command)
    assert f"warning: {shell.home / name} is not read: {reason}\n" in outcome.err


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("qsub -@ /dev/zero -b y true", "cannot read /dev/zero: larger than 1 MB"),
        ("qsub /dev/zero", "error opening /dev/zero: larger than 64 MB"),
        ("qconf -Aq /dev/zero", "cannot read /dev/zero: larger than 64 MB"),
    ],
)
def test_a_device_without_an_end_is_read_to_a_limit(shell: Shell, command: str, reason: str) -> None:
    outcome = shell.as_root(command)
    assert outcome.status and reason in outcome.err
    assert "submit" not in dict(shell.asked)
