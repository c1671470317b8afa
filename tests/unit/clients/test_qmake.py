"""qmake: the arguments for make and for qrsh, and the slot of each command."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from clients import qmake
from clients.program import CommandError
from gridengine.options.option import OptionError

Became = list[list[str]]


@pytest.fixture
def became(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Became:
    """The programs that this process would have become."""
    done: Became = []
    monkeypatch.setattr(qmake, "_become", lambda command: done.append(command) or 0)
    monkeypatch.setattr("sys.argv", ["/ge/bin/qmake"])
    monkeypatch.chdir(tmp_path)
    for name in ("SGE_ARCH", "PE_HOSTFILE", "QMAKE_SLOTS", "QMAKE_OPTIONS", "JOB_ID"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return done


@pytest.fixture
def in_job(became: Became, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., list[str]]:
    """Call qmake in a job with these hosts and slots; the command that it became."""

    def call(*arguments: str, **slots: int) -> list[str]:
        monkeypatch.setenv("JOB_ID", "7")
        if slots:
            text = "".join(f"{host} {number} all.q@{host} UNDEFINED\n" for host, number in slots.items())
            (tmp_path / "hosts").write_text(text)
            monkeypatch.setenv("PE_HOSTFILE", str(tmp_path / "hosts"))
        assert qmake.qmake(list(arguments)) == 0
        return became[-1]

    return call


@pytest.mark.statement("QK-1")
def test_outside_a_job_it_asks_qrsh_for_one(became: Became, monkeypatch: pytest.MonkeyPatch) -> None:
    qmake.qmake("-cwd -pe make 2-4 -- -k all".split())
    start = "/ge/bin/qrsh -cwd -pe make 2-4 -noshell /ge/bin/qmake -inherit"
    assert became == [[*start.split(), "--", "-k", "all"]]
    monkeypatch.setenv("SGE_ARCH", "lx-amd64")
    qmake.qmake(["-cwd"])
    asked = "-cwd -l arch=lx-amd64"
    assert became[1] == f"/ge/bin/qrsh {asked} -noshell /ge/bin/qmake -inherit {asked} --".split(), "rules ask for the same"


def test_unknown_options_are_refused(became: Became, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(OptionError, match="-k"):
        qmake.qmake(["-k"])
    assert qmake.qmake(["all"]) != 0
    assert 'arguments for make follow "--"' in capsys.readouterr().err
    with pytest.raises(CommandError, match="in a job only"):
        qmake.qmake(["-inherit", "--"])
    assert became == []


def test_make_gets_the_number_of_parallel_commands(in_job: Callable[..., list[str]], tmp_path: Path) -> None:
    (tmp_path / "Makefile").touch()
    command = in_job("-inherit", "--", "-k", h1=2, h2=1)
    assert command[1:-1] == ["-j", "3", "-k", "-f", "Makefile", "-f"]
    behind_all = Path(command[-1]).read_text()
    assert behind_all == "SHELL := /ge/bin/qmake -rule $(SHELL)\nMAKE := /ge/bin/qmake -inherit --\n"
    below = in_job("-inherit", "--", "-C", "sub", h1=2, h2=1)
    assert below[1:-1] == ["-C", "sub", "-f"], "a make below has the jobs of the one above, and there is no makefile"


@pytest.mark.parametrize("command", [["-f", "x"], ["-fx"], ["--file=x"], ["--makefile", "x"]])
def test_a_makefile_that_is_named_is_the_only_one(in_job: Callable[..., list[str]], tmp_path: Path, command: list[str]) -> None:
    (tmp_path / "Makefile").touch()
    assert in_job("-inherit", "--", "-j2", *command, h1=1)[1:-2] == ["-j2", *command]


@pytest.mark.parametrize("command", [["-C", "d"], ["-Cd"], ["--directory", "d"], ["--directory=d"]])
def test_the_makefile_is_looked_for_where_make_goes(in_job: Callable[..., list[str]], tmp_path: Path, command: list[str]) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "GNUmakefile").touch()
    assert in_job("-inherit", "--", "-j2", *command, h1=1)[-4:-1] == ["-f", "GNUmakefile", "-f"]


def opened_below(directory: Path) -> list[int]:
    """The descriptors of this process that are files there."""
    numbers = [int(name) for name in os.listdir("/proc/self/fd")]
    return [number for number in numbers if Path(os.path.realpath(f"/proc/self/fd/{number}")).is_relative_to(directory)]


def test_each_command_has_a_slot_of_its_own(
    in_job: Callable[..., list[str]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    in_job("-inherit", "--", h1=2, h2=1)
    monkeypatch.setenv("HOSTNAME", "h1")
    shell = ["-rule", "/bin/bash", "-c", "cc x.c"]
    ran = [in_job(*shell) for _ in range(3)]
    assert ran[0] == ran[2] == ["/bin/bash", "-c", "cc x.c"], "here"
    assert ran[1] == [*"/ge/bin/qrsh -inherit -noshell -nostdin -cwd -V h2 /bin/bash -c".split(), "cc x.c"]
    locked = opened_below(tmp_path)
    assert len(locked) == 3 and all(os.get_inheritable(number) for number in locked)
    for number in locked:
        os.close(number)


@pytest.mark.parametrize("option", ['SGE_RREQ="-l comp=1" cc', "SGE_RREQ='-l comp=1' cc", "  SGE_RREQ='-l comp=1' cc"])
def test_without_a_parallel_job_each_command_is_a_job(in_job: Callable[..., list[str]], option: str) -> None:
    in_job("-inherit", "-l", "arch=x", "-now", "y", "--")
    command = in_job("-rule", "/bin/sh", "-c", option)
    assert command == [*"/ge/bin/qrsh -l arch=x -now y -l comp=1 -nostdin -cwd -V -noshell /bin/sh -c".split(), option]
    assert "-now n" in " ".join(in_job("-rule", "/bin/sh", "-c", "true")).replace("-now y", "-now n")


def test_a_make_below_runs_where_make_runs(in_job: Callable[..., list[str]]) -> None:
    in_job("-inherit", "--", h1=1)
    below = ["/bin/sh", "-c", "/ge/bin/qmake -inherit -- -C x"]
    assert in_job("-rule", *below) == below
