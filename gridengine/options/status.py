"""Options of qstat, qhost and qselect. Source: qstat(1), qhost(1), qselect(1); statements ST, QH, QS.

Owns the rows, which fill the bodies of the reading request `status` (docs/gdi.md) and settings of the display.
"""

from gridengine.errors import InvalidValueError
from gridengine.options import fields as fold
from gridengine.options.option import Option

#: parts of the value of `-s`; longer codes first, since the value is read from the left
_JOB_STATES = ("hu", "ho", "hs", "hd", "hj", "ha", "h", "p", "r", "s", "z", "a")
_HOLDS = ["hu", "ho", "hs", "hd", "hj", "ha"]


def job_states(target: fold.Target, field: str, values: fold.Values) -> None:
    """-s {p|r|s|z|hu|ho|hs|hd|hj|ha|h|a}[+] (ST-25): a list of single states, `h` and `a` written out.

    The last argument of the last option counts. Source: O.
    """
    kept: list[str] = []
    target[field] = kept
    rest = values[-1].removesuffix("+")
    if not rest:
        raise InvalidValueError(f'"{values[-1]}" is no job state')
    while rest:
        state = next((state for state in _JOB_STATES if rest.startswith(state)), None)
        if state is None:
            raise InvalidValueError(f'"{values[-1]}" is no job state')
        rest = rest[len(state) :]
        kept.extend(_HOLDS if state == "h" else ["p", "r", "s"] if state == "a" else [state])


def grouping(target: fold.Target, field: str, values: fold.Values) -> None:
    """-g {c|d|t}[+]: cluster queues, single array tasks, single parallel tasks; several may be given."""
    given = "".join(value.replace(",", "").removesuffix("+") for value in values)
    if not given or any(code not in "cdt" for code in given):
        raise InvalidValueError(f'invalid option argument "-g {" ".join(values)}"')
    target[field] = str(target.get(field, "")) + given


#: options that MORE_INFO in the environment adds (ST-35)
DEBUG_OPTIONS: tuple[Option, ...] = (
    Option("-dj", "", "qstat", fold.flag, "dump_jobs", "print the jobs as the qmaster answers them"),
    Option("-dq", "", "qstat", fold.flag, "dump_queues", "print the queue instances as the qmaster answers them"),
)

STATUS_OPTIONS: tuple[Option, ...] = (
    Option("-cb", "", "qstat qhost", fold.flag, "with_binding", "show core binding and topology (they are shown anyway)"),
    Option(
        "-explain", "a|A|c|d|E...", "qstat", fold.codes("aAcdE", "reason"), "explain",
        "reasons of these queue states (u needs none: the host is unreachable)",
    ),
    Option("-ext", "", "qstat", fold.flag, "ext", "show tickets, project, department and usage"),
    Option("-f", "", "qstat", fold.flag, "full", "show queue instances with their jobs"),
    Option("-F", "[resource_attributes...]", "qstat qhost", fold.optional_names, "resources", "show the resources that are left"),
    Option("-g", "c|d|t...", "qstat", grouping, "group", "cluster queues, single array tasks, single parallel tasks"),
    Option("-h", "host_list...", "qhost", fold.names, "hosts", "show these hosts only"),
    Option("-help --help", "", "qstat qhost qselect", fold.flag, "help", "print this help"),
    Option("-j", "[job_list...]", "qstat", fold.optional_names, "jobs", "show everything about jobs, or why jobs are pending"),
    Option("-j", "", "qhost", fold.flag, "jobs", "show the jobs at the hosts"),
    Option("-json", "", "qstat qhost qselect", fold.flag, "json", "print JSON"),
    Option("-l", "resource_list...", "qstat qhost qselect", fold.items, "requests", "queues or hosts with these resources"),
    Option("-ne", "", "qstat", fold.flag, "not_empty", "hide queue instances without jobs"),
    Option("-ncb", "", "qstat qhost", fold.flag, "no_binding", "hide core binding and topology"),
    Option("-pe", "pe_list...", "qstat qselect", fold.names, "pe", "queue instances with one of these environments"),
    Option("-pri", "", "qstat", fold.flag, "pri", "show the parts of the priority"),
    Option("-q", "wc_queue_list...", "qstat qselect", fold.names, "queues", "queue instances that match"),
    Option("-q", "", "qhost", fold.flag, "queues", "show the queue instances of the hosts"),
    Option("-qs", "states", "qstat qselect", fold.codes("acdosuACDES", "queue state"), "queue_states", "states of queues"),
    Option("-r", "", "qstat", fold.flag, "requested", "show what the jobs request"),
    Option("-s", "states...", "qstat", job_states, "states", "jobs in states of p r s z hu ho hs hd hj ha h a"),
    Option("-t", "", "qstat", fold.flag, "task_usage", "show the tasks of parallel jobs"),
    Option("-u", "user_list...", "qstat qhost", fold.names, "users", "jobs of these users, * for all"),
    Option("-U", "user_list...", "qstat qselect", fold.names, "access", "queue instances that these users may use"),
    Option("-urg", "", "qstat", fold.flag, "urg", "show the parts of the urgency"),
    Option("-when", "", "qstat", fold.flag, "when", "show the expected starts of pending jobs"),
    Option("-xml", "", "qstat qhost", fold.flag, "xml", "print XML"),
)
