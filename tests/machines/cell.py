"""The cell on the two machines, as its commands show it.

Owns the reading of their output. Called by `steps`.
"""

from __future__ import annotations

from tests.machines.bed import EXEC, EXECD_MESSAGES, MASTER, QMASTER_MESSAGES, as_alice, eventually, note, on, try_on


def submit(*options: str, command: str = "sleep 100000") -> str:
    """Submit a job of alice; return its number."""
    return as_alice(f"qsub -terse -b y -o /dev/null -e /dev/null {' '.join(options)} {command}").split(".")[0]


def state_of(job: str) -> str:
    """The state code of a job, "" if the cell has none with this number."""
    rows = [line.split() for line in on(MASTER, "qstat -u '*'").splitlines()[2:]]
    return next((row[4] for row in rows if row[0] == job), "")


def runs(*jobs: str) -> bool:
    """Whether all of the jobs run."""
    return all(state_of(job) in ("r", "Rr") for job in jobs)


def start_jobs(*kinds: str) -> list[str]:
    """Start a job with each of these options, and wait until all run."""
    jobs = [submit(*kind.split()) for kind in kinds]
    took = eventually(f"jobs {jobs} run", lambda: runs(*jobs))
    note(f"jobs {' '.join(jobs)} run after {took:.0f} s")
    return jobs


def delete(*jobs: str) -> None:
    """Delete jobs and wait until none is left."""
    try_on(MASTER, f"qdel {' '.join(jobs)}")
    eventually(f"jobs {jobs} are deleted", lambda: not any(map(state_of, jobs)))


def clear() -> None:
    """Start daemons that a failed step has left stopped, and delete its jobs; forget the jobs of a host that does not answer."""
    try_on(EXEC, "systemctl start sge_execd")
    try_on(MASTER, "qdel -f -u '*'")


def record(job: str) -> dict[str, str]:
    """The last accounting record of a job; {} while there is none."""
    lines = [line.split(None, 1) for line in try_on(MASTER, f"qacct -j {job}").splitlines()]
    return {fields[0]: fields[1].strip() for fields in lines if len(fields) == 2}


def has_ended(job: str) -> bool:
    """Whether a job has an accounting record."""
    return "failed" in record(job)


def state_codes() -> str:
    """The state of the queue instance of the exec host, "" if it takes jobs."""
    rows = [line.split() for line in on(MASTER, "qstat -f").splitlines() if line.startswith(f"all.q@{EXEC}")]
    return "missing" if not rows else rows[0][5] if len(rows[0]) > 5 else ""


def await_host(what: str = "the exec host takes jobs") -> None:
    """Wait until the exec host takes jobs."""
    note(f"{what} after {eventually(what, lambda: state_codes() == ''):.0f} s")


class NewMessages:
    """The lines that come in both `messages` files from now on."""

    def __init__(self) -> None:
        self._from = {MASTER: self._size(MASTER, QMASTER_MESSAGES), EXEC: self._size(EXEC, EXECD_MESSAGES)}

    @staticmethod
    def _size(machine: str, path: str) -> int:
        return int(on(machine, f"stat -c %s {path}"))

    def text(self) -> str:
        """Of the qmaster, then of the exec host."""
        paths = {MASTER: QMASTER_MESSAGES, EXEC: EXECD_MESSAGES}
        return "\n".join(on(name, f"tail -c +{size + 1} {paths[name]}") for name, size in self._from.items())


def job_processes() -> list[str]:
    """Process ids of the jobs on the exec host."""
    return try_on(EXEC, "pgrep -x -f 'sleep 100000'").split()
