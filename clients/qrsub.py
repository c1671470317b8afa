"""qrsub: reserve slots and resources for a future time. Source: qrsub(1); statements AR-1 … AR-27."""

import os
import sys
import time

from clients import gdi, program
from clients.request_files import default_settings
from gridengine.options.option import OptionError, options_of, read_options
from gridengine.options.reservation import RESERVATION_OPTIONS
from gridengine.options.submit_folds import Submission


def qrsub(arguments: list[str]) -> int:
    """Request a reservation; the exit status."""
    options = options_of("qrsub", RESERVATION_OPTIONS)
    if not arguments:
        return program.report_misuse("qrsub", "qrsub: no options are given")
    target = Submission("qrsub", os.environ, "", time.time())
    try:
        settings, operands = read_options(arguments, options, mixed=True)
        if operands:
            return program.report_misuse("qrsub", f'error: invalid option argument "{operands[0]}"')
        for level, source in enumerate((default_settings("sge_ar_request", options), settings)):
            target.level = level
            for option, values, location in source:
                option.apply(target, values, location)
    except OptionError as error:
        # qrsub has a single exit code for all faults of its options
        error.exit_status = 1
        raise
    if target.settings.get("help"):
        return program.show_help("qrsub")
    if users := target.request.get("users"):
        from clients.reserving import check_users

        check_users(users)
    if "find" in target.request:
        return _list_windows(target)
    return program.request("reserve", target.request)


def _list_windows(target: Submission) -> int:
    """-find: print the windows in which the reservation would fit."""
    from clients.render.reservations import windows

    answer = gdi.call("reserve", target.request)
    free = (answer.data or {}).get("windows", [])
    program.show(windows(free) if free else ())
    sys.stdout.flush()
    return program.show_answers(answer)
