"""The job options that a job keeps unchanged from its request: one list of fields, with their bounds.

Owns the fields that mean the same when they are submitted (`requests.Submit`), kept (`state.jobs.Job`), changed (qalter) and
passed on to the next attempt or a copy. All of these types get the fields from here, so a new option is one field. Values that
are resolved at submission (resources, predecessors, tasks, holds) have separate fields in request and job. Source:
sge_submit(1).
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Struct, field

from gridengine.protocols.gdi.bounds import (
    KB,
    Arguments,
    Binding,
    Context,
    Count,
    Items,
    JobNumber,
    Line,
    Name,
    Names,
    Path,
    PathsOnHosts,
    Pattern,
    Patterns,
    Predecessors,
    Priority,
    Seconds,
    TaskNumber,
    Value,
    Variables,
)


class JobRequest(Struct, kw_only=True):
    """Texts are as the user gave them. Times are epoch seconds, 0 if not given."""

    # --- program ---
    kind: Literal["batch", "qrsh", "qlogin", "qsh", "qrlogin"] = "batch"
    #: name of the script or program, as qstat -j shows it
    script_file: Path = ""
    #: -b y: `script_file` is run as it is, there is no script
    binary: bool = False
    args: Arguments = ()
    #: -pty: None if not given
    pty: bool | None = None
    #: -S, as (host or "", path)
    shells: PathsOnHosts = ()
    #: -shell n
    no_shell: bool = False
    # --- where it was submitted ---
    cwd: Path = ""
    #: (source, exec host or *, replacement), for `cwd` and the program of a binary job
    path_aliases: Annotated[tuple[tuple[Path, Name, Path], ...], Items(1000, 64 * KB)] = ()
    submit_cwd: Path = ""
    home: Path = ""
    login_shell: Path = ""
    submit_path: Value = ""
    #: variables of -v and -V; their values are in the payload
    environment_names: Variables = ()
    # --- files ---
    #: -o, -e, -i, as (host or "", path); "" stands for all other hosts
    stdout: PathsOnHosts = ()
    stderr: PathsOnHosts = ()
    stdin: PathsOnHosts = ()
    #: -j y
    merge: bool = False
    #: characters i, o, e: the streams that prolog and epilog stage (EX-21)
    transfer_files: Name = ""
    # --- placement ---
    hard_queues: Patterns = ()
    soft_queues: Patterns = ()
    master_queues: Patterns = ()
    pe: Pattern = ""
    pe_range: Pattern = ""
    #: -alloc: overrides the PE's rule; also for slots without a PE (AR-126)
    allocation_rule: Name = ""
    binding: Binding = ""
    #: its advance reservation, 0 for none
    ar: JobNumber = 0
    #: -R y: the scheduler reserves resources for the waiting job
    reserve: bool = False
    #: -now y
    now: bool = False
    # --- order ---
    start_after: Seconds = 0.0
    deadline: Seconds = 0.0
    priority: Priority = 0
    job_share: Count = 0
    override_tickets: Count = 0
    #: -tc: how many of its tasks may run at a time, 0 for any number
    task_concurrency: TaskNumber = 0
    #: jobs that must succeed, or fail, first
    hold_jid_ok: Predecessors = ()
    hold_jid_fail: Predecessors = ()
    # --- life ---
    #: -r: None if not given
    rerun: bool | None = None
    notify: bool = False
    checkpoint: Name = ""
    checkpoint_when: Name = ""
    # --- notification and accounting ---
    mail_options: Name = ""
    mail_list: Names = ()
    account: Name = "sge"
    project: Name = ""
    #: -ac, -dc, -sc: values by name of a variable
    context: Context = field(default_factory=dict)
    #: a note of the user's own, of no effect
    comment: Line = ""
    #: session of a library, whose programs wait for the ends of the session's jobs (DM-1)
    session: Name = ""
    #: a failure ends the task instead of setting the error state: a program waits for its end, and no user clears errors (DM-2)
    error_ends: bool = False


REQUEST_FIELDS = JobRequest.__struct_fields__
