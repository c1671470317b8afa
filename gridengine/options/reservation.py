"""Options of qrsub, qralter, qrdel and qrstat. Source: qrsub(1), qrdel(1), qrstat(1); AR-1 … AR-27, AR-101 … AR-116, AR-125.

Owns the rows and their special folds. qrsub and qralter fill the body of the request `reserve`, or changes of it, through
`Submission`, as the submitting commands do; qrdel and qrstat fill a dict.
"""

from gridengine.errors import InvalidValueError
from gridengine.options import fields as plain
from gridengine.options import submit_folds as fold
from gridengine.options.option import Option

TYPE_CHECKING = False  # as typing has it: clients pay for every import
if TYPE_CHECKING:
    from gridengine.options.option import Fold

MAIL_CODES = "bea"
#: values of `-he`, `-now` …, in any case
_SWITCH = {"y": True, "yes": True, "n": False, "no": False}


def date(option: str) -> "Fold":
    """A fold function for `[[CC]YY]MMDDhhmm[.SS]` as epoch seconds."""

    def read(target: fold.Submission, field: str, values: fold.Values) -> None:
        try:
            fold.date(target, field, values)
        except InvalidValueError as fault:
            raise InvalidValueError(f'Wrong date/time format "{values[0]}" specified to {option} option: {fault}') from None

    return read


def duration(target: fold.Submission, field: str, values: fold.Values) -> None:
    """-d: seconds or h:m:s (AR-4)."""
    from gridengine.values.units import INFINITY, parse_time

    try:
        target.request[field] = float(parse_time(values[0]))
    except InvalidValueError:
        raise InvalidValueError(f'Wrong time format "{values[0]}" specified to -d option') from None
    if target.request[field] == INFINITY:
        raise InvalidValueError("-d: a reservation must have an end")


def switch(option: str) -> "Fold":
    """A fold function for y[es] and n[o], in any case; an option without a value means yes (AR-10, AR-15)."""

    def read(target: fold.Submission, field: str, values: fold.Values) -> None:
        value = values[0] if values else "y"
        if value.lower() not in _SWITCH:
            raise InvalidValueError(f'invalid option argument "{option} {value}", it must be y[es] or n[o]')
        target.request[field] = _SWITCH[value.lower()]

    return read


def mail_options(target: fold.Submission, field: str, values: fold.Values) -> None:
    """-m: codes b e a add up, n removes them; s is for jobs only (AR-12)."""
    codes = values[0].replace(",", "")
    if not codes or any(code not in f"{MAIL_CODES}n" for code in codes):
        raise InvalidValueError(f'Wrong mail options list format "{values[0]}" specified to -m option')
    already = str(target.request.get(field, ""))
    target.request[field] = "" if "n" in codes else "".join(x for x in "abe" if x in already or x in codes)


def idle(target: fold.Submission, field: str, values: fold.Values) -> None:
    """-idle time."""
    from gridengine.values.units import INFINITY, parse_time

    try:
        seconds = parse_time(values[0])
    except InvalidValueError:
        raise InvalidValueError(f'Wrong time format "{values[0]}" specified to -idle option') from None
    target.request[field] = 0.0 if seconds == INFINITY else float(seconds)


def host(target: fold.Submission, field: str, values: fold.Values) -> None:
    """-h host, short for -l h=host, so that the examples of the first specification run (X-8)."""
    fold.requests(target, "hard", [f"hostname={values[0]}"])


def validation(target: fold.Submission, field: str, values: fold.Values) -> None:
    """-w e|v."""
    if values[0] not in ("e", "v"):
        raise InvalidValueError(f'invalid option argument "-w {values[0]}"')
    target.request[field] = values[0]


RESERVATION_OPTIONS: tuple[Option, ...] = (
    Option("-a", "date_time", "qrsub qralter", date("-a"), "start_time", "start time, as MMDDhhmm; now if left out"),
    Option("-A", "account_string", "qrsub qralter", fold.account, "account", "account that is named in the records"),
    Option("-alloc", "allocation_rule slot_range", "qrsub qralter", fold.allocation, "allocation_rule", "slots spread by a rule"),
    Option("-ar", "ar_list", "qrstat", plain.names, "reservations", "show everything about these reservations"),
    Option("-ckpt", "ckpt_name", "qrsub qralter", fold.text, "checkpoint", "queues with this checkpointing environment"),
    Option("-d", "time", "qrsub qralter", duration, "duration", "duration, as h:m:s or seconds"),
    Option("-e", "date_time", "qrsub qralter", date("-e"), "end_time", "end time"),
    Option("-explain", "", "qrstat", plain.flag, "explain", "show the errors of reservations"),
    Option("-f", "", "qrdel", plain.flag, "force", "delete even if hosts do not answer"),
    Option("-find", "number", "qrsub", fold.number(1, 100, "number of windows"), "find", "list windows that fit, take none"),
    Option("-h", "host", "qrsub qralter", host, "", "on this host, as -l h=host"),
    Option("-he", "y[es]|n[o]", "qrsub qralter", switch("-he"), "hard_errors", "start no jobs while it has errors"),
    Option("-heal", "y[es]|n[o]", "qrsub qralter", switch("-heal"), "heal", "move slots of a lost host to other hosts"),
    Option("-help --help", "", "qrdel qrstat", plain.flag, "help", "print this help"),
    Option("-help --help", "", "qrsub qralter", fold.setting, "help", "print this help"),
    Option("-idle", "time", "qrsub qralter", idle, "idle_limit", "release it when idle for so long"),
    Option("-json", "", "qrstat", plain.flag, "json", "print JSON"),
    Option("-l", "resource_list", "qrsub qralter", fold.requests, "", "request resources"),
    Option("-latest", "date_time", "qrsub", date("-latest"), "latest", "take the first window that begins by then"),
    Option("-m", "mail_options", "qrsub qralter", mail_options, "mail_options", "when to send mail: b e a, or n for never"),
    Option("-M", "mail_list", "qrsub qralter", fold.addresses, "mail_list", "mail addresses to notify"),
    Option("-masterq", "wc_queue_list", "qrsub qralter", fold.add_names, "master_queues", "queues for the master task"),
    Option("-now", "[y[es]|n[o]]", "qrsub", switch("-now"), "now", "interactive queues only"),
    Option("-N", "ar_name", "qrsub qralter", fold.name, "name", "name of the reservation"),
    Option("-pe", "pe_name slot_range", "qrsub qralter", fold.parallel_environment, "pe", "slots of a parallel environment"),
    Option("-q", "wc_queue_list", "qrsub qralter", fold.queues, "", "queues that may be reserved"),
    Option("-recur", "rule", "qrsub", fold.text, "rule", "a reservation for each time of an RFC 5545 rule: FREQ=DAILY;COUNT=5"),
    Option("-series", "", "qrdel", plain.flag, "series", "delete the later reservations of the series, too"),
    Option("-u", "user_list", "qrsub qralter", fold.add_names, "users", "users and @lists with access, ! in front: no access"),
    Option("-u", "user_list", "qrdel qrstat", plain.names, "users", "reservations of these users, * for all"),
    Option("-w", "e|v", "qrsub", validation, "verify", "refuse an impossible reservation (e), or only check it (v)"),
    Option("-xml", "", "qrstat", plain.flag, "xml", "print XML"),
)
