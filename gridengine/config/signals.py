"""Names and numbers of signals as configuration files write them.

Owns the names that are accepted, independent of the machine on which this runs. Called by the models of this package.
Source: queue_conf(5) suspend_method (SIG prefix or number), checkpoint(5) signal (without prefix).
"""

from gridengine.errors import InvalidValueError

_NAMES = (
    "HUP INT QUIT ILL TRAP ABRT BUS FPE KILL USR1 SEGV USR2 PIPE ALRM TERM STKFLT CHLD CONT STOP TSTP TTIN TTOU URG "
    "XCPU XFSZ VTALRM PROF WINCH IO PWR SYS"
).split()
#: number by name without prefix, as Linux counts
NUMBERS = {name: number for number, name in enumerate(_NAMES, start=1)} | {"IOT": 6, "CLD": 17, "POLL": 29}
#: with their prefix, by number
SIGNALS = tuple(f"SIG{name}" for name in _NAMES)
MAX_SIGNAL = 64


def signal_number(text: str) -> int:
    """The number of `SIGTERM`, `TERM` or `15`. Raises InvalidValueError."""
    if text.isascii() and text.isdigit() and len(text) < 4 and 1 <= int(text) <= MAX_SIGNAL:
        return int(text)
    try:
        return NUMBERS[text.upper().removeprefix("SIG")]
    except KeyError:
        raise InvalidValueError(f'"{text}" is not a signal: a name such as SIGTERM or a number is expected') from None


def check_signal(text: str) -> str:
    """The text itself if it is a signal."""
    signal_number(text)
    return text
