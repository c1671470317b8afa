"""Debian packages whose programs tests use: one set, which is installed whole by the first test that lacks a program of it.

Packages that are installed separately can conflict: a dependency of the first may exclude a dependency of the second.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

import pytest

from tests import needs

#: program -> packages that it needs; their recommended packages are not installed
PACKAGES = {
    "Xvfb": ("xvfb",),
    "cc": ("gcc", "libc6-dev", "make"),
    "checkmodule": ("checkpolicy", "selinux-policy-dev"),
    "chromium-headless-shell": ("chromium-headless-shell",),
    "csh": ("csh",),
    "curl": ("curl",),
    "fish": ("fish",),
    "groff": ("groff-base",),
    "initdb": ("postgresql",),
    "mandoc": ("mandoc",),
    "matchpathcon": ("selinux-utils",),
    "modulecmd": ("environment-modules",),
    "mpicc": ("openmpi-bin", "libopenmpi-dev"),
    "nft": ("nftables",),
    "perl": ("perl-base",),
    "nslcd": ("nslcd", "libnss-ldapd"),
    "semodule_unpackage": ("semodule-utils", "policycoreutils"),
    "setpriv": ("util-linux",),
    "slapd": ("slapd",),
    "sshd": ("openssh-server",),
    "strace": ("strace",),
    "tclsh": ("tcl",),
    "uuidgen": ("uuid-runtime",),
    "xterm": ("xterm",),
    "zsh": ("zsh",),
}

LOCK = Path("/run/lock/gridengine-test-packages")

#: jobs run in login shells: what a package adds to these, as Environment Modules do, would triple the time of each job
_NO_PROFILES = "DPkg::Options::=--path-exclude=/etc/profile.d/*"
_APT = ("apt-get", "-qq", "-y", "-o", "DPkg::Lock::Timeout=300", "-o", _NO_PROFILES, "--no-install-recommends", "--no-remove")


def need(*programs: str) -> None:
    """Have these programs; skip the test where they are missing and cannot be installed."""
    if missing := _missing(programs):
        with _apt_lock(missing[0]):
            problem = _install() if _missing(programs) else ""
        if missing := _missing(programs):
            _refuse(missing[0], problem or "no package of the set has it")


def need_complete(*programs: str) -> None:
    """The same, and wait for an installation that is under way: a program is there before all that it needs."""
    need(*programs)
    if can_install():
        with _apt_lock(programs[0]):
            return


def need_packages(*packages: str) -> None:
    """Have these packages, for tests of `make packages` alone: the set of the others does not grow by them."""
    asked = ["dpkg-query", "--show", "--showformat=${Package}:${db:Status-Status}\n", *packages]
    there = subprocess.run(asked, capture_output=True, text=True).stdout.split() if can_install() else []
    if missing := [each for each in packages if f"{each}:installed" not in there]:
        with _apt_lock(missing[0]):
            if problem := _apt("update") or _apt("install", *missing):
                _refuse(missing[0], problem)


def _missing(programs: tuple[str, ...]) -> list[str]:
    return [program for program in programs if not find(program)]


def find(program: str) -> str | None:
    """The path of a program, also of a program of root only, or of a database server."""
    servers = sorted(str(path) for path in Path("/usr/lib/postgresql").glob("*/bin"))
    return shutil.which(program, path=os.pathsep.join([os.environ["PATH"], "/usr/sbin", *servers[::-1]]))


def can_install() -> bool:
    """Whether packages can be installed here: by root, with apt-get."""
    return os.geteuid() == 0 and shutil.which("apt-get") is not None


def unpack(package: str, directory: Path) -> None:
    """Unpack a package, and all that it needs and this machine lacks, below a directory beside the system."""
    with _apt_lock(package):
        if problem := _apt("update") or _apt("install", "--download-only", "-o", f"Dir::Cache::archives={directory}", package):
            _refuse(package, problem)
    for archive in directory.glob("*.deb"):
        subprocess.run(["dpkg-deb", "-x", archive, directory], check=True)


@contextmanager
def _apt_lock(what: str) -> Iterator[None]:
    """Tests of another session wait meanwhile: apt-get waits for other packages, but not for other lists of them."""
    if not can_install():
        _refuse(what, "here is no root with apt-get")
    with LOCK.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _install() -> str:
    """Install the whole set; return the last line of an apt-get that failed, else ""."""
    return _apt("update") or _apt("install", *sorted({name for names in PACKAGES.values() for name in names}))


def _apt(*arguments: str) -> str:
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    done = subprocess.run([*_APT, *arguments], env=environment, capture_output=True, text=True, errors="replace", timeout=900)
    return (done.stderr.strip().splitlines() or ["apt-get failed"])[-1] if done.returncode else ""


def _refuse(what: str, why: str) -> NoReturn:
    """Skip the test; fail it where a server judges, since no test may be left out there without notice."""
    packages = f"the Debian packages {' '.join(PACKAGES.get(what, (what,)))}"
    if "CI" in os.environ and can_install():
        pytest.fail(f"needs {what}, which {packages} should bring: {why}", pytrace=False)
    needs.skip(what, f"install {packages} (the tests cannot: {why})")
