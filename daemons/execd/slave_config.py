"""What the shepherd of a slave task is told besides, or other than, that of its job: what is run, and by whom it is heard.

Pure. Called by `task_config`. Source: sge_submit(1) qrsh -inherit, sge_pe(5) control_slaves; statements TI-2, RL-8, QC-28.
"""

from __future__ import annotations

from daemons.execd.environment import Account
from gridengine.delivery import Start
from gridengine.state.slaves import SlaveTask

_NO_FILE = "/dev/null"
#: What runs on the host of the job's master alone (QC-28): a slave task is stopped, continued and ended by signals.
_METHODS = ("prolog", "epilog", "pe_start", "pe_stop", "suspend_method", "resume_method", "terminate_method")
Value = str | int | float | bool | None | list[str] | dict[str, str]


def slave_config(start: Start, slave: SlaveTask, account: Account) -> dict[str, Value]:
    """Keys of `config`. Its streams are its client's; methods are the master's alone, and it ends with its client."""
    result: dict[str, Value] = dict.fromkeys(("stdin", "stdout", "stderr", "pe_stdout", "pe_stderr"), _NO_FILE)
    return {
        **result,
        **dict.fromkeys(_METHODS),
        "slave": slave.number,
        "cwd": slave.cwd or start.job.cwd or account.home,
        "merge": False,
        "session": "pipes",
        "login": True,
        "no_shell": slave.no_shell,
        "command": slave.command or None,
        "args": list(slave.args),
        "script": None,
        "login_shell": account.shell or "/bin/sh",
        "forbid_reschedule": True,
        "forbid_apperror": True,
    }
