"""Loading of aiohttp by daemons: the certificate authorities of the machine are not read, and nothing trusts them."""

from __future__ import annotations

import ast
import ssl

import pytest

from daemons.runtime.http_library import without_authorities
from tests.tidy.sources import ROOT
from tools.launchers import PROGRAMS

LIBRARY = "daemons.runtime.http_library"
#: programs that load no aiohttp
WITHOUT = {"daemons.qmaster.backup.__main__"}
LOADERS = {module for module in PROGRAMS.values() if module.startswith("daemons.")} - WITHOUT | {"daemons.qmaster.serve.actor"}


def test_a_context_that_is_made_meanwhile_trusts_no_authority() -> None:
    load = ssl.SSLContext.set_default_verify_paths
    with without_authorities():
        made = ssl.create_default_context()
    assert made.verify_mode == ssl.CERT_REQUIRED and made.cert_store_stats()["x509_ca"] == 0
    assert ssl.SSLContext.set_default_verify_paths is load


@pytest.mark.parametrize("module", sorted(LOADERS))
def test_a_program_loads_it_before_all_else_of_its_own(module: str) -> None:
    tree = ast.parse((ROOT / f"{module.replace('.', '/')}.py").read_text())
    imported = [name for node in tree.body for name in _imported(node)]
    before = imported[: imported.index(LIBRARY)]
    assert not [name for name in before if name.partition(".")[0] in ("aiohttp", "daemons", "gridengine", "clients")]


def _imported(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    return [node.module or ""] if isinstance(node, ast.ImportFrom) else []
