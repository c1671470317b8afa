"""`failed` of a task: the step that failed, as a number and as a text for people.

Owns these codes: the shepherd reports them, the execd and the qmaster add their own, `decide.failures` evaluates them,
accounting keeps them and clients print them. Source: sge_status(5); the texts are those of 8.1.9's qacct.
"""

import time

EARLY = 1
BEFORE_CONFIG = 3
BEFORE_PID = 4
PROCESSOR_SET = 6
BEFORE_PROLOG = 7
IN_PROLOG = 8
BEFORE_PE_START = 9
IN_PE_START = 10
BEFORE_JOB = 11
BEFORE_PE_STOP = 12
IN_PE_STOP = 13
BEFORE_EPILOG = 14
IN_EPILOG = 15
SHEPHERD_ERROR = 18
#: the shepherd left no `exit`: its host crashed
HOST_CRASHED = 19
ERROR_FILE = 20
#: reason of a task that was lost with its host, for people
HOST_REBOOTED = "the host was rebooted while the job ran"
#: the host no longer knows the task: it was booted, or its spool was lost
LOST = 21
#: the job was checkpointed and ended, so that it can go on elsewhere (CK-4)
MIGRATING = 24
#: job or method ended with exit status 99, or a person pushed the task back: it runs again (EX-2)
RESCHEDULED = 25
OPENING_FILES = 26
#: the interpreter, or a method, cannot be executed
NO_SHELL = 27
CHANGING_DIRECTORY = 28
APPLICATION_ERROR = 30
#: the qmaster or a limit ended it: h_rt, h_cpu, h_vmem, a forced deletion, a predecessor that failed
ENFORCED = 37
ADDING_GROUP = 38
#: the job itself died of a signal
AFTER_JOB = 100

TEXTS = {
    EARLY: "assumedly before job",
    BEFORE_CONFIG: "before writing config",
    BEFORE_PID: "before writing PID",
    PROCESSOR_SET: "setting processor set",
    BEFORE_PROLOG: "before prolog",
    IN_PROLOG: "in prolog",
    BEFORE_PE_START: "before pestart",
    IN_PE_START: "in pestart",
    BEFORE_JOB: "before job",
    BEFORE_PE_STOP: "before pestop",
    IN_PE_STOP: "in pestop",
    BEFORE_EPILOG: "before epilog",
    IN_EPILOG: "in epilog",
    16: "releasing processor set",
    17: "through signal",
    SHEPHERD_ERROR: "shepherd returned error",
    HOST_CRASHED: "before writing exit_status",
    ERROR_FILE: "found unexpected error file",
    LOST: "in recognizing job",
    MIGRATING: "migrating",
    RESCHEDULED: "rescheduling",
    OPENING_FILES: "opening input/output file",
    NO_SHELL: "searching requested shell",
    CHANGING_DIRECTORY: "changing into working directory",
    29: "AFS setup",
    APPLICATION_ERROR: "application error returned",
    31: "accessing sgepasswd file",
    32: "entry is missing in password file",
    33: "wrong password",
    34: "communicating with Grid Engine Helper Service",
    35: "before job in Grid Engine Helper Service",
    36: "checking configured daemons",
    ENFORCED: "qmaster enforced h_rt, h_cpu, or h_vmem limit",
    ADDING_GROUP: "adding supplementary group",
    AFTER_JOB: "assumedly after job",
}

#: text of qacct for an unknown number. Source: O.
UNKNOWN = "invalid execution state"


_DATE = "%m/%d/%Y %H:%M:%S"
_DATE_LENGTH = 19


def stamped(text: str, at: float, uid: int, pid: int) -> str:
    """`MM/DD/YYYY hh:mm:ss [uid:pid]: text`, the form of error reasons in qstat -j (O): time, user and process of the
    failure."""
    return f"{time.strftime(_DATE, time.localtime(at))} [{uid}:{pid}]: {text}"


def with_reason(stamped_reason: str, text: str) -> str:
    """The text with the stamp of another reason of the same failure."""
    return stamped_reason.removesuffix(plain_reason(stamped_reason)) + text


def plain_reason(reason: str) -> str:
    """The reason of a failure without the stamp of time, user and process, for texts that have a time already."""
    return _split_stamp(reason)[1]


def reason_on_host(reason: str, host: str, at: float) -> str:
    """The reason with the host on which it failed, and with a time if it has none."""
    when = "" if _split_stamp(reason)[0] else f"{time.strftime(_DATE, time.localtime(at))}: "
    return f"{when}{reason} (on host {host})"


def readable_reason(reason: str) -> str:
    """The reason for people: the time behind it, and no numbers of users and processes."""
    when, text = _split_stamp(reason)
    return f"{text}, at {when}" if when else text


def _split_stamp(reason: str) -> tuple[str, str]:
    """The time of the stamp and the text behind it; "" and the whole text if there is no stamp."""
    when, (stamp, colon, text) = reason[:_DATE_LENGTH], reason.partition(": ")
    is_date = (when[2:3], when[5:6], when[10:11], when[13:14]) == ("/", "/", " ", ":") and when[:2].isdigit()
    is_stamp = stamp == when or stamp[_DATE_LENGTH:].startswith(" [") and stamp.endswith("]")
    return (when, text) if colon and is_date and is_stamp else ("", reason)
