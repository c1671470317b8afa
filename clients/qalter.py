"""qalter: change jobs. Source: sge_submit(1); statements SO-42 … SO-44."""

import os
import sys
import time

from clients import program
from gridengine.options.option import options_of, read_options, usage
from gridengine.options.submission import Submission
from gridengine.options.submit import SUBMIT_OPTIONS

OPERANDS = "job_task_list [-- arguments]"


def qalter(arguments: list[str]) -> int:
    """Change the jobs named; the exit status."""
    options = options_of("qalter", SUBMIT_OPTIONS)
    words, new_arguments = arguments, None
    if "--" in arguments:
        cut = arguments.index("--")
        words, new_arguments = arguments[:cut], arguments[cut + 1 :]
    settings, operands = read_options(words, options, mixed=True)
    target = Submission("qalter", os.environ, os.getcwd(), time.time())
    for option, values, place in settings:
        option.apply(target, values, place)
    if target.settings.get("help"):
        sys.stdout.write(usage("qalter", OPERANDS, options))
        return 0
    changes = dict(target.request)
    if new_arguments is not None:
        changes["args"] = new_arguments
    targets = [name for operand in operands for name in operand.split(",") if name]
    if not targets and not target.settings.get("users"):
        return program.misused("qalter", SUBMIT_OPTIONS, OPERANDS, "qalter: no jobs are named")
    body: dict[str, object] = {"targets": targets, "changes": changes}
    if "verify" in changes:
        body["verify"] = changes.pop("verify")
    if target.settings.get("users"):
        body["users"] = target.settings["users"]
    return program.request("alter_jobs", body)


def main() -> int:
    return program.run("qalter", qalter)
