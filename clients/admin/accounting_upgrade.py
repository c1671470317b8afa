"""Upgrade of accounting files of older versions: adds the missing columns to each record.

Owns the copying. `usage.accounting` owns the columns and their defaults. The old file is not changed. Called by `program`.
Source: the specification of advance reservations (2007), accounting; QA-5, QA-6.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from clients.admin.errors import AdminError
from gridengine.usage.accounting import FIELDS, parse_line


def upgrade_accounting(old: Path, new: Path) -> tuple[int, int]:
    """Copy `old` to `new`, which must not exist: (records with columns added, records that had all).

    Comments and lines that are no records stay as they are, and so do bytes that are no text. Raises AdminError.
    """
    added = complete = 0
    try:
        with old.open(encoding="utf-8", errors="surrogateescape", newline="") as source:
            # made only when the old one can be read
            with new.open("x", encoding="utf-8", errors="surrogateescape", newline="") as target:
                for line in source:
                    fields = parse_line(line)
                    if fields is None or line.count(":") >= len(FIELDS) - 1:
                        complete += fields is not None
                        target.write(line)
                    else:
                        added += 1
                        target.write(":".join(fields) + "\n")
    except FileExistsError:
        raise AdminError(f"{new} exists already, name a new file") from None
    except OSError as error:
        raise AdminError(f"cannot copy {old} to {new}: {error.strerror}") from None
    return added, complete


def upgrade_accounting_command(
    old: Annotated[Path, typer.Argument(help="An accounting file, of this or an older version.")],
    new: Annotated[Path, typer.Argument(help="The file to write; it must not exist.")],
) -> None:
    """Copy an accounting file, and add the missing columns (reservations) to records of older versions."""
    added, complete = upgrade_accounting(old, new)
    typer.echo(f"{new}: {added} records upgraded, {complete} copied as they were")
