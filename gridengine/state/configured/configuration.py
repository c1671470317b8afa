"""sge_conf(5) in force on a host, or in the cluster, typed; including the contents of its `…_params`.

Owns its parsing, for the qmaster and the execution hosts, which get it as texts. An invalid parameter inside of `…_params`
counts as not given. Read as `State.configuration(host)`. Source: sge_conf(5); GC-1..4, EX-2..16, RL-9..11, US-5..7.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from typing import Self, TypeVar

from msgspec import Struct
from msgspec.structs import fields

from gridengine.config.parameters import KNOWN_PARAMETERS, parse_parameters
from gridengine.errors import InvalidValueError
from gridengine.state.configured.typed import typed
from gridengine.syntax.lists import is_none, none_as_null
from gridengine.values.units import INFINITY, parse_bool, parse_memory, parse_time

T = TypeVar("T")
_RESOURCES = ("descriptors", "maxproc", "memorylocked", "locks")
_CACHE_SIZE = 64
"""Size of the cache of parsed texts: most hosts have the same, and a qmaster parses them at each start and change."""
_PREDEFINED_NICE = -999
"""Stands for the predefined value of PTF_MIN_PRIORITY and PTF_MAX_PRIORITY."""


@cache
def _flags(parameters: type[Struct]) -> list[str]:
    """The names of the boolean parameters."""
    return [field.name for field in fields(parameters) if field.type is bool]


class QmasterParameters(Struct, frozen=True):
    """qmaster_params, by their names in lower case. Deviation: KEEP_STORY is ours."""

    disable_auto_rescheduling: bool
    enable_enforce_master_limit: bool
    enable_forced_qdel: bool
    enable_forced_qdel_if_unknown: bool
    enable_reschedule_kill: bool
    enable_reschedule_slave: bool
    forbid_apperror: bool
    forbid_reschedule: bool
    old_reschedule_behavior: bool
    old_reschedule_behavior_array_job: bool
    #: maximum number of event clients
    max_dyn_ec: int
    #: seconds
    jsv_timeout: float
    #: milliseconds
    jsv_threshold: float
    #: how long the history of an ended job is kept, INFINITY: forever
    keep_story_s: float
    #: between two lines of statistics, 0 for none
    monitor_time_s: float

    @classmethod
    @lru_cache(maxsize=_CACHE_SIZE)
    def of(cls, text: str) -> Self:
        """Read the elements of a text."""
        given = _GivenParameters("qmaster_params", text)
        flags = {name: given.read(name, parse_bool) for name in _flags(cls)}
        return cls(
            **flags,
            max_dyn_ec=given.read("max_dyn_ec", _count),
            jsv_timeout=given.read("jsv_timeout", lambda text: _decimal(text, above_zero=True)),
            jsv_threshold=given.read("jsv_threshold", _decimal),
            keep_story_s=float(given.read("keep_story", parse_time)),
            monitor_time_s=float(given.read("monitor_time", parse_time)),
        )


class ExecdParameters(Struct, frozen=True):
    """execd_params, by their names in lower case.

    Deviation: METHOD_TIMEOUT is ours; a job's owner can stop processes that run as the owner, and with it hold slots. So are
    ENABLE_CGROUPS, in whose place USE_CGROUPS counts where it is not given, CPU_BY_SLOTS, IO_BY_SLOTS, CORES_PER_SLOT,
    REQUIRE_CLOSED_DEVICES, GPU_INTERVAL and GPU_JOB_FILES.
    """

    acct_reserved_usage: bool
    cpu_by_slots: bool
    enable_binding: bool
    enable_cgroups: bool
    io_by_slots: bool
    keep_active: bool
    #: no task starts where the kernel does not close the device files of others
    require_closed_devices: bool
    set_lib_path: bool
    sharetree_reserved_usage: bool
    use_qidle: bool
    use_qsub_gid: bool
    #: of jobs without a binding of their own, 0 for no binding
    cores_per_slot: int
    #: None if it is not given
    inherit_env: bool | None
    #: between two readings of the devices of jobs; None for NEVER, 0 for PER_LOAD_REPORT
    gpu_interval_s: float | None
    #: directory of a file for each GPU with its jobs, None for none
    gpu_job_files: str | None
    #: `s_…` and `h_…` of descriptors, maxproc, memorylocked and locks as far as they are given, INFINITY for none
    limits: dict[str, float]
    #: None for NEVER, 0 for PER_LOAD_REPORT
    pdc_interval_s: float | None
    #: None for any time
    method_timeout_s: float | None
    session_grace_s: float
    #: a signal or command as text, None if not given
    notify_kill: str | None
    #: as `notify_kill`
    notify_susp: str | None
    #: a nice value
    ptf_min_priority: int
    #: a nice value
    ptf_max_priority: int

    @classmethod
    @lru_cache(maxsize=_CACHE_SIZE)
    def of(cls, text: str) -> Self:
        """Read the elements of a text."""
        given = _GivenParameters("execd_params", text)
        flags = {name: given.read(name, parse_bool) for name in _flags(cls)}
        if given.optional("enable_cgroups", parse_bool) is None:
            flags["enable_cgroups"] = given.read("use_cgroups", parse_bool)
        limits = {name: given.optional(name, parse_memory) for kind in _RESOURCES for name in (f"s_{kind}", f"h_{kind}")}
        method_timeout_s = float(given.read("method_timeout", parse_time))
        return cls(
            **flags,
            cores_per_slot=given.read("cores_per_slot", _count),
            inherit_env=given.optional("inherit_env", _is_true),
            gpu_interval_s=given.read("gpu_interval", _interval),
            gpu_job_files=given.read("gpu_job_files", _directory),
            limits={name: limit for name, limit in limits.items() if limit is not None},
            pdc_interval_s=given.read("pdc_interval", _interval),
            method_timeout_s=None if method_timeout_s == INFINITY else method_timeout_s,
            session_grace_s=given.read("session_grace", _finite_time),
            notify_kill=given.optional("notify_kill", str),
            notify_susp=given.optional("notify_susp", str),
            ptf_min_priority=given.read("ptf_min_priority", _nice),
            ptf_max_priority=given.read("ptf_max_priority", _nice),
        )


class ReportingParameters(Struct, frozen=True):
    """reporting_params, by their names: whether the accounting file is written, whether the reporting file has records at all,
    among them records of job_log, and records of consumables that no host names in its report_variables (RP-2).
    `sharelog_s`: seconds between records of the share tree, 0 for none."""

    accounting: bool
    reporting: bool
    joblog: bool
    log_consumables: bool
    sharelog_s: float

    @classmethod
    @lru_cache(maxsize=_CACHE_SIZE)
    def of(cls, text: str) -> Self:
        """Read the elements of a text."""
        given = _GivenParameters("reporting_params", text)
        flags = {name: given.read(name, parse_bool) for name in _flags(cls)}
        return cls(**flags, sharelog_s=given.read("sharelog", _finite_time))


class HostConfiguration(Struct, frozen=True):
    """The parameters of sge_conf(5) by their names; `…_s`: seconds; commands and paths: None for none.

    Commands and daemons of interactive jobs (`qlogin_command` …): a command line or `builtin`.
    """

    mailer: str | None
    xterm: str
    load_sensor: tuple[str, ...]
    prolog: str | None
    epilog: str | None
    #: in lower case
    shell_start_mode: str | None
    login_shells: tuple[str, ...]
    min_uid: int
    min_gid: int
    user_lists: tuple[str, ...]
    xuser_lists: tuple[str, ...]
    projects: tuple[str, ...]
    xprojects: tuple[str, ...]
    enforce_project: bool
    #: enforce_user is true
    enforce_user: bool
    #: enforce_user is auto
    auto_users: bool
    #: 1 at least
    load_report_time_s: float
    max_unheard_s: float
    reschedule_unknown_s: float
    loglevel: str
    administrator_mail: tuple[str, ...]
    shepherd_cmd: str | None
    qmaster_params: QmasterParameters
    execd_params: ExecdParameters
    reporting_params: ReportingParameters
    finished_jobs: int
    gid_range: str | None
    qlogin_command: str
    qlogin_daemon: str
    rlogin_command: str
    rlogin_daemon: str
    rsh_command: str
    rsh_daemon: str
    max_aj_instances: int
    max_aj_tasks: int
    max_u_jobs: int
    max_jobs: int
    max_advance_reservations: int
    auto_user_oticket: int
    auto_user_fshare: int
    #: auto_user_default_project, "" for none
    default_project: str
    auto_user_delete_time_s: int
    delegated_file_staging: bool
    reprioritize: bool
    #: "" for none
    jsv_url: str
    jsv_allowed_mod: frozenset[str]

    @classmethod
    def of(cls, given: Mapping[str, str]) -> Self:
        """Read attribute texts; an attribute that is missing has its predefined value. Raises ValueError for no configuration."""
        text = {**_predefined(), **given}
        enforce_user = text["enforce_user"].lower()
        return typed(
            cls,
            text,
            load_report_time_s=max(1.0, float(parse_time(text["load_report_time"]))),
            enforce_user=enforce_user != "auto" and parse_bool(enforce_user),
            auto_users=enforce_user == "auto",
            auto_user_delete_time_s=int(text["auto_user_delete_time"]),
            default_project=none_as_null(text["auto_user_default_project"]) or "",
            shell_start_mode=none_as_null(text["shell_start_mode"].lower()),
            jsv_url=none_as_null(text["jsv_url"]) or "",
            qmaster_params=QmasterParameters.of(text["qmaster_params"]),
            execd_params=ExecdParameters.of(text["execd_params"]),
            reporting_params=ReportingParameters.of(text["reporting_params"]),
        )

    @property
    def pdc_interval_s(self) -> float | None:
        """Seconds between measurements of usage; None for NEVER. Source: sge_conf(5) PDC_INTERVAL."""
        return self.load_report_time_s if self.execd_params.pdc_interval_s == 0 else self.execd_params.pdc_interval_s


@cache
def _predefined() -> dict[str, str]:
    from gridengine.config.configuration import Configuration  # late: code that only decodes messages loads no model

    return {name: str(field.default) for name, field in Configuration.model_fields.items()}


class _GivenParameters:
    """The elements of one of the `…_params`. `read` and `optional` take names in lower case."""

    def __init__(self, attribute: str, text: str) -> None:
        self._predefined = KNOWN_PARAMETERS[attribute]
        try:
            self._given = parse_parameters(text)
        except InvalidValueError:
            self._given = {}

    def read(self, name: str, parse: Callable[[str], T]) -> T:
        """The given value, or the predefined value if there is none or it is invalid."""
        try:
            return parse(self._given[name.upper()])
        except (KeyError, ValueError):
            return parse(self._predefined[name.upper()])

    def optional(self, name: str, parse: Callable[[str], T]) -> T | None:
        """The given value, None if there is none or it is invalid."""
        try:
            return parse(self._given[name.upper()])
        except (KeyError, ValueError):
            return None


def _is_true(text: str) -> bool:
    try:
        return parse_bool(text)
    except InvalidValueError:
        return False


def _count(text: str) -> int:
    if not text.isdecimal():
        raise InvalidValueError(f'"{text}" is not a number')
    return int(text)


def _decimal(text: str, above_zero: bool = False) -> float:
    if not text.replace(".", "", 1).isdecimal() or above_zero and not float(text):
        raise InvalidValueError(f'"{text}" is not a number')
    return float(text)


def _finite_time(text: str) -> float:
    if (seconds := parse_time(text)) == INFINITY:
        raise InvalidValueError("INFINITY is not allowed here")
    return float(seconds)


def _interval(text: str) -> float | None:
    """PDC_INTERVAL: at least a second; NEVER; PER_LOAD_REPORT, which is 0."""
    keyword = text.upper()
    return None if keyword == "NEVER" else 0.0 if keyword == "PER_LOAD_REPORT" else max(1.0, _finite_time(text))


def _directory(text: str) -> str | None:
    if is_none(text):
        return None
    if not text.startswith("/"):
        raise InvalidValueError(f'"{text}" is not an absolute path')
    return text


def _nice(text: str) -> int:
    if (value := int(text)) == _PREDEFINED_NICE:
        raise InvalidValueError("the predefined value is asked for")
    return min(19, max(-20, value))
