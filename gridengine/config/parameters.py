"""The `KEY=value` parameters inside of qmaster_params, execd_params and reporting_params.

Owns the known keys with their default texts, and the parser of such a list.
Called by the configuration's model and by `gridengine.state.configured`.
Source: sge_conf(5); GC-3 (unknown keys are kept, with a warning), RP-2.
"""

from collections.abc import Container

from gridengine.errors import InvalidValueError
from gridengine.syntax.lists import is_none

_OFF = "FALSE"
#: key -> its default text, also of keys that no code reads
QMASTER_PARAMETERS = dict.fromkeys(
    "ENABLE_ENFORCE_MASTER_LIMIT ENABLE_FORCED_QDEL_IF_UNKNOWN ENABLE_FORCED_QDEL FORBID_RESCHEDULE FORBID_APPERROR "
    "DISABLE_AUTO_RESCHEDULING ENABLE_RESCHEDULE_KILL ENABLE_RESCHEDULE_SLAVE MAX_DYN_EC MONITOR_TIME "
    "LOG_MONITOR_MESSAGE PROF_SIGNAL PROF_WORKER PROF_LISTENER PROF_DELIVER PROF_TEVENT PROF_SCHEDULER "
    "STREE_SPOOL_INTERVAL MAX_JOB_DELETION_TIME "
    "GDI_TIMEOUT GDI_RETRIES CL_PING SCHEDULER_TIMEOUT JSV_TIMEOUT JSV_THRESHOLD "
    "OLD_RESCHEDULE_BEHAVIOR OLD_RESCHEDULE_BEHAVIOR_ARRAY_JOB SIMULATE_EXECDS NO_AUTHENTICATION NO_SECURITY "
    "KEEP_STORY ENABLE_MTRACE __TEST_SLEEP_AFTER_REQUEST PRINT_MALLOC_INFO".split(),
    _OFF,
) | {"MAX_DYN_EC": "1000", "JSV_TIMEOUT": "10", "JSV_THRESHOLD": "5000", "KEEP_STORY": "720:0:0", "MONITOR_TIME": "0"}
EXECD_PARAMETERS = dict.fromkeys(
    "ACCT_RESERVED_USAGE ENABLE_WINDOMACC IGNORE_NGROUPS_MAX_LIMIT KEEP_ACTIVE PTF_MIN_PRIORITY PTF_MAX_PRIORITY "
    "PROF_EXECD NOTIFY_KILL NOTIFY_SUSP SHARETREE_RESERVED_USAGE USE_QSUB_GID S_DESCRIPTORS H_DESCRIPTORS S_MAXPROC "
    "H_MAXPROC S_MEMORYLOCKED H_MEMORYLOCKED S_LOCKS H_LOCKS INHERIT_ENV SET_LIB_PATH ENABLE_ADDGRP_KILL PDC_INTERVAL "
    "ENABLE_BINDING SIMULATE_JOBS NO_AUTHENTICATION DO_AUTHENTICATION NO_SECURITY USE_SYSLOG USE_QIDLE USE_CGROUPS "
    "USE_SMAPS PRINT_MALLOC_INFO DEMAND_LS SESSION_GRACE METHOD_TIMEOUT ENABLE_CGROUPS CPU_BY_SLOTS IO_BY_SLOTS "
    "CORES_PER_SLOT REQUIRE_CLOSED_DEVICES".split(),
    _OFF,
) | {
    "CORES_PER_SLOT": "0",
    "ENABLE_BINDING": "TRUE",
    "GPU_INTERVAL": "10",
    "GPU_JOB_FILES": "NONE",
    "METHOD_TIMEOUT": "1:0:0",
    "PDC_INTERVAL": "1",
    "PTF_MIN_PRIORITY": "19",
    "PTF_MAX_PRIORITY": "0",
    "SESSION_GRACE": "60",
}
#: flush times have no effect: each record is in its file at once (adr/0125)
REPORTING_TIMES = {"FLUSH_TIME": "0:0:15", "ACCOUNTING_FLUSH_TIME": "0:0:15", "SHARELOG": "0"}
REPORTING_PARAMETERS = {"ACCOUNTING": "TRUE"} | dict.fromkeys("REPORTING JOBLOG LOG_CONSUMABLES".split(), _OFF) | REPORTING_TIMES
KNOWN_PARAMETERS = {
    "qmaster_params": QMASTER_PARAMETERS,
    "execd_params": EXECD_PARAMETERS,
    "reporting_params": REPORTING_PARAMETERS,
}


def parse_parameters(text: str) -> dict[str, str]:
    """The values by upper-case key; a key without `=value` is TRUE. Elements are divided by commas or blanks."""
    if is_none(text):
        return {}
    parameters: dict[str, str] = {}
    for element in text.replace(",", " ").split():
        key, equal, value = element.partition("=")
        if not key or (equal and not value):
            raise InvalidValueError(f'"{element}" is not of the form KEY=value')
        parameters[key.upper()] = value if equal else "TRUE"
    return parameters


def check_parameters(text: str) -> str:
    """The text itself, `none` for nothing. Unknown keys are kept: `unknown_parameters` names them."""
    return text.strip() if parse_parameters(text) else "none"


def unknown_parameters(text: str, known: Container[str]) -> list[str]:
    """The unknown keys, as they were written, for a warning (GC-3)."""
    if is_none(text):
        return []
    keys = dict.fromkeys(element.partition("=")[0] for element in text.replace(",", " ").split())
    return [key for key in keys if key.upper() not in known]
