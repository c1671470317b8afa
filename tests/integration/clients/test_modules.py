"""The module file of a cell, loaded and unloaded by Environment Modules and by Lmod."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.integration import debian
from tests.integration.cells import DemoCell, run
from tests.needs import skip

#: module system -> the file that brings the function `module` into a shell
INITS = {"environment-modules": Path("/usr/share/modules/init/bash"), "lmod": Path("/usr/share/lmod/lmod/init/bash")}

#: the environment of a shell without what module systems keep for themselves
_SHOW = "env | grep -Ev '^(_|__MODULES_.*|__LMOD_.*|_ModuleTable.*|LOADEDMODULES|SHLVL)='"


@pytest.mark.parametrize("system", INITS)
def test_a_loaded_module_leads_to_the_cell_and_an_unloaded_one_leaves_nothing(
    demo_cell: DemoCell, tmp_path: Path, system: str
) -> None:
    if system == "environment-modules" and not INITS["lmod"].exists():
        debian.need("modulecmd")
    if not INITS[system].exists():
        skip(system, f"install the Debian package {system} in place of the other module system")
    (tmp_path / "gridengine").symlink_to(demo_cell.common / "modulefile")
    lines = [
        f". {INITS[system]}; module use {tmp_path}; {_SHOW} | sort >{tmp_path}/before",
        f"module load gridengine; command -v qstat; qstat -f; {_SHOW} | sort >{tmp_path}/loaded",
        f"module unload gridengine; {_SHOW} | sort >{tmp_path}/after",
    ]
    plain = {"PATH": "/usr/bin:/bin", "HOME": os.environ.get("HOME", "/")}
    done = run(["bash", "-c", "\n".join(lines)], env=plain)
    assert done.returncode == 0 and f"all.q@{demo_cell.host}" in done.stdout, done.stdout + done.stderr
    before, loaded, after = ((tmp_path / name).read_text().splitlines() for name in ("before", "loaded", "after"))
    assert after == before
    shell = run(["bash", "-c", f". {demo_cell.common}/settings.sh; env"], env=plain).stdout.splitlines()
    names = ("SGE_", "PATH=", "DRMAA_")
    assert [line for line in loaded if line.startswith(names)] == sorted(line for line in shell if line.startswith(names))
    pages = [line.partition("=")[2].split(":") for line in loaded if line.startswith("MANPATH=")]
    assert len(pages) == 1 and len(pages[0]) > 1 and "" in pages[0], "the pages of the system are found, too"
