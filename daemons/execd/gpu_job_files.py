"""GPU job files: a directory with a file for each GPU in use, which names its jobs, for exporters of metrics.

Owns the files, in the form of dcgm-exporter (`--hpc-job-mapping-dir`): the name is the number of the GPU, each line a job.
Off unless execd_params GPU_JOB_FILES names a directory. Blocking file work. Called by `unit_sampler`. Source: adr/0355.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path

from daemons.runtime.log_once import LogOnce
from gridengine.errors import plain_fault
from gridengine.files.durable import atomic_write

_log = logging.getLogger(__name__)


class GpuJobFiles:
    """The files of one host. All files in the directory whose names are numbers are of this host's daemon."""

    def __init__(self) -> None:
        self._directory: Path | None = None
        self._written: Mapping[int, Sequence[int]] | None = None
        self._logged = LogOnce()

    def configure(self, directory: str | None) -> None:
        """Use this directory; the files in the previous directory are removed."""
        if self._directory is not None and str(self._directory) != directory:
            self.write({})
        if directory is None or str(self._directory) != directory:
            self._directory, self._written = Path(directory) if directory is not None else None, None

    def write(self, jobs: Mapping[int, Sequence[int]]) -> None:
        """Write the files of these GPUs (number -> jobs), and remove all others, also leftovers of an earlier daemon."""
        if self._directory is None or jobs == self._written:
            return
        try:
            self._write(self._directory, jobs)
        except OSError as error:
            self._written = None
            if self._logged.is_new(plain_fault(error)):
                _log.warning("GPU_JOB_FILES=%s: %s", self._directory, plain_fault(error))
        else:
            self._written = dict(jobs)
            self._logged.clear()

    def _write(self, directory: Path, jobs: Mapping[int, Sequence[int]]) -> None:
        if jobs:
            directory.mkdir(exist_ok=True)
        elif not directory.exists():
            return
        for path in directory.iterdir():
            if path.name.isascii() and path.name.isdecimal() and int(path.name) not in jobs:
                path.unlink(missing_ok=True)
        for gpu, numbers in jobs.items():
            if self._written is None or self._written.get(gpu) != numbers:
                atomic_write(directory / str(gpu), "".join(f"{number}\n" for number in numbers).encode(), 0o644)
