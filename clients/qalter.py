"""qalter: change jobs. Source: sge_submit(1); statements SO-42 … SO-44."""

import os
import time

from clients import program
from clients.path_aliases import add_path_aliases
from gridengine.options.control import JOB_LIST, tasks_of_job
from gridengine.options.option import Option, options_of, read_options
from gridengine.options.submit import SUBMIT_OPTIONS
from gridengine.options.submit_folds import Submission

_TASKS = Option("-t", "task_id_range", "qalter", tasks_of_job, "tasks", "these tasks of the job named before")
_JOBS = ("lists", "tasks", "users")


def qalter(arguments: list[str]) -> int:
    """Change the jobs named; the exit status."""
    options = options_of("qalter", SUBMIT_OPTIONS)
    option_arguments, new_arguments = arguments, None
    if "--" in arguments:
        cut = arguments.index("--")
        option_arguments, new_arguments = arguments[:cut], arguments[cut + 1 :]
    options["-t"] = _TASKS
    settings, _ = read_options(option_arguments, options, operand=JOB_LIST)
    target = Submission("qalter", program.callers_environment(), os.getcwd(), time.time())
    for option, values, location in settings:
        option.apply(target.settings if option in (JOB_LIST, _TASKS) else target, values, location)
    if target.settings.get("help"):
        return program.show_help("qalter")
    changes = dict(target.request)
    if "cwd" in changes:
        changes["path_aliases"] = []
        add_path_aliases(changes)
    if new_arguments is not None:
        changes["args"] = new_arguments
    body: dict[str, object] = {"changes": changes}
    if "verify" in changes:
        body["verify"] = changes.pop("verify")
    bodies = program.job_lists({**body, **{name: target.settings[name] for name in _JOBS if name in target.settings}})
    if not bodies:
        return program.report_misuse("qalter", "qalter: no jobs are named")
    return program.requests_for_jobs("alter_jobs", bodies)
