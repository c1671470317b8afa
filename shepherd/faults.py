"""The cause of a step that failed, job or host, where its `failed` code of sge_status(5) does not distinguish them: the same code
stands for a missing shell and for an environment that is too large for any program.

One table for all steps, by the kind of the error. Pure. Called by `process`, `preparation` and `run`; the qmaster decides
about job and queue (`decide.failures`).
"""

from __future__ import annotations

import errno

#: "": the code decides
BY_CODE, JOB, HOST = "", "job", "host"

# The kernel refuses data of the job: arguments, environment, paths; or a quota of its owner is exceeded.
_JOBS_DATA = frozenset((errno.E2BIG, errno.ENAMETOOLONG, errno.EDQUOT))
# Resources are exhausted: within the limits of the job if the process had them already, else on the host.
_EXHAUSTED = frozenset((errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE, errno.ENOSPC))


def fault_of(error: BaseException, limited: bool = False) -> str:
    """JOB, HOST or BY_CODE. `limited`: the error happened in a process with the limits of the job."""
    if isinstance(error, OSError):
        if error.errno in _JOBS_DATA:
            return JOB
        if error.errno in _EXHAUSTED:
            return JOB if limited else HOST
        return BY_CODE
    if isinstance(error, MemoryError):
        return JOB if limited else HOST
    # a NUL in a path or an argument, a variable without a name, a number larger than the kernel accepts
    return JOB if isinstance(error, (ValueError, OverflowError)) else BY_CODE
