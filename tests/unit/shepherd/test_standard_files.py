"""Where a process of a task reads and writes (SO-12, EN-1)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from shepherd.plan import Output
from shepherd.standard_files import OpenError, close_files, install, open_files
from tests.unit.shepherd.descriptors import open_descriptors


def write(descriptors: tuple[int, int, int]) -> None:
    """A line to standard output and one to standard error."""
    os.write(descriptors[1], b"out\n")
    os.write(descriptors[2], b"err\n")
    for descriptor in set(descriptors):
        os.close(descriptor)


@pytest.mark.statement("SO-12", "EN-1")
def test_output_is_appended_and_its_paths_are_in_the_environment(tmp_path: Path) -> None:
    out, err, environment = tmp_path / "o", tmp_path / "e", {"HOME": "/h"}
    for _ in range(2):
        write(open_files(Output("/dev/null", str(out), str(err)), environment, None))
    assert (out.read_text(), err.read_text()) == ("out\nout\n", "err\nerr\n")
    assert environment == {"HOME": "/h", "SGE_STDOUT_PATH": str(out), "SGE_STDERR_PATH": str(err)}


@pytest.mark.statement("SO-12", "EN-1")
@pytest.mark.parametrize("merged", [True, False])
def test_a_file_for_both_streams_is_open_once(tmp_path: Path, merged: bool) -> None:
    path, environment = str(tmp_path / "o"), dict[str, str]()
    descriptors = open_files(Output("/dev/null", path, None if merged else path), environment, None)
    assert descriptors[1] == descriptors[2]
    write(descriptors)
    assert Path(path).read_text() == "out\nerr\n"
    assert environment == {"SGE_STDOUT_PATH": path, "SGE_STDERR_PATH": path}


@pytest.mark.statement("SO-12")
def test_a_directory_gets_the_default_name_and_a_file_does_not(tmp_path: Path) -> None:
    directory = str(tmp_path)
    write(open_files(Output("/dev/null", directory, directory, "j.o7", "j.e7"), {}, None))
    write(open_files(Output("/dev/null", f"{directory}/mine", f"{directory}/mine", "j.o7", "j.e7"), {}, None))
    assert sorted(os.listdir(tmp_path)) == ["j.e7", "j.o7", "mine"]


@pytest.mark.statement("SO-12", "EX-4")
def test_a_file_that_cannot_be_opened_is_named(tmp_path: Path) -> None:
    missing = str(tmp_path / "no" / "file")
    for output, what in (
        (Output(missing, "/dev/null", None), "input"),
        (Output("/dev/null", missing, None), "output"),
        (Output("/dev/null", "/dev/null", missing), "error"),
        (Output("/dev/null", str(tmp_path), None), "output"),
    ):
        before = open_descriptors()
        with pytest.raises(OpenError, match=f"can't open {what} file"):
            open_files(output, {}, None)
        assert open_descriptors() == before, "those before it are closed again"


@pytest.mark.statement("SO-12")
def test_standard_input_is_the_file_that_was_named_or_what_is_open_already(tmp_path: Path) -> None:
    (tmp_path / "i").write_text("hello")
    output = Output(str(tmp_path / "i"), str(tmp_path / "o"), None)
    stdin, stdout, _ = open_files(output, {}, None)
    assert os.read(stdin, 100) == b"hello"
    other, again, _ = open_files(output, {}, stdin)
    assert other == stdin
    for descriptor in (stdin, stdout, again):
        os.close(descriptor)


def test_a_method_is_not_held_up_by_a_pipe_of_the_user(tmp_path: Path) -> None:
    pipe = str(tmp_path / "pipe")
    os.mkfifo(pipe)
    write(open_files(Output("/dev/null", pipe, str(tmp_path / "e")), {}, None, of_job=False))
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write(open_files(Output("/dev/null", pipe, None), {}, None, of_job=False))
    assert os.read(reader, 100) == b"", "somebody reads it, but what a method writes is lost"
    descriptors = open_files(Output("/dev/null", pipe, None), {}, None)
    os.write(descriptors[1], b"of the job")
    assert os.read(reader, 100) == b"of the job"
    for descriptor in {*descriptors, reader}:
        os.close(descriptor)
    assert (tmp_path / "e").read_text() == "err\n"


def test_files_of_a_method_block_as_usual_and_missing_ones_are_named(tmp_path: Path) -> None:
    descriptors = open_files(Output("/dev/null", str(tmp_path / "o"), None), {}, None, of_job=False)
    assert os.get_blocking(descriptors[1])
    write(descriptors)
    with pytest.raises(OpenError, match="can't open output file"):
        open_files(Output("/dev/null", str(tmp_path / "no" / "o"), None), {}, None, of_job=False)


@pytest.mark.statement("SO-12")
@pytest.mark.parametrize("of_job", [True, False])
def test_a_process_that_must_not_block_opens_plain_files_alone(tmp_path: Path, of_job: bool) -> None:
    (tmp_path / "i").write_text("hello")
    output = Output(str(tmp_path / "i"), str(tmp_path / "o"), None)
    for _ in range(2):  # it makes the file, and finds it
        descriptors = open_files(output, {}, None, of_job, may_block=False)
        assert all(os.get_blocking(each) for each in descriptors)
        write(descriptors)
    assert (tmp_path / "o").read_text() == "out\nerr\n" * 2
    close_files(open_files(Output("/dev/null", "/dev/null", None), {}, None, of_job, may_block=False))
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    before = open_descriptors()
    for path in ("pipe", "", "no/file"):
        with pytest.raises(OpenError, match="can't open output file"):
            open_files(Output("/dev/null", str(tmp_path / path), None), {}, None, of_job, may_block=False)
    with pytest.raises(OpenError, match="can't open input file"):
        open_files(Output(str(tmp_path / "missing"), "/dev/null", None), {}, None, of_job, may_block=False)
    assert open_descriptors() == before
    os.close(reader)


def test_new_files_have_the_rights_that_the_umask_leaves(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        for may_block in (True, False):
            path = tmp_path / str(may_block)
            close_files(open_files(Output("/dev/null", str(path), None), {}, None, may_block=may_block))
            assert path.stat().st_mode & 0o777 == 0o644
    finally:
        os.umask(before)


def test_files_are_closed_once_each_despite_errors_of_the_file_server(monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[int] = []

    def close(descriptor: int) -> None:
        closed.append(descriptor)
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "close", close)
    close_files((97, 98, 98))
    assert sorted(closed) == [97, 98]


def test_the_files_become_the_first_three_descriptors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[tuple[int, int, bool]] = []
    monkeypatch.setattr(os, "dup", lambda descriptor: descriptor + 100)
    monkeypatch.setattr(os, "dup2", lambda old, new, inheritable=True: made.append((old, new, inheritable)))
    install(2, 0, 1)
    assert made == [(102, 0, True), (100, 1, True), (101, 2, True)]


@pytest.mark.statement("SO-12")
@pytest.mark.parametrize("which", ["output", "error"])
def test_a_file_that_is_read_is_not_written_to(tmp_path: Path, which: str) -> None:
    data, other, link = tmp_path / "data", tmp_path / "other", tmp_path / "link"
    data.write_text("kept")
    link.symlink_to(data)
    for path in (data, link):
        output = Output(str(data), str(path), str(other)) if which == "output" else Output(str(data), str(other), str(path))
        with pytest.raises(OpenError, match=rf'input \(-i\) and {which} are the same file "{path}"'):
            open_files(output, {}, None)
    assert data.read_text() == "kept"
    close_files(open_files(Output("/dev/null", "/dev/null", None), {}, None))
