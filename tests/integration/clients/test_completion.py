"""Completion in real shells: bash and fish complete words, and zsh can read its script."""

import shlex
import subprocess
from pathlib import Path

import pytest

from clients.admin.command_tree import sub_commands
from clients.admin.completion import bash_completion, zsh_completion
from clients.admin.fish_completion import fish_completion
from clients.admin.program import app
from tests.integration.debian import need


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The completion, with a qconf and a qstat beside it that answer like the commands of a cell."""
    directory = tmp_path_factory.mktemp("completion")
    (directory / "qconf").write_text(
        '#!/bin/sh\ncase $1 in -sql) echo all.q; echo night.q;; -spl) echo mpi;; -shgrpl) echo @big;; -sel) echo n1;; esac\n'
    )
    (directory / "qselect").write_text("#!/bin/sh\necho all.q@n1\n")
    (directory / "qstat").write_text("#!/bin/sh\necho job-ID; echo ---; echo '  17 0.5 x'; echo '  18 0.5 y'\n")
    for name in ("qconf", "qstat", "qselect"):
        (directory / name).chmod(0o755)
    (directory / "completion.bash").write_text(bash_completion(sub_commands(app)))
    (directory / "completion.fish").write_text(fish_completion(sub_commands(app)))
    return directory / "completion.bash"


def complete(script: Path, line: str) -> set[str]:
    """The completions that bash offers for the last argument of a line."""
    arguments = shlex.split(line) + ([""] if line.endswith(" ") else [])
    function = "_ge_program" if arguments[0] == "gridengine" else "_ge_command"
    program = (
        f"compopt() {{ :; }}; source {script}; COMP_WORDS=({' '.join(map(shlex.quote, arguments))}); "
        f"COMP_CWORD={len(arguments) - 1}; "
        f'{function} {arguments[0]} {shlex.quote(arguments[-1])}; printf "%s\\n" "${{COMPREPLY[@]}}"'
    )
    path = f"{script.parent}:/usr/bin:/bin"
    done = subprocess.run(["bash", "-c", program], capture_output=True, text=True, env={"PATH": path}, cwd=script.parent)
    assert not done.stderr
    return set(done.stdout.split())


@pytest.mark.parametrize(
    ("line", "arguments"),
    [
        ("qsub -hold", {"-hold_jid", "-hold_jid_ad", "-hold_jid_ok", "-hold_jid_fail"}),
        ("qsub -q ", {"all.q", "night.q"}),
        ("qsub -q all.q,ni", {"all.q,night.q"}),
        ("qsub -j ", {"y", "n"}),
        ("qsub -pe m", {"mpi"}),
        ("qsub -w ", {"e", "w", "n", "v", "p"}),
        ("qsub -cwd comp", {"completion.bash", "completion.fish"}),
        ("qdel ", {"17", "18"}),
        ("qdel 17 -t 1-3 ", {"17", "18"}),
        ("qmod -d all.q ", {"all.q", "night.q"}),
        ("qsub -N ", set()),
        ("qsub -q all.q@", {"all.q@n1", "all.q@@big"}),
        ("qmod -d all.q@@", {"all.q@@big"}),
        ("qconf -shgrp ", {"@big"}),
        ("gridengine host ", {"add", "drain", "keys", "list", "remove", "resume", "revoke"}),
        ("gridengine host drain ", {"n1"}),
        ("gridengine host add n2 --group ", {"@big"}),
        ("gridengine host add --sl", {"--slots"}),
        ("gridengine completion ", {"bash", "zsh", "fish"}),
        ("gridengine backup comp", {"completion.bash", "completion.fish"}),
    ],
)
def test_bash(script: Path, line: str, arguments: set[str]) -> None:
    assert complete(script, line) == arguments


def test_zsh_reads_the_script(tmp_path: Path) -> None:
    need("zsh")
    (tmp_path / "_gridengine").write_text(zsh_completion(sub_commands(app)))
    program = f"autoload -Uz compinit; compinit -D; source {tmp_path}/_gridengine; print $_comps[qsub] $_comps[gridengine]"
    done = subprocess.run(["zsh", "-fc", program], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("_ge_command _ge_command\n", "")


@pytest.mark.parametrize(
    ("line", "arguments"),
    [
        ("qsub -hold_jid_", {"-hold_jid_ad", "-hold_jid_ok", "-hold_jid_fail"}),
        ("qsub -q ", {"all.q", "night.q"}),
        ("qsub -q all.q,ni", {"all.q,night.q"}),
        ("qsub -q all.q@", {"all.q@n1", "all.q@@big"}),
        ("qsub -j ", {"y", "n"}),
        ("qdel ", {"17", "18"}),
        ("gridengine host dr", {"drain"}),
        ("gridengine host drain ", {"n1"}),
        ("gridengine host add --sl", {"--slots"}),
        ("gridengine completion ", {"bash", "zsh", "fish"}),
    ],
)
def test_fish(script: Path, line: str, arguments: set[str]) -> None:
    need("fish")
    program = f"source {script.parent}/completion.fish; complete -C {shlex.quote(line)}"
    environment = {"PATH": f"{script.parent}:/usr/bin:/bin", "HOME": str(script.parent)}
    done = subprocess.run(["fish", "-N", "-c", program], capture_output=True, text=True, env=environment, cwd=script.parent)
    assert ({offered.split("\t")[0] for offered in done.stdout.splitlines()}, done.stderr) == (arguments, "")
