"""The parameters by which a verifier sees and changes a job, and their way to and from a `submit` request.

Owns the names and the form of the values. A request is the plain dict that `submit` sends. Called by
`gridengine.jsv.conversation`. Source: sge_jsv(1), sge_submit(1) (each option names its parameter); JV-3; O for order and form.
"""

from gridengine.errors import InvalidValueError
from gridengine.jsv.bindings import BINDING, binding_parameters, binding_text
from gridengine.values.field_names import FIELD_NAMES
from gridengine.values.ranges import format_slot_ranges, parse_slot_ranges

TYPE_CHECKING = False  # as typing has it: clients pay for every import
if TYPE_CHECKING:
    from typing import Any

    Request = dict[str, Any]

PROTOCOL_VERSION = "1.0"
#: parameters that a verifier may read but not change
FIXED = frozenset(("VERSION", "CONTEXT", "CLIENT", "USER", "GROUP", "JOB_ID"))


def _fields_of_form(form: str) -> dict[str, str]:
    return {field.parameter: field.name for field in FIELD_NAMES if field.form == form}


#: parameter -> field of the request, by the form of the value
TEXTS, NUMBERS, LISTS = _fields_of_form("text"), _fields_of_form("number"), _fields_of_form("list")
SWITCHES, PATHS, DATES = _fields_of_form("switch"), _fields_of_form("paths"), _fields_of_form("date")
_PE, _TASKS, _CHECKPOINT = ("pe_name", "pe_min", "pe_max"), ("t_min", "t_max", "t_step"), ("c_occasion", "c_interval")
_ORDER = (
    "a ac ar A b c_interval c_occasion ckpt cwd dl e hold_jid hold_jid_ad hold_jid_ok hold_jid_fail h i j js l_hard l_soft m M "
    f"masterq notify now N o p {BINDING} P pe_name pe_min pe_max q_hard q_soft R r shell S t_min t_max t_step tc w"
).split()
_ORDER += sorted(field.parameter for field in FIELD_NAMES if field.form and field.parameter not in _ORDER)

#: parameter -> (field, its empty value), for parameters that are read like an option; and their options
_EMPTY_VALUES: "dict[str, tuple[str, Any]]" = {
    **{name: (field, "") for name, field in TEXTS.items()},
    **{name: (field, 0) for name, field in NUMBERS.items()},
    **{name: (field, []) for name, field in (LISTS | PATHS).items()},
    **{name: (field, 0.0) for name, field in DATES.items()},
    **dict.fromkeys(_CHECKPOINT, ("checkpoint_when", "")),
    "w": ("verify", "n"), "A": ("account", "sge"), "ac": ("context", {}), "h": ("holds", ""),
}
_FLAGS = {"l_hard": "-l", "l_soft": "-l", "q_hard": "-q", "q_soft": "-q", **dict.fromkeys(_CHECKPOINT, "-c")}


def parameters(request: "Request") -> list[tuple[str, str]]:
    """The given parameters of a job, in the order in which verifiers get them."""
    found: dict[str, str] = {}
    for table, formatter in _FORMATTERS:
        for name, field in table.items():
            value = request.get(field)
            if value:
                found[name] = formatter(value)
    if request.get("verify", "n") == "n":
        found.pop("w", None)
    origin = request.get("environment", {})
    if "M" not in found and "SGE_O_LOGNAME" in origin:
        found["M"] = f"{origin['SGE_O_LOGNAME']}@{origin.get('SGE_O_HOST', '')}"
    found.setdefault("N", _name(request))
    if request.get("context"):
        found["ac"] = ",".join(f"{name}={value}" if value else name for name, value in request["context"].items())
    if request.get("holds"):
        found["h"] = request["holds"]
    if request.get("no_shell"):
        found["shell"] = "n"
    if when := request.get("checkpoint_when"):
        found["c_occasion" if all(occasion in "nsmxr" for occasion in when) else "c_interval"] = when
    found |= _parallel(request) | _array(request) | binding_parameters(request.get("binding", ""))
    command = [("CMDNAME", request.get("script_file", "")), ("CMDARGS", str(len(request.get("args", ()))))]
    command += [(f"CMDARG{number}", argument) for number, argument in enumerate(request.get("args", ()))]
    return command + [(name, found[name]) for name in _ORDER if name in found]


def _name(request: "Request") -> str:
    return request.get("name") or request.get("script_file", "").rpartition("/")[2] or "STDIN"


def _parallel(request: "Request") -> dict[str, str]:
    if not request.get("pe"):
        return {}
    pairs = parse_slot_ranges(request["pe_range"])
    return dict(zip(_PE, (request["pe"], str(pairs[0][0]), str(pairs[-1][1])), strict=True))


def _array(request: "Request") -> dict[str, str]:
    if not request.get("tasks"):
        return {}
    span, _, step = request["tasks"].partition(":")
    first, _, last = span.partition("-")
    return dict(zip(_TASKS, (first, last or first, step or "1"), strict=True))


def _date(seconds: float) -> str:
    from datetime import datetime

    return f"{datetime.fromtimestamp(seconds):%Y%m%d%H%M.%S}"


def _paths(pairs: "list[list[str]]") -> str:
    return ",".join(f"{host}:{path}" if host else path for host, path in pairs)


_FORMATTERS: "tuple[tuple[dict[str, str], Any], ...]" = (
    (TEXTS, str),
    (NUMBERS, str),
    (LISTS, ",".join),
    (SWITCHES, lambda on: "y"),
    (PATHS, _paths),
    (DATES, _date),
)


def corrected(request: "Request", corrections: dict[str, str]) -> "Request":
    """The request with changed parameters; the value "" removes a parameter. Raises InvalidValueError with the parameter."""
    fresh = dict(request)
    for name, value in corrections.items():
        try:
            _correct(fresh, name, value)
        except (ValueError, KeyError) as error:
            raise InvalidValueError(f'the verifier set parameter {name} to "{value}": {error}') from None
    _correct_groups(fresh, corrections)
    return fresh


def _correct(request: "Request", name: str, value: str) -> None:
    if name in FIXED:
        raise InvalidValueError("it cannot be changed")
    if name == "CMDNAME":
        if not request.get("binary"):
            raise InvalidValueError("the command of a script job cannot be changed")
        request["name"] = _name(request)
        request["script_file"] = value
    elif name == "display":
        request["environment"] = {**request.get("environment", {}), "DISPLAY": value}
        request["environment_names"] = [*dict.fromkeys((*request.get("environment_names", ()), "DISPLAY"))]
    elif name in SWITCHES:
        request[SWITCHES[name]] = None if name == "r" and not value else _switch(value or "n")
    elif name == "shell":
        request["no_shell"] = not _switch(value or "y")
    elif name in _EMPTY_VALUES and (not value or value == "n" and name == "h"):
        field, empty_value = _EMPTY_VALUES[name]
        request[field] = empty_value
    elif name in _EMPTY_VALUES:
        _as_option(request, name, value)
    elif name[:6] != "CMDARG" and name not in _ORDER:
        raise InvalidValueError("there is no such parameter")


def _as_option(request: "Request", name: str, value: str) -> None:
    """Read the value like the option that the parameter belongs to. Raises InvalidValueError."""
    if name in ("cwd", "ckpt", "P", "comment"):
        request[TEXTS[name]] = value
        return
    from gridengine.options.submit import SUBMIT_OPTIONS
    from gridengine.options.submit_folds import Submission

    flag = _FLAGS.get(name, f"-{name}")
    option = next(option for option in SUBMIT_OPTIONS if flag in option.names)
    target = Submission("qsub", {}, "/", 0.0)
    target.soft = name.endswith("_soft")
    option.fold(target, option.field, [value])
    request.update(target.request)


def _switch(value: str) -> bool:
    if value not in ("y", "yes", "n", "no"):
        raise InvalidValueError("y or n is expected")
    return value[0] == "y"


def _correct_groups(request: "Request", corrections: dict[str, str]) -> None:
    """Apply parameters that depend on each other: slots, tasks, binding, arguments."""
    if not corrections.keys().isdisjoint(_PE):
        merged = _parallel(request) | corrections
        request["pe"] = merged.get("pe_name", "")
        low, high = (int(merged.get(name) or 1) for name in ("pe_min", "pe_max"))
        request["pe_range"] = format_slot_ranges([(low, max(low, high))]) if request["pe"] else ""
    if not corrections.keys().isdisjoint(_TASKS):
        merged = _array(request) | corrections
        first, last, step = (merged.get(name, "") for name in _TASKS)
        request["tasks"] = f"{first}-{last or first}:{step or 1}" if first else ""
    if any(name.startswith("binding_") for name in corrections):
        request["binding"] = binding_text(binding_parameters(request.get("binding", "")) | corrections)
    if any(name.startswith("CMDARG") for name in corrections):
        arguments = dict(enumerate(request.get("args", ())))
        arguments |= {int(name[6:]): value for name, value in corrections.items() if name[6:].isdecimal()}
        count = int(corrections.get("CMDARGS") or max([*arguments, -1]) + 1)
        request["args"] = [arguments.get(number, "") for number in range(count)]
