"""Results of submit options: a `Submit` request, the changes of a qalter, and the settings of the command itself.

Owns the fold of every submit option into the request (statements SB, SO). Rows of `gridengine.options.submit` name these
functions; `gdi.requests.Submit` defines the fields. Pure and light: time, directory and environment of the caller
are arguments.
"""

from gridengine.errors import InvalidValueError

TYPE_CHECKING = False  # as typing has it: clients pay for every import
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

Values = list[str]


class MalformedValueError(InvalidValueError):
    """An impossible value of an option for which 8.1.9 exits with 2."""

    exit_status = 2


#: values of `-b`, `-j`, `-r` …, in any case
_SWITCH = {"y": True, "yes": True, "n": False, "no": False}
#: codes of `-m`, in the order in which they are kept
MAIL_CODES = "abesn"
MAIL_ON = "abes"


class Submission:
    """Options folded so far.

    `request`: fields of `Submit` that were set. `settings`: of the command itself (`sync`, `terse` …). `soft`: whether -soft is
    in force. `level`: number of the source that is being folded, for lists that a later source replaces instead of adding to.
    `now`: epoch seconds.
    """

    def __init__(self, command: str, environment: "Mapping[str, str]", cwd: str, now: float) -> None:
        self.command = command
        self.environment = environment
        self.cwd = cwd
        self.now = now
        self.level = 0
        self.request: dict[str, Any] = {}
        self.settings: dict[str, Any] = {}
        self.soft = False
        self.levels: dict[str, int] = {}

    def collection(self, field: str, replaced: bool = False) -> "list[Any]":
        """The list of a field, to be extended; `replaced`: elements of earlier sources are dropped first."""
        if replaced and self.levels.get(field) != self.level:
            self.request[field] = []
        self.levels[field] = self.level
        kept: list[Any] = self.request.setdefault(field, [])
        return kept


def clear(target: Submission, field: str, values: Values) -> None:
    """-clear: everything that was set before is dropped (SB-4)."""
    target.request.clear()
    target.settings.clear()
    target.levels.clear()
    target.soft = False


def split_list(text: str) -> list[str]:
    """Items divided by commas, at least one; empty items are skipped, as in 8.1.9.

    Within quotes a comma does not divide, and the quotes stay.
    """
    from gridengine.syntax.lists import quoted_items  # late: many commands have no list

    found = quoted_items(text)
    if not found:
        raise InvalidValueError(f'"{text}" is an empty list')
    return found


def text(target: Submission, field: str, values: Values) -> None:
    """The argument as it is."""
    target.request[field] = values[0]


def account(target: Submission, field: str, values: Values) -> None:
    """-A: an empty account is the default account (O)."""
    target.request.pop(field, None)
    if values[0]:
        text(target, field, values)


def true(target: Submission, field: str, values: Values) -> None:
    target.request[field] = True


def switch(target: Submission, field: str, values: Values) -> None:
    """y[es] or n[o]."""
    target.request[field] = _switch(values[0])


def opposite(target: Submission, field: str, values: Values) -> None:
    """y[es] or n[o], stored negated (-shell)."""
    target.request[field] = not _switch(values[0])


def _switch(value: str) -> bool:
    if value.lower() not in _SWITCH:
        raise InvalidValueError(f'"{value}" is neither y[es] nor n[o]')
    return _SWITCH[value.lower()]


def setting(target: Submission, field: str, values: Values) -> None:
    """A setting of the command itself, on."""
    target.settings[field] = values[0] if values else True


def setting_switch(target: Submission, field: str, values: Values) -> None:
    target.settings[field] = _switch(values[0])


def verifier(target: Submission, field: str, values: Values) -> None:
    """-jsv: all given verifiers run, first the verifiers of the strongest source (SO-17)."""
    target.settings.setdefault(field, []).append((target.level, values[0]))


def name(target: Submission, field: str, values: Values) -> None:
    """-N: the qmaster checks the remaining rules (SB-9); a name with a slash could never be a file name."""
    if "/" in values[0]:
        raise MalformedValueError("argument to -N option must not contain /")
    if not values[0]:
        raise MalformedValueError("argument to -N option must not be empty")
    target.request[field] = values[0]


def number(
    low: int, high: int, noun: str, fault: type[InvalidValueError] = InvalidValueError
) -> "Callable[[Submission, str, Values], None]":
    """A fold function for an integer within low..high, which raises `fault` for any other value."""

    def fold(target: Submission, field: str, values: Values) -> None:
        value = values[0]
        digits = value[1:] if value[:1] in ("-", "+") else value
        if not (digits.isascii() and digits.isdigit() and len(digits) < 12 and low <= int(value) <= high):
            raise fault(f'invalid {noun} "{value}", it must be an integer from {low} to {high}')
        target.request[field] = int(value)

    return fold


job_share = number(0, 2**31 - 1, "job share", MalformedValueError)
def reservation(target: Submission, field: str, values: Values) -> None:
    """-ar id; 0 takes a job out of its reservation (SO-3). Exit code: O."""
    value = values[0]
    if not (value.isascii() and value.isdigit() and int(value) < 2**31):
        raise MalformedValueError(f'invalid advance reservation id "{value}", must be an unsigned integer')
    target.request[field] = int(value)


def date(target: Submission, field: str, values: Values) -> None:
    """-a, -dl: `[[CC]YY]MMDDhhmm[.SS]` as epoch seconds."""
    from gridengine.values.units import parse_date_time

    target.request[field] = float(parse_date_time(values[0], target.now))


def paths(target: Submission, field: str, values: Values) -> None:
    """-o, -e, -i, -S: `[[host]:]path,...`, one path a host; the last option for a host counts (SO-12, SO-35)."""
    from gridengine.addresses import split_host

    by_host = target.collection(field)
    named: list[str] = []
    for item in split_list(values[0]):
        host, colon, path = split_host(item)
        if not colon or "/" in host:
            host, path = "", item
        if not path:
            raise InvalidValueError(f'"{item}" names no path')
        if host in named:
            raise InvalidValueError(f'"{values[0]}": two files are specified for the same host{host and f", {host}"}')
        named.append(host)
        position = next((i for i, pair in enumerate(by_host) if pair[0] == host), len(by_host))
        by_host[position : position + 1] = [[host, path]]


def requests(target: Submission, field: str, values: Values) -> None:
    """-l: adds to the hard or soft list; a second request for the same resource replaces the first (SO-14, SO-18)."""
    from gridengine.syntax.request_list import split_requests  # late, as above

    requested = target.collection("soft" if target.soft else "hard")
    for item in split_requests(values[0]):
        resource = item.partition("=")[0]
        if not resource:
            raise InvalidValueError(f'"{values[0]}" is not a list of resource=value')
        position = next((i for i, other in enumerate(requested) if other.partition("=")[0] == resource), len(requested))
        requested[position : position + 1] = [item]


def queues(target: Submission, field: str, values: Values) -> None:
    """-q: adds to the hard or soft list; a later source replaces it (SO-30)."""
    add_names(target, "soft_queues" if target.soft else "hard_queues", values)


def add_names(target: Submission, field: str, values: Values) -> None:
    """A list of names; a later source replaces it."""
    target.collection(field, replaced=True).extend(split_list(values[0]))


def addresses(target: Submission, field: str, values: Values) -> None:
    """-M: adds up over all sources; an address replaces the first earlier address with the same host part (O)."""
    known = bool(earlier := target.collection(field))
    for new in dict.fromkeys(split_list(values[0])):
        at = next((i for i, one in enumerate(earlier) if known and one.partition("@")[2] == new.partition("@")[2]), len(earlier))
        earlier[at : at + 1] = [new]


def predecessors(target: Submission, field: str, values: Values) -> None:
    """-hold_jid, -hold_jid_ad: add up over all sources; an empty list, for qalter, removes them (DP-1, DP-5)."""
    earlier = target.collection(field)
    if values[0]:
        earlier.extend(item for item in split_list(values[0]) if item not in earlier)
    elif target.command != "qalter":
        raise InvalidValueError("a list of jobs must not be empty")


def hard(target: Submission, field: str, values: Values) -> None:
    target.soft = False


def soft(target: Submission, field: str, values: Values) -> None:
    target.soft = True


def variables(target: Submission, field: str, values: Values) -> None:
    """-v: `name=value,...`; a bare name takes its value from the environment of the caller (SO-39).

    A comma within quotes does not divide, as in 8.1.9, and the quotes stay.
    """
    for item in split_list(values[0]):
        variable, equals, value = item.partition("=")
        if not variable:
            raise InvalidValueError(f'"{item}" is not a variable to export')
        if equals:
            _export(target, variable, value)
        else:
            _export(target, variable, target.environment.get(variable, ""))


def all_variables(target: Submission, field: str, values: Values) -> None:
    """-V: the whole environment of the caller; earlier variables of -v stay (SO-39)."""
    environment = target.request.get("environment", {})
    for variable, value in target.environment.items():
        if variable not in environment and not _unreadable(value) and not _unreadable(variable):
            _export(target, variable, value)


def display(target: Submission, field: str, values: Values) -> None:
    """-display: the value of DISPLAY in the job (SO-10)."""
    _export(target, "DISPLAY", values[0])


def _export(target: Submission, variable: str, value: str) -> None:
    if _unreadable(value) or _unreadable(variable):
        raise InvalidValueError(f"the value of {variable!a} is not text in UTF-8")
    environment = target.request.setdefault("environment", {})
    if variable not in environment:
        target.collection("environment_names").append(variable)
    environment[variable] = value


def _unreadable(value: str) -> bool:
    """Whether a text contains bytes that are not UTF-8, as surrogates."""
    return not value.isascii() and any("\ud800" <= code <= "\udfff" for code in value)


def context(target: Submission, field: str, values: Values) -> None:
    """-ac, -dc, -sc, in the order in which they appear (SO-2); `field` is the verb.

    For qsub the result is the field `context`. For qalter, which does not know the present context, the field
    `context_changes` is a list of [verb, variable, value].
    """
    pairs = [item.partition("=")[::2] for item in split_list(values[0])]
    if not all(variable for variable, _ in pairs):
        raise InvalidValueError(f'"{values[0]}" is not a list of variable[=value]')
    if target.command == "qalter":
        changes = target.collection("context_changes")
        if field == "sc":
            changes.append(["sc", "", ""])
        changes.extend(["dc" if field == "dc" else "ac", variable, value] for variable, value in pairs)
        return
    kept: dict[str, str] = target.request.setdefault("context", {})
    if field == "sc":
        kept.clear()
    for variable, value in pairs:
        if field == "dc":
            kept.pop(variable, None)
        else:
            kept[variable] = value


def mail_options(target: Submission, field: str, values: Values) -> None:
    """-m: codes a b e s add up over all sources, n removes them (SO-19)."""
    codes = values[0].replace(",", "")
    if not codes or any(code not in MAIL_CODES for code in codes):
        raise InvalidValueError(f'wrong mail options list format "{values[0]}" specified to -m option')
    already = str(target.request.get(field, ""))
    target.request[field] = "" if "n" in codes else "".join(x for x in MAIL_ON if x in already or x in codes)


def parallel_environment(target: Submission, field: str, values: Values) -> None:
    """-pe name range (SO-28)."""
    if not values[0]:
        raise InvalidValueError("-pe: the name of a parallel environment must not be empty")
    if not values[1].isdecimal() or int(values[1]) == 0:
        from gridengine.values.ranges import parse_slot_ranges

        parse_slot_ranges(values[1])
    target.request["pe"], target.request["pe_range"] = values


def allocation(target: Submission, field: str, values: Values) -> None:
    """-alloc rule range: distribution of slots over hosts, with or without a PE (AR-126). The qmaster checks the rule."""
    from gridengine.values.ranges import parse_slot_ranges

    parse_slot_ranges(values[1])
    target.request[field], target.request["pe_range"] = values


def tasks(target: Submission, field: str, values: Values) -> None:
    """-t n[-m[:s]] (SO-36); `n:m` is read as `n-m`, as in 8.1.9. The qmaster checks limits."""
    value = values[0]
    if ":" in value and "-" not in value:
        value = value.replace(":", "-", 1)
    if value == "0":
        raise InvalidValueError("0 is an invalid task id")
    if not value.isdecimal():
        from gridengine.values.ranges import Ranges

        Ranges.parse(value)
    target.request[field] = value


def holds(target: Submission, field: str, values: Values) -> None:
    """-h: a user hold; with an argument (qalter, qhold, qrls, qresub) the holds with these codes of `u s o n U S O` (SO-13)."""
    codes = values[0].replace(",", "") if values else "u"
    if not codes or any(code not in "usonUSO" for code in codes):
        raise InvalidValueError(f'unknown hold list "{values[0]}" specified to -h option')
    target.request[field] = codes


def checkpoint_when(target: Submission, field: str, values: Values) -> None:
    """-c: codes n s m x r, or an interval (SO-7)."""
    value = values[0]
    if not value or any(code not in "nsmxr" for code in value):
        from gridengine.values.units import parse_time

        try:
            parse_time(value)
        except InvalidValueError:
            raise MalformedValueError(f'-c: "{value}" is neither letters of nsmxr nor an interval') from None
    target.request[field] = value


def validation(target: Submission, field: str, values: Values) -> None:
    """-w e|w|n|p|v (SO-41)."""
    if values[0] not in ("e", "w", "n", "p", "v"):
        raise InvalidValueError(f'invalid option argument "-w {values[0]}"')
    target.request[field] = values[0]


def binding(target: Submission, field: str, values: Values) -> None:
    """-binding [env|pe|set] linear[:n[:s,c]] | striding:n:step[:s,c] | explicit:s,c:... (SO-6)."""
    instance = values[0] if len(values) > 1 else "set"
    strategy, *parts = values[-1].split(":")
    socket_core = [all(x.isdecimal() for x in part.split(",")) and part.count(",") == 1 for part in parts]
    amount = [part.isdecimal() and int(part) > 0 or part in ("", "slots") for part in parts]
    if not (
        (strategy == "linear" and all(amount[:1]) and len(parts) in (0, 1, 2) and all(socket_core[1:]))
        or (strategy == "striding" and len(parts) in (2, 3) and all(amount[:2]) and all(socket_core[2:]))
        or (strategy == "explicit" and parts and all(socket_core) and len(set(parts)) == len(parts))
    ):
        raise MalformedValueError(f'-binding: "{values[-1]}" is no binding strategy')
    target.request[field] = f"{instance} {values[-1]}"


def working_directory(target: Submission, field: str, values: Values) -> None:
    """-cwd, -wd dir: the directory, made absolute by the directory of the caller (SO-8)."""
    path = values[0] if values else target.cwd
    target.request[field] = path if path[:1] == "/" or not path else f"{target.cwd}/{path}"


def names_of_users(target: Submission, field: str, values: Values) -> None:
    """-u of qalter: jobs of these users."""
    target.settings[field] = split_list(values[0])
