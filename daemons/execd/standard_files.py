"""The standard files of a task: the values of -i, -o and -e on this host, with variables expanded.

Pure. Called by `task_config`; the shepherd opens the files, as the job's owner. Source: sge_submit(1) -o, SO-12.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from posixpath import join

from gridengine.files.path_aliases import apply_aliases
from gridengine.protocols.slurm import array_offset
from gridengine.state.jobs import Job, PathOnHost

#: As in 8.1.9, a name is replaced before any character: `$JOB_IDx` is the id and an x.
_VARIABLE = re.compile(r"\$(HOME|USER|JOB_ID|JOB_NAME|HOSTNAME|TASK_ID)")
_TILDE = re.compile(r"~([^/]*)")


@dataclass(frozen=True, slots=True)
class StandardFiles:
    """Absolute paths; a directory gets the default name (`default_stdout`, `default_stderr`; `default_pe_stdout`,
    `default_pe_stderr` of the procedures of a PE) added when it is opened. `stderr` None: merged (-j y)."""

    stdin: str
    stdout: str
    stderr: str | None
    default_stdout: str
    default_stderr: str
    default_pe_stdout: str
    default_pe_stderr: str


def path_for(entries: Sequence[PathOnHost], host: str) -> str | None:
    """Return the path given for this host, else the path given for all hosts, else None."""
    by_host = {name.lower(): path for name, path in reversed(entries)}
    return by_host.get(host.lower(), by_host.get("")) or None


def expand(path: str, variables: Mapping[str, str], home_of: Callable[[str], str | None]) -> str:
    """Replace a leading `~` or `~user` and the variables of sge_submit(1) -o; other `$NAME` stay as they are."""
    tilde = _TILDE.match(path)
    if tilde is not None:
        home = home_of(tilde[1]) if tilde[1] else variables["HOME"]
        path = path if home is None else home + path[tilde.end() :]
    return _VARIABLE.sub(lambda match: variables[match[1]], path)


def named_users(job: Job, host: str) -> set[str]:
    """The users whose `~user` begins a path of the job on this host."""
    paths = [path_for(entries, host) for entries in (job.stdin, job.stdout, job.stderr)]
    tildes = [_TILDE.match(path or "") for path in (*paths, apply_aliases(job.cwd, job.path_aliases, host))]
    return {tilde[1] for tilde in tildes if tilde is not None and tilde[1]}


def path_variables(job: Job, task_id: int, host: str, home: str) -> dict[str, str]:
    """The variables of a path. Source: sge_submit(1) -o. TASK_ID of a job that came by sbatch is the number in its own range."""
    number = task_id - (array_offset(job.context) or 0)
    return {
        "HOME": home,
        "USER": job.owner,
        "JOB_ID": str(job.id),
        "JOB_NAME": job.name,
        "HOSTNAME": host,
        "TASK_ID": str(number) if job.is_array else "0",  # 0 as in 8.1.9
    }


def standard_files(
    job: Job, task_id: int, host: str, home: str, cwd: str, home_of: Callable[[str], str | None]
) -> StandardFiles:
    """The files of one task. `home`: of the owner on this host; `home_of(user)`: another's, None when unknown."""
    variables = path_variables(job, task_id, host, home)

    def find_path(entries: Sequence[PathOnHost], default: str) -> str:
        chosen = path_for(entries, host)
        return default if chosen is None else join(cwd, expand(chosen, variables, home_of))

    suffix = f"{job.id}.{task_id}" if job.is_array else str(job.id)
    return StandardFiles(
        stdin=find_path(job.stdin, "/dev/null"),
        stdout=find_path(job.stdout, cwd),
        stderr=None if job.merge else find_path(job.stderr, cwd),
        default_stdout=f"{job.name}.o{suffix}",
        default_stderr=f"{job.name}.e{suffix}",
        default_pe_stdout=f"{job.name}.po{suffix}",
        default_pe_stderr=f"{job.name}.pe{suffix}",
    )
