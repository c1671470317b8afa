"""What the shepherd is told of an interactive job: how it is connected with its client, and what is run.

Pure. Called by `task_config`. Source: sge_submit(1) qrsh, qlogin, qsh, -pty; sge_conf(5) xterm; remote_startup(5).
"""

from __future__ import annotations

from daemons.execd.environment import Account
from gridengine.delivery import Start
from gridengine.state.configured.configuration import HostConfiguration

#: seconds that a job without a client goes on, unless execd_params SESSION_GRACE says otherwise
_GRACE_S = 60.0
_NO_FILE = "/dev/null"
#: attributes of sge_conf(5) that say what lets the client in (IA-5)
_DAEMONS = {"qrsh": "rsh_daemon", "qrlogin": "rlogin_daemon", "qlogin": "qlogin_daemon"}
_BUILTIN = "builtin"
Value = str | int | float | bool | None | list[str]


def interactive_config(start: Start, configuration: HostConfiguration, account: Account) -> dict[str, Value]:
    """Keys of `config` that an interactive job has besides, or other than, a batch job."""
    job = start.job
    result: dict[str, Value] = dict.fromkeys(("stdin", "stdout", "pe_stdout", "pe_stderr"), _NO_FILE)
    if not job.stderr:
        result["stderr"] = _NO_FILE  # the methods' alone; what -e names is theirs
    if job.kind == "qsh":
        return result | _xterm(start, configuration)
    daemon: str = getattr(configuration, _DAEMONS[job.kind])
    if daemon.lower() != _BUILTIN:
        result["remote_daemon"] = daemon
    result["session"] = "pty" if _wants_terminal(start) and daemon.lower() == _BUILTIN else "pipes"
    result["session_grace_s"] = configuration.execd_params.session_grace_s
    if job.kind != "qrsh" or job.binary:
        result |= {
            "login": True,
            "command": job.script_file if job.kind == "qrsh" else None,
            "login_shell": account.shell or "/bin/sh",
            "wrapper": start.environment.get("QRSH_WRAPPER"),
        }
    return result


def _wants_terminal(start: Start) -> bool:
    """-pty; without it a login has a terminal and a command has none (SO-29)."""
    return start.job.kind != "qrsh" if start.job.pty is None else start.job.pty


def _xterm(start: Start, configuration: HostConfiguration) -> dict[str, Value]:
    """A terminal window that asks the user's display; what it runs is his shell (IA-3)."""
    job = start.job
    program = configuration.xterm
    title = f"SGE Interactive Job {job.id} on {start.granted[0].host} in Queue {start.granted[0].queue}"
    return {
        "binary": True,
        "no_shell": True,
        "command": program,
        "args": ["-n", title, "-T", title, *job.args],
        "starter_method": None,
    }
