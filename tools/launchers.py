"""Writes the small scripts in `bin` that start the commands and the daemons.

Owns the list of programs and the way they start. Called by `make` after an installation; imported only by
tests. Replaces the scripts that pip would write: pip's scripts load the site machinery (about 3 ms), `re` and the
package metadata before the first line of a command, which takes 28 ms in total. With the native front the commonest commands are
programs.
"""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from pathlib import Path

from gridengine.files.architecture import architecture

#: Commands of users and administrators: the function NAME of `clients.NAME`. One that is not written yet gets no script.
COMMANDS = (
    "qacct qalter qconf qdel qevent qexplain qhold qhost qlogin qmake qmod qping qquota qralter qrdel qresub qrls qrsh qrstat "
    "qrsub qsched qselect qsh qstat qstatus qsub qtasks sge_share_mon"
).split()

#: Commands with Slurm's names; the module is `clients.slurm.NAME`. They are in slurm/bin, which is in no PATH by default.
SLURM_COMMANDS = "sbatch scancel sinfo squeue srun".split()

#: Commands that the native front (clients/front, adr/0261) starts where it could be compiled; their scripts are then in libexec.
FRONT_COMMANDS = ("qacct", "qdel", "qstat", "qsub")

#: Small programs for load sensors and scripts; the module is `clients.utilbin.NAME`. They are in utilbin/ARCH, as those of 8.1.9.
UTILITIES = "gethostbyaddr gethostbyname gethostname getservbyname loadcheck".split()

#: Programs with libraries of their own: these start like any Python program.
PROGRAMS = {
    "gridengine": "clients.admin.__main__",
    "sge_qmaster": "daemons.qmaster.__main__",
    "sge_backup": "daemons.qmaster.backup.__main__",
    "sge_shadowd": "daemons.qmaster.shadow.__main__",
    "sge_execd": "daemons.execd.__main__",
    "sge_dbwriter": "daemons.dbwriter.__main__",
    "sge_web": "daemons.web.__main__",
    "sge_shepherd": "shepherd.__main__",
}

# -I: neither the caller's PYTHON* variables nor the working directory decide what is loaded; -S: no site module.
_OPTIONS = "-IS"

# The library directory comes last, so that the standard library is found without looking through it.
_INSTALLED = """\
#!{python} {options}
import sys
sys.path.append({library!r})
{start}
"""

# The target directory of a wheel is unknown when it is built, and pip cannot keep options on the first line. So a shell hands the
# script to the interpreter beside it; to Python the shell's line is a text. A link to the script is followed first.
_PORTABLE = """\
#!/bin/sh
''':'; bin=${{0%/*}}; [ ! -h "$0" ] || bin=$(dirname "$(readlink -f "$0")"); exec "$bin{to_bin}/python3" {options} "$0" "$@"
'''
import sys
from os.path import abspath, dirname, realpath
top = abspath(dirname(realpath(__file__)) + "/{to_top}")
sys.path.append("%s/lib/python%d.%d/site-packages" % (top, *sys.version_info[:2]))
{start}
"""


def start_of(module: str) -> str:
    """The lines of a script that start the program in a module."""
    name = module.rpartition(".")[2]
    if module in PROGRAMS.values():
        # loading makes 400,000 objects that stay: looking for garbage among the young ones every 700 takes a tenth of the time
        return f"import gc\ngc.set_threshold(50_000)\nfrom runpy import run_module\nrun_module({module!r}, run_name='__main__')"
    if name in COMMANDS:
        return f"from clients.program import run\nfrom {module} import {name}\nrun({name!r}, {name})"
    return f"from {module} import main\nsys.exit(main())"


def _start_behind_front(module: str) -> str:
    """The lines of the script behind the front: its first argument is the key of a request that was sent, or empty."""
    return f"from clients import gdi\ngdi.sent_key = sys.argv.pop(1)\n{start_of(module)}"


def _options_of(name: str) -> str:
    return "-I" if name in PROGRAMS else _OPTIONS


def write_portable_launchers(directory: Path) -> list[str]:
    """Write the script of every program for a wheel; return their names, sorted. Called by `setup.py`.

    The scripts of `utilbin` are in a directory of that name; they are the same for all architectures.
    """
    written = []
    utilities = directory / "utilbin"
    utilities.mkdir(exist_ok=True)
    for name in UTILITIES:
        start = start_of(f"clients.utilbin.{name}")
        text = _PORTABLE.format(options=_OPTIONS, start=start, to_bin="/../../bin", to_top="../..")
        (utilities / name).write_text(text)
        (utilities / name).chmod(0o755)
    for name in sorted([*COMMANDS, *PROGRAMS]):
        module = PROGRAMS.get(name, f"clients.{name}")
        if _library_of(module) is None:
            continue
        text = _PORTABLE.format(options=_options_of(name), start=start_of(module), to_bin="", to_top="..")
        (directory / name).write_text(text)
        (directory / name).chmod(0o755)
        written.append(name)
    return written


def write_launchers(bin_directory: Path, python: str, front: Path | None = None) -> list[str]:
    """Write the script of every program whose module is installed for `python`; return their names, sorted.

    Scripts of this list whose module is gone are removed. `front`: the native front, None where there is none.
    """
    written = []
    behind = bin_directory.parent / "libexec"
    slurm = bin_directory.parent / "slurm" / "bin"
    slurm.mkdir(parents=True, exist_ok=True)
    utilbin = bin_directory.parent / "utilbin" / architecture(os.uname().machine)
    utilbin.mkdir(parents=True, exist_ok=True)
    directories = dict.fromkeys(SLURM_COMMANDS, (slurm, "clients.slurm")) | dict.fromkeys(UTILITIES, (utilbin, "clients.utilbin"))
    for name in sorted([*COMMANDS, *PROGRAMS, *SLURM_COMMANDS, *UTILITIES]):
        directory, package = directories.get(name, (bin_directory, "clients"))
        script = directory / name
        module = PROGRAMS.get(name, f"{package}.{name}")
        library = _library_of(module)
        if library is None:
            script.unlink(missing_ok=True)
            continue
        start = start_of(module)
        if front and name in FRONT_COMMANDS:
            _replace(script, front.read_bytes())
            behind.mkdir(exist_ok=True)
            script, start = behind / name, _start_behind_front(module)
        text = _INSTALLED.format(python=python, options=_options_of(name), library=library, start=start)
        _replace(script, text.encode())
        written.append(name)
    return written


def _replace(program: Path, content: bytes) -> None:
    """Write a program, unless it has this content; a user may start it at this moment."""
    if program.exists() and program.read_bytes() == content:
        return
    draft = program.with_name(f".{program.name}.new")
    draft.write_bytes(content)
    draft.chmod(0o755)
    draft.replace(program)


def _library_of(module: str) -> str | None:
    """Return the directory that `module`'s top-level package lies in, or None when there is no such module."""
    try:
        spec = find_spec(module)
    except ModuleNotFoundError:
        return None
    if spec is None or spec.origin is None:
        return None
    return str(Path(spec.origin).resolve().parents[module.count(".")])


def main() -> None:
    """`launchers.py BIN [FRONT]`: write the launchers for the Python that runs this script."""
    if len(sys.argv) not in (2, 3) or not Path(sys.argv[1]).is_dir():
        sys.exit("usage: launchers.py BIN_DIRECTORY [FRONT]")
    write_launchers(Path(sys.argv[1]).resolve(), sys.executable, Path(sys.argv[2]) if len(sys.argv) > 2 else None)


if __name__ == "__main__":
    main()
