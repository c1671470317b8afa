"""The SELinux module compiles with the reference policy, and labels the files of a cell. No kernel with SELinux is needed."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.integration import debian
from tests.integration.cells import ROOT, run

#: the packages are large: `make sites`
pytestmark = pytest.mark.apart

LABELS = {
    "/opt/gridengine/releases/1.0-abc/bin/sge_execd": "gridengine_exec_t",
    "/opt/gridengine/cells/default/common/bootstrap": "gridengine_conf_t",
    "/opt/gridengine/cells/default/common/secrets/h1/tls.key": "gridengine_key_t",
    "/opt/gridengine/cells/util/arch": "bin_t",
    "/var/spool/gridengine/default/qmaster/spool.db": "gridengine_spool_t",
    "/var/spool/gridengine/default/qmaster/authority/tls.key": "gridengine_key_t",
    "/var/spool/gridengine/default/execd/h1/keys/gdi_key": "gridengine_key_t",
    "/var/spool/gridengine/default/execd/h1/messages": "gridengine_log_t",
    "/run/gridengine/default/gdi": "gridengine_runtime_t",
}


@pytest.fixture
def module(tmp_path: Path) -> Path:
    """The compiled package of the module."""
    debian.need("checkmodule", "semodule_unpackage", "matchpathcon")
    shutil.copytree(ROOT / "packaging" / "selinux", tmp_path / "selinux")
    package = tmp_path / "selinux" / "gridengine.pp"
    done = run(["make", "-C", str(package.parent), "-f", "/usr/share/selinux/devel/Makefile", package.name])
    assert done.returncode == 0, done.stdout + done.stderr
    return package


def test_the_policy_module_has_a_domain_for_daemons_and_leaves_it_with_the_shell_of_a_job(module: Path) -> None:
    rules = run(["/usr/libexec/selinux/hll/pp", str(module)]).stdout.splitlines()
    assert "(typetransition init_t gridengine_exec_t process gridengine_t)" in rules
    assert "(typetransition gridengine_t shell_exec_t process unconfined_t)" in rules
    assert "(roletype system_r gridengine_t)" in rules and "(roletype system_r unconfined_t)" in rules
    assert not [rule for rule in rules if rule.startswith("(typepermissive")]


def test_the_policy_module_labels_the_files_of_a_cell(module: Path) -> None:
    contexts = module.with_name("contexts")
    assert run(["semodule_unpackage", str(module), str(module.with_name("mod")), str(contexts)]).returncode == 0
    shown = run(["matchpathcon", "-f", str(contexts), *LABELS])
    found = dict(line.split() for line in shown.stdout.splitlines())
    assert found == {path: f"system_u:object_r:{label}:s0" for path, label in LABELS.items()}, shown.stderr
