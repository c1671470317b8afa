"""Options of qevent. Source: qevent(1); statement EV-9. Owns the rows, which fill settings of the command."""

from gridengine.errors import InvalidValueError
from gridengine.options import fields as fold
from gridengine.options.option import Option

#: events that trigger a script: the end of a job, and of a task
TRIGGERS = ("JB_END", "JB_TASK_END")


def trigger(target: fold.Target, field: str, values: fold.Values) -> None:
    """-trigger event script; each use adds a trigger."""
    if values[0] not in TRIGGERS:
        raise InvalidValueError(f'"{values[0]}" is no event that can trigger a script: {" and ".join(TRIGGERS)} are')
    target.setdefault(field, []).append((values[0], values[1]))


EVENT_OPTIONS: tuple[Option, ...] = (
    Option("-h -help --help", "", "qevent", fold.flag, "help", "print this help"),
    Option("-json", "", "qevent", fold.flag, "json", "with -sm: print each event as a line of JSON"),
    Option("-sm -subscribe", "", "qevent", fold.flag, "subscribe", "print the events of the system"),
    Option("-trigger", "JB_END|JB_TASK_END script", "qevent", trigger, "triggers", "run a script at the end of jobs or tasks"),
    Option("-ts -testsuite", "", "qevent", fold.flag, "subscribe", "print the events of the system, for test suites"),
)
