"""The `config` file of a task: the shepherd's configuration, computed from a Start instruction.

Pure. Called by `active_jobs`. Source: docs/architecture.md 5.2; sge_submit(1), queue_conf(5), sge_conf(5), sge_pe(5).
"""

from __future__ import annotations

from posixpath import join

from daemons.execd.cgroups import HostCgroups
from daemons.execd.environment import Account, TaskPaths, job_environment, method_environment
from daemons.execd.file_staging import StagedStream, redirect_staged, staged_streams, staging_variables
from daemons.execd.interactive import interactive_config
from daemons.execd.resource_assignment import AssignedResources
from daemons.execd.site import HostSite
from daemons.execd.slave_config import slave_config
from daemons.execd.slurm_environment import slurm_start_mode
from daemons.execd.standard_files import StandardFiles, expand, path_for, path_variables, standard_files
from gridengine.files.path_aliases import apply_aliases
from gridengine.protocols.delivery import Start, UnitDevices
from gridengine.protocols.task_file import Checkpointing, Confines, Methods, Program, Rules, StreamPaths, TaskConfig
from gridengine.state.configured.configuration import HostConfiguration
from gridengine.state.configured.execution import LIMITS
from gridengine.values.gpus import GPUS, VARIABLES, device_list, variables_of_identifiers
from gridengine.values.units import INFINITY

_NOTHING_ASSIGNED = AssignedResources()
_NO_DEVICES = UnitDevices()


def task_config(
    start: Start,
    site: HostSite,
    configuration: HostConfiguration,
    account: Account,
    assigned: AssignedResources = _NOTHING_ASSIGNED,
) -> TaskConfig:
    """The whole content of `config`."""
    job, queue = start.job, start.queue
    cwd = _working_directory(start, site, account)
    files = standard_files(job, start.key.task, site.host, account.home, cwd, account.homes.get)
    staged = _staged_streams(start, site, configuration, account)
    files = redirect_staged(files, staged)
    paths = task_paths(start, site, cwd, files)
    bounds = limits(start, configuration)
    if site.process_share is not None and "s_maxproc" not in bounds:
        bounds.setdefault("h_maxproc", site.process_share)
    slots = sum(grant.slots for grant in start.granted if grant.host == site.host)
    devices = _device_variables(start, assigned)
    config = TaskConfig(
        job_id=job.id,
        task_id=start.key.task,
        attempt=start.key.attempt,
        job_name=job.name,
        owner=account.name,
        uid=account.uid,
        gid=gid_of(start, configuration, account),
        groups=_groups(gid_of(start, configuration, account), account),
        group_name=account.group,
        queue=start.granted[0].queue,
        host=site.host,
        cell=site.cell,
        root=site.root,
        cwd=cwd,
        environment=_without_gpus(job_environment(start, site, configuration, account, paths), devices) | devices,
        method_environment=method_environment(start, site, configuration, paths) | devices,
        tmpdir=paths.tmpdir,
        limits=bounds,
        per_job_limits=list(start.per_job_limits),
        slots=slots,
        nice=queue.priority,
        notify_s=queue.notify_s if job.notify else None,
        queue_notify_s=queue.notify_s,
        variables=_variables(start, site, paths, files) | staging_variables(staged),
        **vars(_program(start, configuration, paths, site.host)),
        **vars(_streams(files)),
        **vars(_methods(start, configuration)),
        **vars(_checkpointing(start)),
        **vars(_rules(configuration)),
        **vars(_confines(start, assigned, bounds, configuration, (slots, queue.priority) != (1, 0))),
    )
    if job.kind != "batch":
        config = interactive_config(config, start, configuration, account)
    return config if start.slave is None else slave_config(config, start, start.slave, account)


def _working_directory(start: Start, site: HostSite, account: Account) -> str:
    """The working directory: the job's directory, relative to the home directory and with the variables of paths; else home
    (DM-2).

    Deviation: 8.1.9 takes relative paths, and variables, as they are.
    """
    job = start.job
    variables = path_variables(job, start.key.task, site.host, account.home)
    chosen = expand(apply_aliases(job.cwd, job.path_aliases, site.host), variables, account.homes.get)
    return join(account.home, chosen) if chosen else account.home


def gid_of(start: Start, configuration: HostConfiguration, account: Account) -> int:
    """The group that the task runs with. Source: sge_conf(5) execd_params USE_QSUB_GID."""
    return start.job.gid if configuration.execd_params.use_qsub_gid else account.gid


def _groups(gid: int, account: Account) -> list[int] | None:
    """The supplementary groups, after the group itself as getgrouplist(3) returns them."""
    return None if account.groups is None else [gid, *account.groups]


def _staged_streams(
    start: Start, site: HostSite, configuration: HostConfiguration, account: Account
) -> dict[str, StagedStream]:
    """The streams that prolog and epilog stage; none unless the cluster is ready for it."""
    if not configuration.delegated_file_staging:
        return {}
    variables = path_variables(start.job, start.key.task, site.host, account.home)
    return staged_streams(start.job, _tmpdir(start), lambda path: expand(path, variables, account.homes.get))


def _tmpdir(start: Start) -> str:
    """The task's scratch directory (QC-19); each slave task has its own."""
    queue = start.granted[0].queue
    own = f"{start.key.job}.{start.key.task}.{queue}" + (f".{start.slave.number}" if start.slave is not None else "")
    return f"{start.queue.tmpdir.rstrip('/')}/{own}"


def task_paths(start: Start, site: HostSite, cwd: str, files: StandardFiles) -> TaskPaths:
    """Paths of the task on this host. Source: QC-19 (tmpdir), QC-20 and SO-35 (shell)."""
    return TaskPaths(
        directory=str(site.task_directory(start.key)),
        script=str(site.job_scripts / str(start.job.id)),
        cwd=cwd,
        stdin=files.stdin,
        tmpdir=_tmpdir(start),
        shell=path_for(start.job.shells, site.host) or start.queue.shell or "/bin/sh",
    )


def limits(start: Start, configuration: HostConfiguration) -> dict[str, float | None]:
    """The limits in force, per slot: seconds or bytes, None for none.

    The smallest of the job's request, the queue's value (RL-1) and the time left of its reservation (AR-93); limits of
    execd_params unchanged (RL-10).
    """
    result: dict[str, float | None] = {}
    for name, parse in LIMITS.items():
        limit, requested = start.queue.limits.get(name, INFINITY), start.job.hard.get(name)
        result[name] = _finite(min(limit, parse(requested)) if requested else limit)
    if start.time_limit:
        result["h_rt"] = min(start.time_limit, result["h_rt"] or INFINITY)
    return result | {name: _finite(limit) for name, limit in configuration.execd_params.limits.items()}


def _finite(value: float) -> float | None:
    """A limit as its text was: whole where it can be; None for none."""
    return None if value == INFINITY else int(value) if value == int(value) else value


def _program(start: Start, configuration: HostConfiguration, paths: TaskPaths, host: str) -> Program:
    """The command and its interpreter. Source: QC-20 to QC-23, QC-26, SO-33, SB-10 (aliases)."""
    job = start.job
    mode = slurm_start_mode(job) or start.queue.shell_start_mode or configuration.shell_start_mode
    if job.kind != "batch":
        mode = None  # the mode applies to scripts, and there is no script (QC-24)
    return Program(
        binary=job.binary,
        script=None if job.binary else paths.script,
        command=apply_aliases(job.script_file, job.path_aliases, host) if job.binary else None,
        args=list(job.args),
        no_shell=job.no_shell,
        shell=paths.shell,
        shell_start_mode=mode or "posix_compliant",
        login_shells=list(configuration.login_shells),
        starter_method=start.queue.starter_method,
    )


def _streams(files: StandardFiles) -> StreamPaths:
    return StreamPaths(
        stdin=files.stdin,
        stdout=files.stdout,
        stderr=files.stderr,
        merge=files.stderr is None,
        default_stdout=files.default_stdout,
        default_stderr=files.default_stderr,
        pe_stdout=files.stdout,
        pe_stderr=files.stderr,
        default_pe_stdout=files.default_pe_stdout,
        default_pe_stderr=files.default_pe_stderr,
    )


def _methods(start: Start, configuration: HostConfiguration) -> Methods:
    """Return the methods; prolog and epilog of the queue override prolog and epilog of host and cluster. Source: QC-25,
    QC-27, PE-10."""
    queue = start.queue
    return Methods(
        prolog=queue.prolog or configuration.prolog,
        epilog=queue.epilog or configuration.epilog,
        pe_start=start.pe_start,
        pe_stop=start.pe_stop,
        suspend_method=queue.suspend_method,
        resume_method=queue.resume_method,
        terminate_method=queue.terminate_method,
    )


def _checkpointing(start: Start) -> Checkpointing:
    """Return the checkpointing environment of a checkpointing job; defaults for other jobs. Source: checkpoint(5) (CK-2 to
    CK-7)."""
    environment = start.checkpoint
    if environment is None:
        return Checkpointing()
    return Checkpointing(
        ckpt_interface=environment.interface,
        ckpt_command=environment.ckpt_command,
        migr_command=environment.migr_command,
        restart_command=environment.restart_command,
        clean_command=environment.clean_command,
        ckpt_signal=environment.sent_signal,
        ckpt_when=environment.when,
        ckpt_interval_s=start.checkpoint_interval_s,
        ckpt_pid=start.checkpoint_pid,
    )


def _rules(configuration: HostConfiguration) -> Rules:
    """Settings of the cluster for all jobs. Source: sge_conf(5) (EX-2, EX-6, EX-14, RL-9)."""
    parameters, interval_s = configuration.execd_params, configuration.pdc_interval_s
    return Rules(
        gid_range=configuration.gid_range,
        min_uid=configuration.min_uid,
        min_gid=configuration.min_gid,
        forbid_reschedule=configuration.qmaster_params.forbid_reschedule,
        forbid_apperror=configuration.qmaster_params.forbid_apperror,
        notify_kill=Rules.notify_kill if parameters.notify_kill is None else parameters.notify_kill,
        notify_susp=Rules.notify_susp if parameters.notify_susp is None else parameters.notify_susp,
        method_timeout_s=parameters.method_timeout_s,
        pdc_interval_s=Rules.pdc_interval_s if interval_s is None else interval_s,
    )


def _confines(
    start: Start, assigned: AssignedResources, limits: dict[str, float | None], configuration: HostConfiguration, weighted: bool
) -> Confines:
    """The limits of the task's cgroups, and the closed devices. `weighted`: the task has not the weight of one process."""
    cgroups, parameters, parallel = assigned.cgroups or HostCgroups(), configuration.execd_params, bool(start.pe_name)
    processors = list(assigned.processors) if assigned.kind == "set" else []
    by_slots = parallel or weighted or parameters.cpu_by_slots
    devices = start.devices or _NO_DEVICES
    used = {"cpu": by_slots, "cpuset": bool(processors), "blkio": parameters.io_by_slots}
    return Confines(
        cgroups=cgroups.directories([controller for controller, is_used in used.items() if is_used]),
        cgroup_of_job=parallel,
        memory_by_cgroup=cgroups.limit_memory and (limits.get("h_vmem") is not None or limits.get("s_vmem") is not None),
        processes_by_cgroup=cgroups.limit_processes,
        processor_quota=parameters.cpu_by_slots,
        io_by_slots=parameters.io_by_slots,
        processors=processors,
        closed_devices=devices.others if cgroups.device_parent else [],
        open_devices=devices.own if cgroups.device_parent else [],
        device_cgroup=cgroups.device_parent,
        devices_required=parameters.require_closed_devices,
    )


def device_refusal(start: Start, cgroups: HostCgroups | None, configuration: HostConfiguration) -> str:
    """The reason for which a task is not started: the host has to close devices, and cannot. "" for a task that may start."""
    if start.devices is None or not start.devices.others or not configuration.execd_params.require_closed_devices:
        return ""
    if cgroups is not None and cgroups.device_parent:
        return ""
    obstacle = "ENABLE_CGROUPS is off" if cgroups is None else cgroups.device_obstacle
    return f"cannot close the device files of other jobs, which REQUIRE_CLOSED_DEVICES demands: {obstacle}"


def _device_variables(start: Start, assigned: AssignedResources) -> dict[str, str]:
    """Variables with the devices that are assigned to the task. Source: sge_submit(1) -binding, all three kinds; adr/0168.

    A program that can open its own GPUs alone counts them from 0 on, so that their numbers on the host mislead it.
    """
    units, devices = start.units.get(GPUS, ()), start.devices or _NO_DEVICES
    cores = {"SGE_BINDING": " ".join(map(str, assigned.processors))} if assigned.processors else {}
    if by_vendor := variables_of_identifiers(devices.identifiers):
        return cores | by_vendor
    gpus = device_list(units) or ",".join(map(str, assigned.gpus))
    if gpus and devices.all_gpus and assigned.cgroups is not None and assigned.cgroups.device_parent:
        gpus = ",".join(map(str, range(len(set(units)))))
    return cores | (dict.fromkeys(VARIABLES, gpus) if gpus else {})


def _without_gpus(environment: dict[str, str], devices: dict[str, str]) -> dict[str, str]:
    """A task that gets GPUs has no variable of another job, which may be of another vendor."""
    other = any(name in devices for name in VARIABLES)
    return {name: value for name, value in environment.items() if name not in VARIABLES} if other else environment


def _variables(start: Start, site: HostSite, paths: TaskPaths, files: StandardFiles) -> dict[str, str]:
    """The `$variables` of methods, but `$job_pid`. Source: sge_conf(5) prolog, queue_conf(5), sge_pe(5)."""
    job = start.job
    result = {
        "host": site.host,
        "ja_task_id": str(start.key.task) if job.is_array else "0",
        "job_owner": job.owner,
        "job_id": str(job.id),
        "job_name": job.name,
        "queue": start.granted[0].queue,
        "sge_cell": site.cell,
        "sge_root": site.root,
        "processors": start.queue.processors or "UNDEFINED",
        "stdin_path": files.stdin,
        "stdout_path": files.stdout,
        "stderr_path": files.stderr or files.stdout,
        "merge_stderr": "1" if files.stderr is None else "0",
    }
    if start.checkpoint is not None:
        result |= {"ckpt_dir": start.checkpoint.ckpt_dir, "ckpt_signal": start.checkpoint.signal}
    if start.pe_name:
        result |= {
            "pe": start.pe_name,
            "pe_hostfile": f"{paths.directory}/pe_hostfile",
            "pe_slots": str(sum(grant.slots for grant in start.granted)),
        }
    return result


def pe_hostfile(start: Start, assigned: AssignedResources = _NOTHING_ASSIGNED) -> str:
    """The lines of $pe_hostfile: `host slots queue@host processors`, one line a grant. Source: sge_pe(5) (PE-9), O.

    With -binding pe the last column names the cores, `0,0:0,1`: the cores of the master host on every line.
    """
    cores = ":".join(f"{socket},{core}" for socket, core in assigned.cores) if assigned.kind == "pe" else ""
    return "".join(
        f"{grant.host} {grant.slots} {grant.instance} {cores or start.processors.get(grant.instance, 'UNDEFINED')}\n"
        for grant in start.granted
    )
