"""qrsub: reserve slots and resources for a time to come. Source: qrsub(1); statements AR-1 … AR-27."""

import os
import sys
import time

from clients import gdi, program
from clients.request_files import default_settings
from gridengine.options.option import OptionError, options_of, read_options
from gridengine.options.reservation import RESERVATION_OPTIONS
from gridengine.options.submission import Submission


def qrsub(arguments: list[str]) -> int:
    """Ask for a reservation; the exit status."""
    options = options_of("qrsub", RESERVATION_OPTIONS)
    if not arguments:
        return program.misused("qrsub", "qrsub: no options are given")
    target = Submission("qrsub", os.environ, "", time.time())
    try:
        settings, operands = read_options(arguments, options, mixed=True)
        if operands:
            return program.misused("qrsub", f'error: invalid option argument "{operands[0]}"')
        for level, source in enumerate((default_settings("sge_ar_request", options), settings)):
            target.level = level
            for option, values, place in source:
                option.apply(target, values, place)
    except OptionError as error:
        # qrsub knows one exit code for whatever is wrong with its options
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
    """-find: the windows that would fit."""
    from clients.render.reservations import windows

    answer = gdi.call("reserve", target.request)
    free = (answer.data or {}).get("windows", [])
    program.show(windows(free) if free else ())
    sys.stdout.flush()
    return program.show_answers(answer)


def main() -> int:
    return program.run("qrsub", qrsub)
