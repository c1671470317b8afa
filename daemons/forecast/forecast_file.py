"""The file `forecasts` beside the spool: forecasts of the past, until the starts of their jobs are known and after.

Owns the file. Of the spool's data it has the starts of jobs alone. A file that cannot be read counts as empty: the
calibration is learned anew. Called by the program of this package, which runs once at a time. Source: adr/0330.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

import msgspec

from daemons.forecast.calibration import Calibration, Remembered
from gridengine.files.durable import durable_write
from gridengine.state.state import State
from gridengine.usage.accounting import AccountingRecord

FILE = "forecasts"
_decode = msgspec.json.Decoder(list[Remembered]).decode


def file_of(spool: str) -> Path:
    """The path of the file of this spool."""
    return Path(spool).with_name(FILE)


def read(path: Path) -> Calibration:
    """The calibration in a file; empty if there is no such file or none that can be read."""
    try:
        return Calibration(_decode(path.read_bytes()))
    except (OSError, msgspec.DecodeError):
        return Calibration([])


def write(path: Path, calibration: Calibration) -> None:
    """Replace the file. Raises OSError."""
    durable_write(path, msgspec.json.encode(calibration.remembered))


def note_starts(calibration: Calibration, state: State, records: Iterable[AccountingRecord], now: float) -> None:
    """Have the calibration note the starts of jobs that run or have ended. now: epoch s."""
    open_jobs, starts = calibration.waiting(), defaultdict[int, list[float]](list)
    names = {str(job): job for job in open_jobs}
    for record in records:
        if record.job_number in names and record.start_time not in ("0", ""):
            starts[names[record.job_number]].append(float(record.start_time))
    for job in (state.jobs[number] for number in open_jobs & state.jobs.keys()):
        starts[job.id] += [task.start_time for task in job.placed if task.start_time]
    calibration.note_starts(starts, state.jobs, now)
