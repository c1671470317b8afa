"""The variables that a Slurm script expects, for jobs that were submitted by sbatch. Pure; called by `environment`.

The variables are set before the job starts, for every interpreter of the script; no script is changed. Source: sbatch(1) of
22.05 OUTPUT ENVIRONMENT VARIABLES; adr/0160.
"""

from __future__ import annotations

import posixpath

from daemons.execd.site import HostSite
from gridengine.protocols.delivery import Start
from gridengine.protocols.slurm import array_offset, node_list
from gridengine.state.jobs import Job

#: Open MPI takes a job with SLURM_JOB_ID for a Slurm job and would start its daemons by srun, but also knows Grid Engine
_NO_SRUN = {"OMPI_MCA_plm": "^slurm", "OMPI_MCA_ras": "^slurm", "HYDRA_BOOTSTRAP": "sge", "I_MPI_HYDRA_BOOTSTRAP": "sge"}


def slurm_environment(start: Start, site: HostSite) -> dict[str, str]:
    """The variables known on the host; {} for other jobs. Variables known to sbatch are in the job's own environment."""
    job, granted = start.job, start.granted
    offset = array_offset(job.context)
    if offset is None:
        return {}
    slots: dict[str, int] = {}
    for grant in granted:
        slots[grant.host] = slots.get(grant.host, 0) + grant.slots
    found = {
        "SLURM_JOB_ID": str(job.id),
        "SLURM_JOBID": str(job.id),
        "SLURM_JOB_NAME": job.name,
        "SLURM_JOB_USER": job.owner,
        "SLURM_JOB_UID": str(job.uid),
        "SLURM_JOB_GID": str(job.gid),
        "SLURM_JOB_ACCOUNT": job.account,
        "SLURM_CLUSTER_NAME": site.cell,
        "SLURM_JOB_PARTITION": granted[0].queue,
        "SLURM_JOB_NODELIST": node_list(slots),
        "SLURM_NODELIST": node_list(slots),
        "SLURM_JOB_NUM_NODES": str(len(slots)),
        "SLURM_NNODES": str(len(slots)),
        "SLURM_JOB_CPUS_PER_NODE": _repeated(list(slots.values())),
        "SLURM_CPUS_ON_NODE": str(slots.get(site.host, 0)),
        "SLURMD_NODENAME": site.host,
        "SLURM_SUBMIT_DIR": job.submit_cwd,
        "SLURM_SUBMIT_HOST": job.submit_host,
        "SLURM_NODEID": "0",
        "SLURM_PROCID": "0",
        "SLURM_LOCALID": "0",
        "SLURM_RESTART_COUNT": str(start.restarted),
        **_NO_SRUN,
    }
    if job.array is not None:
        first, last, step = job.task_range or (job.array.first, job.array.last, job.array.step)
        found |= {
            "SLURM_ARRAY_JOB_ID": str(job.id),
            "SLURM_ARRAY_TASK_ID": str(start.key.task - offset),
            "SLURM_ARRAY_TASK_MIN": str(first - offset),
            "SLURM_ARRAY_TASK_MAX": str(last - offset),
            "SLURM_ARRAY_TASK_STEP": str(step),
            "SLURM_ARRAY_TASK_COUNT": str((last - first) // step + 1),
        }
    return found


def slurm_start_mode(job: Job) -> str:
    """The start mode of a Slurm script, which is run by the interpreter of its first line; "" for other jobs."""
    return "" if array_offset(job.context) is None else "unix_behavior"


def slurm_path(start: Start, binary_path: str) -> str:
    """The first directory in PATH, with its colon: a Slurm script calls srun and squeue, too. "" for other jobs."""
    if array_offset(start.job.context) is None or not binary_path:
        return ""
    return f"{posixpath.dirname(binary_path)}/slurm/bin:"


def _repeated(counts: list[int]) -> str:
    """`4(x2),1`: equal neighbours once."""
    runs: list[list[int]] = []
    for count in counts:
        if runs and runs[-1][0] == count:
            runs[-1][1] += 1
        else:
            runs.append([count, 1])
    return ",".join(f"{count}(x{times})" if times > 1 else str(count) for count, times in runs)
