"""The environment of a job. Pure: all data are arguments.

Called by `task_config`. The shepherd adds the variables that only the shepherd knows (SGE_STDOUT_PATH, SGE_STDERR_PATH,
SGE_STARTER_*). Source: sge_submit(1) ENVIRONMENTAL VARIABLES; statements EN-1 to EN-5, EN-7, SO-39; precedence as seen in
8.1.9 (O).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from daemons.execd.site import HostSite
from daemons.execd.slurm_environment import slurm_environment, slurm_path
from daemons.runtime import identity
from gridengine.protocols.delivery import Start
from gridengine.state.configured.configuration import HostConfiguration

#: PATH of a job unless the user exports another PATH. Source: O (the manual's /usr/ucb is not there).
DEFAULT_PATH = "/usr/local/bin:/bin:/usr/bin"
#: JOB_SCRIPT of interactive jobs (O)
_INTERACTIVE = {"qrsh": "QRSH", "qrlogin": "QRLOGIN", "qlogin": "QLOGIN", "qsh": "INTERACTIVE"}
_LIBRARY_PATH = "LD_LIBRARY_PATH"
#: Variables of the user with this prefix are passed to methods of other users, too; no program interprets such a name.
METHOD_PREFIX = "SGE_METHOD_"
#: SGE_HGR_gpu="0 1": the units of the resource `gpu` that a task has on its host
UNITS_PREFIX = "SGE_HGR_"
_OWNERS_DIRECTORIES = ("TMPDIR", "TMP")


@dataclass(frozen=True, slots=True)
class Account:
    """The account of the job's owner on this host.

    `groups`: supplementary group ids, None if the shepherd has to look them up. `homes`: home directories of users whose `~user`
    begins a path of the job, None for an unknown user.
    """

    name: str
    uid: int
    gid: int
    group: str
    home: str
    shell: str
    groups: tuple[int, ...] | None = None
    homes: Mapping[str, str | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TaskPaths:
    """Paths of this task on this host (`directory`: of its own files), and its interpreter."""

    directory: str
    script: str
    cwd: str
    stdin: str
    tmpdir: str
    shell: str


def job_environment(
    start: Start, site: HostSite, configuration: HostConfiguration, account: Account, paths: TaskPaths
) -> dict[str, str]:
    """The complete environment of a task.

    In order, later entries winning: the environment that the daemon inherited (INHERIT_ENV), defaults, the variables that
    the user exported (for a slave task the exports with the job first, then the exports with the task), and the variables
    of Grid Engine and of the password database, which no user may override.
    """
    inherited = _daemon_variables(site, configuration)
    library_path = inherited.pop(_LIBRARY_PATH, "")
    result = inherited | {"TERM": "", "PWD": paths.cwd}
    if "TZ" in site.inherited:
        result["TZ"] = site.inherited["TZ"]
    if configuration.execd_params.set_lib_path:
        library_path = ":".join(filter(None, (f"{site.root}/lib/{site.architecture}", library_path)))
    if library_path:
        result[_LIBRARY_PATH] = library_path
    exported = start.environment | (start.slave.environment if start.slave is not None else {})
    result |= {name: value for name, value in exported.items() if not name.startswith(UNITS_PREFIX)}  # those of another job
    default_path = f"{site.binary_path}:{DEFAULT_PATH}" if site.binary_path else DEFAULT_PATH
    result["PATH"] = f"{paths.tmpdir}:{slurm_path(start, site.binary_path)}{exported.get('PATH') or default_path}"
    result |= _owner_variables(account, paths) | _submission_variables(start) | _site_variables(site, paths)
    result |= slurm_environment(start, site)
    result |= _job_variables(start, paths) | _array_variables(start) | _pe_variables(start, configuration, paths)
    return result | _unit_variables(start)


def method_environment(
    start: Start, site: HostSite, configuration: HostConfiguration, paths: TaskPaths
) -> dict[str, str]:
    """The environment of a method that runs as another user than the job's owner: variables of Grid Engine, and variables
    of the user with METHOD_PREFIX. The shepherd adds PATH and the variables of the method's user.

    There is no TMPDIR: the directory belongs to the owner, who could place links for another user there. Deviation: 8.1.9
    passes on all of the job's but a list of names (adr/0098). Source: sge_conf(5) SECURITY (EX-20).
    """
    chosen = {name: value for name, value in start.environment.items() if name.startswith(METHOD_PREFIX)}
    result = {"TZ": site.inherited["TZ"]} if "TZ" in site.inherited else {}
    result |= chosen | _submission_variables(start) | _site_variables(site, paths)
    result |= _job_variables(start, paths) | _array_variables(start) | _pe_variables(start, configuration, paths)
    result |= _unit_variables(start)
    return {name: value for name, value in result.items() if name not in _OWNERS_DIRECTORIES}


def _daemon_variables(site: HostSite, configuration: HostConfiguration) -> dict[str, str]:
    """The part of the daemon's start environment that a job inherits: with INHERIT_ENV true all, with false nothing.

    Deviation: without INHERIT_ENV 8.1.9 passes on all of it, which may hold variables for root alone.
    """
    if configuration.execd_params.inherit_env is None:
        return identity.inherited(site.inherited)
    return dict(site.inherited) if configuration.execd_params.inherit_env else {}


def _owner_variables(account: Account, paths: TaskPaths) -> dict[str, str]:
    """Source: EN-1; SHELL is the interpreter of the job, not the login shell (O)."""
    return {"HOME": account.home, "USER": account.name, "LOGNAME": account.name, "SHELL": paths.shell}


def _submission_variables(start: Start) -> dict[str, str]:
    """Source: EN-3. SGE_O_MAIL, SGE_O_TZ and SGE_O_TERM come with the environment, where the client had them."""
    job = start.job
    known = {
        "SGE_O_HOME": job.home,
        "SGE_O_HOST": job.submit_host,
        "SGE_O_LOGNAME": job.owner,
        "SGE_O_PATH": job.submit_path,
        "SGE_O_SHELL": job.login_shell,
        "SGE_O_WORKDIR": job.submit_cwd,
    }
    return {name: value for name, value in known.items() if value}


def _site_variables(site: HostSite, paths: TaskPaths) -> dict[str, str]:
    return {
        "ARC": site.architecture,
        "SGE_ARCH": site.architecture,
        "HOSTNAME": site.host,
        "SGE_ROOT": site.root,
        "SGE_CELL": site.cell,
        "SGE_BINARY_PATH": site.binary_path,
        "SGE_JOB_SPOOL_DIR": paths.directory,
        "TMPDIR": paths.tmpdir,
        "TMP": paths.tmpdir,
    }


def _job_variables(start: Start, paths: TaskPaths) -> dict[str, str]:
    job, granted = start.job, start.granted
    result = {
        "ENVIRONMENT": "BATCH",
        "JOB_ID": str(job.id),
        "JOB_NAME": job.name,
        "JOB_SCRIPT": _INTERACTIVE.get(job.kind) or (job.script_file if job.binary else paths.script),
        "REQUEST": job.name,
        "REQNAME": job.name,
        "QUEUE": granted[0].queue,
        "NHOSTS": str(len({grant.host for grant in granted})),
        "NQUEUES": str(len(granted)),
        "NSLOTS": str(sum(grant.slots for grant in granted)),
        "RESTARTED": str(start.restarted),
        "SGE_ACCOUNT": job.account,
        "SGE_CWD_PATH": paths.cwd,
        "SGE_STDIN_PATH": paths.stdin,
    }
    if job.kind != "batch":
        result |= dict.fromkeys(("SGE_STDIN_PATH", "SGE_STDOUT_PATH", "SGE_STDERR_PATH"), "/dev/null")  # O
    if job.checkpoint:
        result["SGE_CKPT_ENV"] = job.checkpoint
    if start.checkpoint is not None and start.checkpoint.directory is not None:
        result["SGE_CKPT_DIR"] = start.checkpoint.directory
    return result


def _array_variables(start: Start) -> dict[str, str]:
    """Source: EN-1, EN-2; not to be overridden, contrary to the manual (O)."""
    names = ("SGE_TASK_ID", "SGE_TASK_FIRST", "SGE_TASK_LAST", "SGE_TASK_STEPSIZE")
    array = start.job.array
    if array is None:
        return dict.fromkeys(names, "undefined")
    first, last, step = start.job.task_range or (array.first, array.last, array.step)
    return dict(zip(names, map(str, (start.key.task, first, last, step)), strict=True))


def _unit_variables(start: Start) -> dict[str, str]:
    """The named units of the task on this host (adr/0320): as in the descendants of Grid Engine, a name for each share."""
    return {f"{UNITS_PREFIX}{resource}": " ".join(units) for resource, units in start.units.items()}


def _pe_variables(start: Start, configuration: HostConfiguration, paths: TaskPaths) -> dict[str, str]:
    if not start.pe_name:
        return {}
    return {
        "PE": start.pe_name,
        "PE_HOSTFILE": f"{paths.directory}/pe_hostfile",
        "SGE_RSH_COMMAND": configuration.rsh_command,
    }
