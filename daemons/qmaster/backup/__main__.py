"""`sge_backup`: the program behind `gridengine backup`, `verify` and `restore`, and behind the daily backup of `sge_qmaster`.

Owns the command line and the output; its callers are programs, which document the options. Every failure is a sentence on
stderr and exit code 1.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path
from typing import Annotated

import typer
from typer.exceptions import TyperException

from daemons.qmaster.backup import swap
from daemons.qmaster.backup.archive import BackupError
from daemons.qmaster.backup.contents import open_backup
from daemons.qmaster.backup.daily import save_daily
from daemons.qmaster.backup.restoring import Restored, restore
from daemons.qmaster.backup.saving import save
from daemons.qmaster.spooling.spool_file import SpoolError
from daemons.runtime.cell import CellError, read_cell
from daemons.runtime.daemon import UMASK, DaemonError, PidFile
from gridengine.terminal.standard_output import with_output_check
from gridengine.values.printable import printable

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, help="Make, verify and restore backups of a cell.")

File = Annotated[Path, typer.Argument()]


@app.command("backup")
def backup_command(
    file: File,
    accounting: Annotated[bool, typer.Option("--accounting")] = False,
    force: Annotated[bool, typer.Option("--force")] = False,
) -> None:
    """Save the cell of SGE_ROOT and SGE_CELL."""
    os.nice(10)  # the qmaster and its clients come first
    began = time.monotonic()
    saved = save(read_cell(), file, time.time(), accounting, force)
    print(f"saved {saved.summary}")
    print(f"{saved.path}: {_size(saved.size)}, made and read back in {time.monotonic() - began:.1f} s")
    if not accounting:
        print("not in it: common/accounting and common/reporting (--accounting takes them along)")


@app.command("daily")
def daily_command() -> None:
    """Save the cell beside its spool, and remove the oldest daily backups."""
    os.nice(19)
    print(save_daily(read_cell(), time.time()))


@app.command("verify")
def verify_command(file: File) -> None:
    """Verify that a backup is whole."""
    with open_backup(file.absolute()) as contents:
        contents.require_invariants(file)
        manifest = contents.manifest
        origin = f"the cell {manifest.cell} below {manifest.root}"
        print(printable(f"{file} is whole, made {manifest.made} on {manifest.master_host}: {origin}"))
        print(f"it holds {contents}")


@app.command("restore")
def restore_command(
    file: File,
    force: Annotated[bool, typer.Option("--force")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run")] = False,
) -> None:
    """Restore the cell of SGE_ROOT and SGE_CELL from a backup."""
    root, name = os.environ.get("SGE_ROOT", ""), os.environ.get("SGE_CELL") or "default"
    if not root:
        raise CellError("SGE_ROOT is not set: give --root, the directory for the cell")
    _print_result(restore(Path(root).absolute(), name, file.absolute(), time.time(), force, dry_run), file, dry_run)


@app.command("complete")
def complete_command() -> None:
    """Complete a restore that was interrupted."""
    cell = read_cell()
    lock = PidFile(cell.qmaster_spool_dir / "qmaster.pid", "sge_qmaster")
    try:
        if swap.complete(cell.common):
            print("completed a restore that was interrupted")
    finally:
        lock.release()


def _print_result(restored: Restored, file: Path, dry_run: bool) -> None:
    if restored.completed:
        print("completed an earlier restore, which was interrupted, first")
    for change in restored.changes:
        kept = f", kept {change.old}" if change.old else ""
        print(f"{'would put' if dry_run else 'put'} {change.name} to {change.target}{kept}")
    if not restored.changes:
        print(f"the cell is as {file} has it, nothing {'would be' if dry_run else 'was'} changed")
    else:
        print(f"{'would restore' if dry_run else 'restored'} {restored.summary}, as of {restored.made}")
        print("next: gridengine start" if not dry_run else "nothing was changed; gridengine stop comes before it")


def _size(count: int) -> str:
    return f"{count / 2**20:.1f} MB" if count >= 2**20 else f"{count / 2**10:.1f} KB"


@with_output_check
def main() -> int:
    """Run the command line and return the exit code."""
    os.umask(UMASK)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # clean up, as with an interrupt
    try:
        return app(standalone_mode=False) or 0
    except (BackupError, CellError, SpoolError, DaemonError) as fault:
        print(f"gridengine: {printable(str(fault))}", file=sys.stderr)
    except TyperException as error:
        print(f"gridengine: {error.format_message()}", file=sys.stderr)
    except KeyboardInterrupt:
        print("gridengine: interrupted", file=sys.stderr)
        return 130
    return 1


if __name__ == "__main__":
    sys.exit(main())
