"""Files of 8.1.9 that methods read in the directory of their task: `config`, `pe_hostfile`, `usage`, `error`, `exit_status`.

Owns their formats, mostly `name=value` lines, and the choice of tasks that get them: tasks with methods, a starter or a
checkpointing interface, so that other tasks do not pay for these files. The task's own configuration is renamed first
(docs/architecture.md 5.2). The product reads none of these files. Called by `run`. Source: O; sge_conf(5) prolog,
checkpoint(5).
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gridengine.errors import plain_fault
from gridengine.protocols.task_file import CONFIG, PRIVATE_CONFIG, TaskConfig
from gridengine.usage.failed import plain_reason
from shepherd.task_files import USAGE, Trace, replace

_READERS = ("prolog", "epilog", "pe_start", "pe_stop", "starter_method", "ckpt_interface")
_METHODS = ("starter_method", "suspend_method", "resume_method", "terminate_method")
_LIMITS = (
    *(f"{kind}_{name}" for name in ("vmem", "cpu", "stack", "data", "core", "rss", "fsize") for kind in "hs"),
    *(f"{kind}_{name}" for name in ("descriptors", "maxproc", "memorylocked", "locks") for kind in "sh"),
)
_UNDEFINED = ("descriptors", "maxproc", "memorylocked", "locks")
_SECONDS = ("ru_utime", "ru_stime")
_COUNTS = (
    "ru_wallclock ru_utime ru_stime ru_maxrss ru_ixrss ru_idrss ru_isrss ru_minflt ru_majflt ru_nswap ru_inblock ru_oublock "
    "ru_msgsnd ru_msgrcv ru_nsignals ru_nvcsw ru_nivcsw".split()
)


class MethodFiles:
    """The files of one task."""

    def __init__(self, directory: Path, config: TaskConfig, trace: Trace) -> None:
        self._directory, self._trace = directory, trace
        self._are_read = any(getattr(config, name) for name in _READERS)
        self._begun = False

    def begin(self, config: TaskConfig, gid: int | None) -> None:
        """Write the files before the first process of the task; called before each. `gid`: the additional group of the job."""
        if self._begun or not self._are_read:
            return
        self._begun = True
        try:
            os.rename(self._directory / CONFIG, self._directory / PRIVATE_CONFIG)
        except OSError as error:
            self._trace(f"can't give {CONFIG} another name: {plain_fault(error)}")
            return
        self._write(CONFIG, "".join(f"{name}={_line(value)}\n" for name, value in _entries(config, self._directory, gid)))
        if not (self._directory / "pe_hostfile").exists():
            processors = config.variables.get("processors", "UNDEFINED")
            self._write("pe_hostfile", f"{config.host} {config.slots} {config.queue}@{config.host} {processors}\n")
        for name in ("error", "exit_status"):
            self._write(name, "")

    def job_ended(self, how: Callable[[], dict[str, Any]]) -> None:
        """The job has ended; `how()` returns the record of its end, as in `exit`."""
        if not self._begun:
            return
        record = how()
        usage, code, number = record["usage"], record["exit_status"], record["signal"]
        lines = {
            "wait_status": number << 12 | 2 if number else code << 4 | 1,
            "exit_status": code,
            "signal": number,
            "start_time": int(record["start_time"]),
            "end_time": int(record["end_time"]),
        } | {name: f"{usage[name]:.6f}" if name in _SECONDS else int(usage[name]) for name in _COUNTS}
        self._write(USAGE, "".join(f"{name}={value}\n" for name, value in lines.items()))
        if record["failed"]:
            self._write("error", f"{_line(plain_reason(record['reason']))}\n")

    def _write(self, name: str, text: str) -> None:
        try:
            replace(self._directory / name, text.encode(errors="surrogateescape"))
        except OSError as error:
            self._trace(f"can't write {name}: {plain_fault(error)}")


def _line(value: object) -> str:
    text = str(int(value)) if isinstance(value, bool) else str(value)
    return text.replace("\n", " ")


def _entries(config: TaskConfig, directory: Path, gid: int | None) -> list[tuple[str, object]]:
    """Names and values in the order of 8.1.9, without the values that only its own programs use."""
    variables = config.variables
    found: list[tuple[str, object]] = [] if gid is None else [("add_grp_id", gid)]
    found += [(name, value) for name, value in variables.items() if name.startswith("fs_")]
    found += [
        ("stdout_path", variables.get("stdout_path", config.stdout)),
        ("stderr_path", variables.get("stderr_path", config.stderr or config.stdout)),
        ("stdin_path", variables.get("stdin_path", config.stdin or "/dev/null")),
        ("merge_stderr", config.merge),
        ("tmpdir", config.tmpdir or ""),
        ("handle_as_binary", config.binary),
        ("no_shell", config.no_shell),
        ("ckpt_job", bool(config.ckpt_interface)),
        *(_checkpointing(config, gid) if config.ckpt_interface else ()),
    ]
    for name in _LIMITS:
        limit = config.limits.get(name)
        found.append((name, limit if limit is not None else "UNDEFINED" if name[2:] in _UNDEFINED else "INFINITY"))
    found += [
        ("priority", config.nice),
        ("shell_path", config.shell),
        ("script_file", config.command if config.binary else config.script or ""),
        ("job_owner", config.owner),
        ("min_gid", config.min_gid),
        ("min_uid", config.min_uid),
        ("cwd", config.cwd),
        *((name, getattr(config, name) or "none") for name in ("prolog", "epilog")),
        *((name, getattr(config, name) or "NONE") for name in _METHODS),
        *_parallel(config, directory),
        ("shell_start_mode", config.shell_start_mode),
        ("use_login_shell", os.path.basename(config.shell) in config.login_shells),
        ("forbid_reschedule", config.forbid_reschedule),
        ("forbid_apperror", config.forbid_apperror),
        ("queue", config.queue),
        ("host", config.host),
        ("processors", variables.get("processors", "UNDEFINED")),
        ("job_name", config.job_name),
        ("job_id", config.job_id),
        ("ja_task_id", variables.get("ja_task_id", "0")),
        ("account", config.environment.get("SGE_ACCOUNT", "sge")),
        ("notify", int(config.notify_s or 0)),
        ("njob_args", len(config.args)),
        *((f"job_arg{number}", argument) for number, argument in enumerate(config.args, start=1)),
        ("queue_tmpdir", os.path.dirname(config.tmpdir or "")),
    ]
    return found


def _checkpointing(config: TaskConfig, gid: int | None) -> list[tuple[str, object]]:
    return [
        ("ckpt_restarted", config.environment.get("RESTARTED", "0")),
        ("ckpt_pid", config.ckpt_pid),
        ("ckpt_osjobid", gid or 0),
        ("ckpt_interface", config.ckpt_interface),
        ("ckpt_command", config.ckpt_command or "none"),
        ("ckpt_migr_command", config.migr_command or "none"),
        ("ckpt_rest_command", config.restart_command or "none"),
        ("ckpt_clean_command", config.clean_command or "none"),
        ("ckpt_dir", config.variables.get("ckpt_dir", "none")),
        ("ckpt_signal", config.variables.get("ckpt_signal", "none")),
        ("ckpt_interval", int(config.ckpt_interval_s)),
    ]


def _parallel(config: TaskConfig, directory: Path) -> list[tuple[str, object]]:
    pe = config.variables.get("pe")
    slots = config.variables.get("pe_slots", config.slots)
    found: list[tuple[str, object]] = [("pe", pe or "none"), ("pe_slots", slots), ("host_slots", config.slots)]
    if pe:
        found += [
            ("pe_hostfile", directory / "pe_hostfile"),
            ("pe_start", config.pe_start or "none"),
            ("pe_stop", config.pe_stop or "none"),
            ("pe_stdout_path", config.pe_stdout or ""),
            ("pe_stderr_path", config.pe_stderr or config.pe_stdout or ""),
        ]
    return found
