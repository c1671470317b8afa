"""The creation of a cell: its `common` directory, secrets and spool directories.

Owns the files of `gridengine init`. All files are written beside the final directory and moved there in one step, so that a
failure leaves nothing. Called by `program` and `demo`. Must not start anything.
"""

from __future__ import annotations

import secrets
import shutil
import tempfile
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

from clients.admin.authority import Authority, give
from clients.admin.cell import CellFiles
from clients.admin.cell_plan import CellPlan
from clients.admin.errors import AdminError
from clients.admin.initial_config import write_initial_config
from clients.admin.installation import Installation
from clients.admin.settings_files import cluster_name, write_settings
from clients.admin.sge_root import provide
from clients.admin.umask import readable_by_all
from gridengine.files.durable import write_new
from gridengine.protocols.arco import SETTINGS_FILE


def create_cell(plan: CellPlan, installation: Installation, now: datetime) -> None:
    """Write the cell of `plan` to disk, owned by its admin user.

    AdminError: a cell or the spool of a cell is already there, or a directory cannot be written.
    """
    spool = Path(plan.bootstrap["qmaster_spool_dir"])
    if plan.files.bootstrap.exists():
        raise AdminError(f"{plan.files.common} holds a cell already, which was not changed")
    if (spool / "spool.db").exists():
        raise AdminError(f"{spool} holds the spool of an earlier cell: remove it, or give another directory with --spool-dir")
    try:
        with readable_by_all():
            _write_cell(plan, installation)
            _make_spool_directories(plan)
            _make_keys(plan, now)
            provide(plan.files.root, installation)
    except OSError as error:
        raise AdminError(f"cannot make the cell: {error.filename}: {error.strerror}") from error


def _write_cell(plan: CellPlan, installation: Installation) -> None:
    plan.files.root.mkdir(parents=True, exist_ok=True)
    plan.files.directory.mkdir(exist_ok=True)
    draft = CellFiles(Path(tempfile.mkdtemp(prefix=".init-", dir=plan.files.directory)), "")
    try:
        _write_common(draft, plan, installation)
        for path in [draft.common, *draft.common.rglob("*")]:
            give(path, plan.admin_user)
        give(plan.files.directory, plan.admin_user)
        draft.common.rename(plan.files.common)
    finally:
        shutil.rmtree(draft.root, ignore_errors=True)


def _write_common(draft: CellFiles, plan: CellPlan, installation: Installation) -> None:
    draft.common.mkdir(mode=0o755)
    write_new(draft.bootstrap, _settings(plan.bootstrap).encode(), 0o644)
    write_new(draft.cell_id, f"{'cell_id':<20} {secrets.token_hex(16)}\n".encode(), 0o644)
    write_new(draft.act_qmaster, f"{plan.master_host}\n".encode(), 0o644)
    write_new(draft.common / "cluster_name", f"{cluster_name(plan.qmaster_port)}\n".encode(), 0o644)
    aliases = "".join(f"{name} {' '.join(others)}\n" for name, others in plan.aliases.items())
    write_new(draft.host_aliases, aliases.encode(), 0o644)
    write_settings(draft.common, plan.files, plan.qmaster_port, installation)
    if plan.arco:
        write_new(draft.common / SETTINGS_FILE, _settings(plan.arco_settings).encode(), 0o600)  # it may have a password one day
    draft.secrets.mkdir(mode=0o700)
    write_initial_config(draft.initial_config, plan, installation.cluster_config)


def _make_spool_directories(plan: CellPlan) -> None:
    """Make the qmaster's spool directory, which holds job environments, and the exec hosts', which jobs must enter."""
    for key, mode in [("qmaster_spool_dir", 0o700), ("execd_spool_dir", 0o755)]:
        directory = Path(plan.bootstrap[key])
        directory.parent.mkdir(parents=True, exist_ok=True)
        directory.mkdir(exist_ok=True)
        directory.chmod(mode)
        give(directory, plan.admin_user)


def _make_keys(plan: CellPlan, now: datetime) -> None:
    """Create the cell's authority and the keys of all its hosts."""
    authority = Authority(plan.files, Path(plan.bootstrap["qmaster_spool_dir"]), plan.admin_user)
    authority.found(plan.master_host, plan.addresses(plan.master_host), now)
    for host in plan.exec_hosts:
        authority.add(host, plan.addresses(host), now)


def _settings(values: Mapping[str, str]) -> str:
    return "".join(f"{key:<20} {value}\n" for key, value in values.items())
