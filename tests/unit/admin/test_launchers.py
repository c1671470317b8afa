"""The scripts in bin: a script for each module that exists, started without the site module."""

from __future__ import annotations

import ast
import os
from pathlib import Path

import pytest

from gridengine.files.architecture import architecture
from tools.launchers import COMMANDS, SLURM_COMMANDS, UTILITIES, write_launchers, write_portable_launchers


def test_only_modules_that_exist_get_a_launcher(tmp_path, monkeypatch):
    monkeypatch.setattr("tools.launchers.COMMANDS", ["qsub", "qnone"])
    monkeypatch.setattr("tools.launchers.SLURM_COMMANDS", ["squeue"])
    bin_directory = tmp_path / "bin"
    bin_directory.mkdir()
    (bin_directory / "qnone").write_text("left over")
    monkeypatch.setattr("tools.launchers.find_spec", lambda name: None if name.endswith("qnone") else SPEC)
    written = write_launchers(bin_directory, "/py")
    daemons = "backup dbwriter execd qmaster shadowd shepherd web".split()
    ours = ["gridengine", "qsub", *(f"sge_{name}" for name in daemons)]
    assert written == sorted([*ours, "squeue", *UTILITIES])
    assert sorted(path.name for path in bin_directory.iterdir()) == ours
    # of another system's name: beside the others, on nobody's PATH by itself
    assert [path.name for path in (tmp_path / "slurm" / "bin").iterdir()] == ["squeue"]
    # where sensors and scripts of 8.1.9 look for them
    utilities = tmp_path / "utilbin" / architecture(os.uname().machine)
    assert sorted(path.name for path in utilities.iterdir()) == sorted(UTILITIES)


def test_a_command_starts_without_site_and_finds_the_library_last(tmp_path, monkeypatch):
    monkeypatch.setattr("tools.launchers.find_spec", lambda name: SPEC)
    (tmp_path / "bin").mkdir()
    write_launchers(tmp_path / "bin", "/py")
    script = (tmp_path / "bin" / "qsub").read_text()
    assert script.startswith("#!/py -IS\n")
    assert "sys.path.append('/srv/packages')" in script
    ast.parse(script)
    assert (tmp_path / "bin" / "qsub").stat().st_mode & 0o777 == 0o755


def test_a_launcher_of_a_wheel_is_one_for_shell_and_python(tmp_path):
    written = write_portable_launchers(tmp_path)
    assert {"qsub", "gridengine", "sge_execd"} <= set(written) and "qnone" not in written
    command, program = (tmp_path / "qsub").read_text(), (tmp_path / "gridengine").read_text()
    assert command.splitlines()[0] == program.splitlines()[0] == "#!/bin/sh"
    assert 'python3" -IS "$0" "$@"' in command and 'python3" -I "$0" "$@"' in program
    assert "gc.set_threshold(" in program and "gc" not in command, "a program loads much that stays"
    for text in (command, program):
        ast.parse(text)
        assert text.splitlines()[1].startswith("''':'; ") and text.splitlines()[2] == "'''"
    assert (tmp_path / "qsub").stat().st_mode & 0o777 == 0o755


@pytest.mark.statement("UT-1")
def test_the_utilities_of_a_wheel_start_the_python_two_directories_above(tmp_path):
    write_portable_launchers(tmp_path)
    for name in UTILITIES:
        script = tmp_path / "utilbin" / name
        assert 'exec "$bin/../../bin/python3" -IS "$0" "$@"' in script.read_text()
        assert '"/../..")' in script.read_text() and f"from clients.utilbin.{name} import main" in script.read_text()
        ast.parse(script.read_text())
        assert script.stat().st_mode & 0o777 == 0o755


def test_every_command_is_installed():
    modules = {path.stem for path in (Path(__file__).parents[3] / "clients").glob("q*.py")}
    assert modules <= set(COMMANDS)
    utilities = {path.stem for path in (Path(__file__).parents[3] / "clients" / "utilbin").glob("get*.py")}
    assert {*utilities, "loadcheck"} == set(UTILITIES)
    assert all((Path(__file__).parents[3] / "clients" / "slurm" / f"{name}.py").exists() for name in SLURM_COMMANDS)


class SPEC:
    """A module `clients.x` in a library directory; programs lie a package deeper."""

    origin = "/srv/packages/clients/x.py"
