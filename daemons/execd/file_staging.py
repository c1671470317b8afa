"""Delegated file staging: prolog and epilog copy a job's files from and to other hosts, as given by `$fs_*` variables.

Pure. Owns which streams are staged and by which paths. Called by `task_config`. Source: sge_conf(5)
delegated_file_staging, prolog; drmaa_transfer_files (EX-21).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass

from daemons.execd.standard_files import StandardFiles
from gridengine.state.jobs import Job

_STREAM_FLAGS = {"stdin": "i", "stdout": "o", "stderr": "e"}


@dataclass(frozen=True, slots=True)
class StagedStream:
    """One stream: source or destination of its file (`path` on `host`), and its temporary path on the execution host
    (`tmp_path`)."""

    host: str
    path: str
    tmp_path: str


def staged_streams(job: Job, tmpdir: str, expand: Callable[[str], str]) -> dict[str, StagedStream]:
    """The streams that the job requested (`transfer_files`) and for which it has a path; stderr not when merged.

    The host is the one of `host:path`, else the submit host. The files are in `tmpdir`, which exists from before the
    prolog until after the epilog.
    """
    found = {}
    for stream, flag in _STREAM_FLAGS.items():
        paths = getattr(job, stream)
        if flag in job.transfer_files and paths and not (stream == "stderr" and job.merge):
            host, path = paths[0]
            found[stream] = StagedStream(host or job.submit_host, expand(path), f"{tmpdir}/{stream}")
    return found


def redirect_staged(files: StandardFiles, staged: dict[str, StagedStream]) -> StandardFiles:
    """Return the files, with staged files at their temporary paths."""
    return dataclasses.replace(files, **{stream: each.tmp_path for stream, each in staged.items()})


def staging_variables(staged: dict[str, StagedStream]) -> dict[str, str]:
    """Return all `$fs_*` variables; variables of streams that are not staged are empty, and their flag is 0."""
    result: dict[str, str] = {}
    for stream in _STREAM_FLAGS:
        each = staged.get(stream, StagedStream("", "", ""))
        result |= {
            f"fs_{stream}_host": each.host,
            f"fs_{stream}_path": each.path,
            f"fs_{stream}_tmp_path": each.tmp_path,
            f"fs_{stream}_file_staging": "1" if stream in staged else "0",
        }
    return result
