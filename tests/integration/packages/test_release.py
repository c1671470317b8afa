"""The packages of a release, installed without a network on systems without Python; their bill, sums and signature."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

import gridengine
from gridengine.files.release_lock import lock_release_shared
from tests.integration.cells import PYTHON, run
from tests.integration.packages.builds import Root, checkout, must, put

pytestmark = pytest.mark.apart
DEMO = "cd /tmp && /opt/gridengine/bin/gridengine demo"


def has_run_jobs(shown: str) -> bool:
    return "all.q@demo3" in shown and "exit_status  0" in shown


# bullseye has glibc 2.31 (SLES 15, Ubuntu 20.04) and, in this root, no Python
@pytest.mark.parametrize("suite", ["bullseye", "bookworm", "trixie"])
def test_the_archive_installs_without_a_network_and_runs_jobs(release: Path, new_root: Callable[[str], Root], suite: str) -> None:
    root = new_root(suite)
    name = put(release, "gridengine-*.tar", root)
    assert root.on("command -v python3").returncode == 1
    shown = root.must(f"tar xf {name} && {name.removesuffix('.tar')}/install && rm -r gridengine-*")
    assert re.search(r"^installed \S+ in /opt/gridengine$", shown, re.MULTILINE)
    assert has_run_jobs(root.must(DEMO))
    assert "SGE 8.1.9" in root.must("/opt/gridengine/bin/qstat -help")
    assert root.must("/opt/gridengine/bin/sge_qmaster --version").startswith(f"{gridengine.__version__}-")


def test_the_archive_is_refused_on_another_processor(release: Path, tmp_path: Path) -> None:
    (archive,) = release.glob("gridengine-*.tar")
    must(["tar", "xf", str(archive), "-C", str(tmp_path)])
    (unpacked,) = tmp_path.iterdir()
    (unpacked / "python" / "processor").write_text("riscv64\n")
    done = run([str(unpacked / "install"), str(tmp_path / "prefix")])
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert done.stderr.startswith("install: this archive is for Linux on riscv64, and this host is Linux ")
    assert not (tmp_path / "prefix").exists()


@pytest.mark.parametrize("suite", ["bookworm", "trixie"])
def test_the_debian_package_installs_without_python(release: Path, new_root: Callable[[str], Root], suite: str) -> None:
    root = new_root(suite)
    name = put(release, "*.deb", root)
    assert "gridengine init" in root.must(f"dpkg -i {name}")
    assert has_run_jobs(root.must(DEMO))
    assert "as this release" in root.must(f"dpkg -i {name}"), "an upgrade"
    root.must("mkdir /opt/gridengine/cells && dpkg -r gridengine-ray")
    assert root.must("ls /opt/gridengine") == "cells\n"


def test_an_rpm_installs_is_upgraded_and_is_removed(release: Path, new_root: Callable[[str], Root]) -> None:
    """In a Debian root, since roots of the other distributions cannot be had: their packages are not checked (--nodeps)."""
    root = new_root("bookworm")
    mounted = 'mount -t proc proc "$0/proc" && mount --rbind /dev "$0/dev" && exec rpm --root "$0" "$@"'
    rpm = ["unshare", "--mount", "sh", "-c", mounted, str(root.path)]
    (package,) = map(str, release.glob("*.rpm"))
    needed = must(["rpm", "-qp", "--requires", package]).split("\n")
    assert "glibc >= 2.28" in needed and not [each for each in needed if "python" in each]
    assert "gridengine init" in must([*rpm, "--nodeps", "--install", package])
    assert must([*rpm, "--verify", "--nodeps", "gridengine-ray"]) == ""
    owners = must([*rpm, "-q", "--queryformat", "[%{FILEUSERNAME}:%{FILEGROUPNAME}\n]", "gridengine-ray"]).splitlines()
    assert set(owners) == {"root:root"}
    unit = root.path / "usr/lib/systemd/system/sge_qmaster.service"
    assert "ExecStart=/opt/gridengine/bin/" in unit.read_text() and not (root.path / "etc/systemd/system").is_symlink()
    assert root.must("/opt/gridengine/bin/sge_qmaster --version").startswith(f"{gridengine.__version__}-")
    assert has_run_jobs(root.must(DEMO))
    assert "as this release" in must([*rpm, "--nodeps", "--upgrade", "--force", package])
    (lock,) = (root.path / "opt/gridengine/releases").glob("*/lock")
    with lock.open() as held:
        assert lock_release_shared(held.fileno())
        refused = run([*rpm, "--erase", "gridengine-ray"], timeout=300)
    assert refused.returncode != 0 and "still run from release" in refused.stderr
    (root.path / "opt/gridengine/cells").mkdir()
    must([*rpm, "--erase", "gridengine-ray"])
    assert [each.name for each in (root.path / "opt/gridengine").iterdir()] == ["cells"] and not unit.exists()


def test_the_bill_of_materials_names_what_is_installed(release: Path, tmp_path: Path) -> None:
    bill = release / "sbom.cdx.json"
    listed = json.loads(bill.read_text())["components"]
    versions = {each["purl"] for each in listed}
    locked = dict(re.findall(r"^(\S+)==(\S+)$", (release / "requirements.lock").read_text(), re.MULTILINE))
    assert f"pkg:pypi/ray@{locked['ray']}" in versions and "pkg:npm/uplot@1.6.32" in versions
    assert any(each.startswith("pkg:deb/debian/openssl@3.") for each in versions)
    assert all(each["hashes"] and each["licenses"] for each in listed if each["purl"].startswith("pkg:pypi/"))
    reader = tmp_path / "reader"
    must([PYTHON, "-m", "venv", str(reader)])
    library = "cyclonedx-python-lib[json-validation]==11.12.0"
    must([str(reader / "bin/pip"), "install", "-q", "--disable-pip-version-check", library])
    asks = "import sys; from cyclonedx.schema import SchemaVersion; from cyclonedx.validation.json import JsonStrictValidator; "
    asks += "print(JsonStrictValidator(SchemaVersion.V1_6).validate_str(open(sys.argv[1]).read()))"
    assert must([str(reader / "bin/python"), "-c", asks, str(bill)]) == "None\n"


def test_sums_and_signature_reveal_a_changed_package(release: Path, signing: Path) -> None:
    verify = ["minisign", "-Vm", "SHA256SUMS", "-p", str(signing / "public")]
    must(verify, cwd=release)
    must(["sha256sum", "--check", "--strict", "SHA256SUMS"], cwd=release)
    sums = release / "SHA256SUMS"
    before = sums.read_text()
    others = {"SHA256SUMS", "SHA256SUMS.minisig"}
    assert {line.split()[1] for line in before.splitlines()} == {each.name for each in release.iterdir()} - others
    try:
        sums.write_text(before.replace("a", "b"))
        assert run(verify, cwd=release).returncode == 1
    finally:
        sums.write_text(before)


def test_two_builds_of_a_commit_are_equal(release: Path, tmp_path: Path) -> None:
    again = checkout(tmp_path / "another")
    must(["make", "release", f"PYTHON={PYTHON}"], cwd=again)
    assert (again / "build/release/SHA256SUMS").read_text() == (release / "SHA256SUMS").read_text()
