"""qresub: copies of jobs. Source: sge_submit(1) qresub; statement SO-45."""

import os
import time

from clients import program
from gridengine.options.option import options_of, read_options
from gridengine.options.submit import SUBMIT_OPTIONS
from gridengine.options.submit_folds import Submission


def qresub(arguments: list[str]) -> int:
    """Copy the jobs named by number; the exit status."""
    options = options_of("qresub", SUBMIT_OPTIONS)
    settings, operands = read_options(arguments, options, mixed=True)
    target = Submission("qresub", os.environ, "/", time.time())
    for option, values, location in settings:
        option.apply(target, values, location)
    if target.settings.get("help"):
        return program.show_help("qresub")
    targets = [name for operand in operands for name in operand.split(",") if name]
    if not targets:
        return program.report_misuse("qresub", "qresub: no jobs are named")
    return program.requests_for_jobs("resubmit_jobs", [{"targets": targets, "holds": target.request.get("holds", "")}])
