"""Options of qdel, qmod, qhold, qrls. Source: qdel(1), qmod(1), qhold(1), qrls(1); statements SO-46, SO-49, QM.

Owns the rows, which fill the bodies of `delete_jobs`, `change_states` and `hold_jobs`.
"""

from gridengine.errors import InvalidValueError
from gridengine.options import fields as fold
from gridengine.options.option import Option

TYPE_CHECKING = False  # as typing has it: clients pay for every import
if TYPE_CHECKING:
    from collections.abc import Callable


def hold_kinds(target: fold.Target, field: str, values: fold.Values) -> None:
    """-h of qhold and qrls: kinds u, o, s."""
    given = values[0].replace(",", "")
    if not given or any(kind not in "uos" for kind in given):
        raise InvalidValueError(f'unknown hold list "{values[0]}" specified to -h option')
    target[field] = given


def job_list(target: fold.Target, field: str, values: fold.Values) -> None:
    """Jobs divided by commas. The last list gets them, unless -t has closed it."""
    jobs = [job for job in values[0].split(",") if job]
    lists = target.setdefault(field, [])
    if lists and "tasks" not in lists[-1]:
        lists[-1]["targets"] += jobs
    elif jobs:
        lists.append({"targets": jobs})


def tasks_of_job(target: fold.Target, field: str, values: fold.Values) -> None:
    """-t: tasks of the job before it only; ahead of all jobs, tasks of each later job without a -t of its own (SO-46)."""
    from gridengine.values.ranges import Ranges

    Ranges.parse(values[0])
    lists = target.get("lists")
    if not lists:
        target[field] = values[0]
        return
    if "tasks" in lists[-1]:
        raise InvalidValueError(f"-t {values[0]}: this option must follow a job")
    job = lists[-1]["targets"].pop()
    if not lists[-1]["targets"]:
        lists.pop()
    lists.append({"targets": [job], field: values[0]})


#: operands of qdel, qhold, qrls and qalter
JOB_LIST = Option("jobs", "job_task_list", "", job_list, "lists", "jobs, by number (and tasks), name or pattern")


def change(action: str, what: str) -> "Callable[[fold.Target, str, fold.Values], None]":
    """A fold of qmod: adds a request `change_states` for the named targets."""

    def fold_change(target: fold.Target, field: str, values: fold.Values) -> None:
        targets: fold.Target = {}
        fold.names(targets, "targets", values)
        target.setdefault("changes", []).append({"action": action, "what": what, **targets})

    return fold_change


_CHANGES = (
    ("-c --clear", "job_wc_queue_list...", "clear", "any", "clear the error state of jobs or queues"),
    ("-cj --clearjob", "job_list...", "clear", "job", "clear the error state of jobs"),
    ("-cq --clearqueue", "wc_queue_list...", "clear", "queue", "clear the error state of queues"),
    ("-d --disable", "wc_queue_list...", "disable", "queue", "start no more jobs in queues"),
    ("-e --enable", "wc_queue_list...", "enable", "queue", "start jobs in queues again"),
    ("-r --reschedule", "job_wc_queue_list...", "reschedule", "any", "reschedule jobs, or the jobs in queues"),
    ("-rj --reschedulejob", "job_list...", "reschedule", "job", "reschedule jobs"),
    ("-rq --reschedulequeue", "wc_queue_list...", "reschedule", "queue", "reschedule the jobs in queues"),
    ("-s --suspend", "job_wc_queue_list...", "suspend", "any", "suspend jobs or queues"),
    ("-sj --suspendjob", "job_list...", "suspend", "job", "suspend jobs"),
    ("-sq --suspendqueue", "wc_queue_list...", "suspend", "queue", "suspend queues and their jobs"),
    ("-us --unsuspend", "job_wc_queue_list...", "unsuspend", "any", "resume jobs or queues"),
    ("-usj --unsuspendjob", "job_list...", "unsuspend", "job", "resume jobs"),
    ("-usq --unsuspendqueue", "wc_queue_list...", "unsuspend", "queue", "resume queues and their jobs"),
)

CONTROL_OPTIONS: tuple[Option, ...] = (
    Option("-f --force", "", "qdel qmod", fold.flag, "force", "change the state even if the host does not answer"),
    Option("-h", "hold_list", "qhold qrls", hold_kinds, "holds", "kinds of holds: u, o, s"),
    Option("-help --help", "", "qdel qmod qhold qrls qresub", fold.flag, "help", "print this help"),
    Option("-t", "task_id_range", "qmod", fold.text, "tasks", "these tasks of the array jobs named"),
    Option("-t", "task_id_range", "qdel qhold qrls", tasks_of_job, "tasks", "these tasks of the job named before"),
    Option("-u", "user_list", "qdel qhold qrls", fold.names, "users", "jobs of these users"),
    *(Option(names, targets, "qmod", change(action, what), "", help) for names, targets, action, what, help in _CHANGES),
)
