"""The wheel, the core alone and the Debian package, built from this checkout and installed where nothing of the project is.

The wheel goes into an empty environment, the package into a host of its own: a copy of this machine's system in memory, without
/opt, so that dpkg changes nothing else.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from gridengine.extensions import LIBRARIES
from gridengine.files.architecture import architecture
from tests import needs
from tests.integration.cells import PYTHON, ROOT, eventually, run
from tests.integration.packages.builds import must
from tests.integration.packages.rooted_host import RootedHost

HOST = "k1"
LIBRARY = f"lib/{architecture(os.uname().machine)}/libdrmaa.so"
DRMAA_PROGRAM = """
import ctypes, sys
library, job, status, code = ctypes.CDLL(sys.argv[1]), ctypes.create_string_buffer(99), ctypes.c_int(), ctypes.c_int()
template = ctypes.c_void_p()
def must(call, *arguments):
    why = ctypes.create_string_buffer(1024)
    assert getattr(library, "drmaa_" + call)(*arguments, why, ctypes.c_size_t(1024)) == 0, why.value
must("init", None)
must("allocate_job_template", ctypes.byref(template))
for name, value in (b"drmaa_remote_command", b"/bin/sh"), (b"drmaa_output_path", b":/dev/null"), (b"drmaa_join_files", b"y"):
    must("set_attribute", template, name, value)
must("set_vector_attribute", template, b"drmaa_v_argv", (ctypes.c_char_p * 3)(b"-c", b"exit 3", None))
must("run_job", job, ctypes.c_size_t(99), template)
must("wait", job, None, ctypes.c_size_t(0), ctypes.byref(status), ctypes.c_long(-1), None)
must("wexitstatus", ctypes.byref(code), status)
must("exit")
print(code.value)
"""


def lines_of(kind: str) -> str:
    """The commands of docs/api.md for a kind of package."""
    (lines,) = re.findall(rf"^```sh {kind}\n(.*?)^```$", (ROOT / "docs/api.md").read_text(), re.MULTILINE | re.DOTALL)
    return str(lines)


@pytest.mark.apart
def test_a_wheel_brings_the_programs(source: Path, tmp_path: Path) -> None:
    outside = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
    shown = must(["bash", "-ec", lines_of("wheel")], cwd=source, env={**os.environ, **outside})
    environment = tmp_path / "grid"
    outside["PYTHONPATH"] = "/nowhere"
    assert "all.q@demo3" in shown and "exit_status  0" in shown
    asks = "import ctypes, sys; system = ctypes.create_string_buffer(99); "
    asks += "ctypes.CDLL(sys.argv[1]).drmaa_get_DRM_system(system, 99, None, 0); print(system.value.decode())"
    assert must([PYTHON, "-c", asks, str(environment / LIBRARY)]) == "SGE 8.1.9\n"
    assert (environment / "include" / "drmaa.h").exists()
    (tmp_path / "link").symlink_to(environment / "bin" / "qstat")
    assert must([str(tmp_path / "link"), "-help"], cwd=tmp_path, env=outside).startswith("SGE 8.1.9\n")


@pytest.mark.apart
def test_the_core_alone_runs_a_cell(source: Path, tmp_path: Path) -> None:
    programs = tmp_path / "core" / "bin"
    must([PYTHON, "-m", "venv", str(programs.parent)])
    install = [str(programs / "pip"), "install", "--quiet", "--disable-pip-version-check", "--constraint", "requirements.lock"]
    must([*install, "--upgrade", "pip"], cwd=source)
    must([*install, "--no-compile", "."], cwd=source)
    installed = {name.lower() for name in re.findall(r"^([^=\n]+)==", must([str(programs / "pip"), "freeze"]), re.MULTILINE)}
    assert "ray" in installed
    assert installed.isdisjoint(name.partition("[")[0] for libraries in LIBRARIES.values() for name in libraries)
    outside = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
    shown = must([str(programs / "gridengine"), "demo"], cwd=tmp_path, env=outside)
    assert "all.q@demo3" in shown and "exit_status  0" in shown
    commands = {"sge_web": "web", "sge_dbwriter": "arco", "gridengine demo --web": "web", "gridengine arco list": "arco"}
    for command, extension in commands.items():
        name, *arguments = command.split()
        done = run([str(programs / name), *arguments], cwd=tmp_path, env=outside)
        assert (done.returncode, done.stderr.count("\n")) == (1, 1)
        assert done.stderr.startswith(f"{name}: the extension {extension} needs the libraries ")


@pytest.fixture
def bare() -> Iterator[RootedHost]:
    needs.need_testbed()
    host = RootedHost(HOST)
    try:
        yield host
    finally:
        host.remove()


@pytest.mark.apart
@pytest.mark.statement("UT-2")
def test_a_debian_package_makes_a_bare_host_a_cell(source: Path, bare: RootedHost) -> None:
    make, *on_the_host = lines_of("deb").splitlines()
    must(["bash", "-ec", make], cwd=source)
    (package,) = (source / "build" / "deb").glob("*.deb")
    disk = bare.spool
    (disk / "build" / "deb").mkdir(parents=True)
    shutil.copy(package, disk / "build" / "deb")
    shutil.copy(package, disk / "package.deb")
    output = bare.must("env", "CC=none", "bash", "-ec", "\n".join(("cd /var/spool", *on_the_host)))
    assert "gridengine init" in output and "Usage: gridengine" in output
    for unit in ("sge_qmaster", "sge_execd"):
        assert "ExecStart=/opt/gridengine/bin/" in bare.must("cat", f"/lib/systemd/system/{unit}.service")
    where = ["--root", "/opt/gridengine/cells", "--exec-host", HOST]
    bare.must("gridengine", "init", *where, "--load-thresholds", "NONE", "--no-arco")
    in_cell = ["env", "SGE_ROOT=/opt/gridengine/cells", "SGE_CELL=default"]
    bare.must(*in_cell, "gridengine", "start")
    bare.must(*in_cell, "qsub", "-sync", "y", "-b", "y", "-o", "/var/spool/said", "-j", "y", "-S", "/bin/sh", "echo", "packed")
    eventually("the job's output is there", lambda: bare.on("cat", "/var/spool/said").stdout == "packed\n")
    (disk / "program.py").write_text(DRMAA_PROGRAM)
    versions = bare.must(*in_cell, "python3", "/var/spool/program.py", f"/opt/gridengine/{LIBRARY}")
    assert versions == "3\n", "the library that the package brought, since there was no compiler"
    refused = bare.on("dpkg", "-r", "gridengine-ray")
    assert refused.returncode != 0 and "still run from release" in refused.stderr
    assert bare.must("dpkg", "-i", "/var/spool/package.deb").count("installed"), "again, beneath the daemons"
    assert "all.q" in bare.must(*in_cell, "qstat", "-f")
    bare.must(*in_cell, "gridengine", "stop")
    bare.must("dpkg", "-r", "gridengine-ray")
    assert bare.must("ls", "/opt/gridengine") == "cells\n", "cells stay"
