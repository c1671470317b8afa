"""The `$variables` that command lines of configuration objects may hold.

Owns their names, not their values: the execution daemon expands them. Called by the models and by that daemon.
Source: sge_conf(5) prolog, queue_conf(5) suspend_method, sge_pe(5) start_proc_args, checkpoint(5) ckpt_command.
"""

#: suspend_method, resume_method, terminate_method, starter_method
JOB_VARIABLES = frozenset(
    ("host", "ja_task_id", "job_owner", "job_id", "job_name", "queue", "job_pid", "sge_cell", "sge_root")
)
_FILES = frozenset(
    f"fs_{stream}_{part}"
    for stream in ("stdin", "stdout", "stderr")
    for part in ("host", "path", "tmp_path", "file_staging")
)
#: prolog and epilog, which run while the job has no process
PROCEDURE_VARIABLES = (
    JOB_VARIABLES | _FILES | {"processors", "stdin_path", "stdout_path", "stderr_path", "merge_stderr"}
) - {"job_pid"}
#: start_proc_args and stop_proc_args
PE_VARIABLES = PROCEDURE_VARIABLES | {"pe_hostfile", "pe", "pe_slots"}
#: the four commands of a checkpointing interface
CKPT_VARIABLES = JOB_VARIABLES | {"ckpt_dir", "ckpt_signal"}
