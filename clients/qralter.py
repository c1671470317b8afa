"""qralter: change granted advance reservations. Takes the options of qrsub (AR-125; not in 8.1.9)."""

import os
import time

from clients import program
from gridengine.options.option import OptionError, options_of, read_options
from gridengine.options.reservation import RESERVATION_OPTIONS
from gridengine.options.submit_folds import Submission


def qralter(arguments: list[str]) -> int:
    """Change the named reservations; the exit status."""
    options = options_of("qralter", RESERVATION_OPTIONS)
    target = Submission("qralter", os.environ, "", time.time())
    try:
        settings, operands = read_options(arguments, options, mixed=True)
        for option, values, location in settings:
            option.apply(target, values, location)
    except OptionError as error:
        error.exit_status = 1
        raise
    if target.settings.get("help"):
        return program.show_help("qralter")
    targets = [name for operand in operands for name in operand.replace(",", " ").split()]
    if not targets or not target.request:
        missing = "no changes" if targets else "no reservations"
        return program.report_misuse("qralter", f"qralter: {missing} are named")
    if users := target.request.get("users"):
        from clients.reserving import check_users

        check_users(users)
    return program.request("alter_reservations", {"targets": targets, "changes": target.request})
