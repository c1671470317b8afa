"""The shepherd's configuration of an interactive job: its connection with the client, and the command.

Pure. Called by `task_config`. Source: sge_submit(1) qrsh, qlogin, qsh, -pty; sge_conf(5) xterm; remote_startup(5).
"""

from __future__ import annotations

from dataclasses import replace

from daemons.execd.environment import Account
from gridengine.protocols.delivery import Start
from gridengine.protocols.task_file import TaskConfig
from gridengine.state.configured.configuration import HostConfiguration

_NO_FILE = "/dev/null"
#: attributes of sge_conf(5) with the daemon that authenticates the client (IA-5)
_DAEMONS = {"qrsh": "rsh_daemon", "qrlogin": "rlogin_daemon", "qlogin": "qlogin_daemon"}
_BUILTIN = "builtin"


def interactive_config(config: TaskConfig, start: Start, configuration: HostConfiguration, account: Account) -> TaskConfig:
    """`config` of a batch job, changed to the configuration of an interactive job."""
    job = start.job
    stderr = config.stderr if job.stderr else _NO_FILE  # the job has none of its own; the file of -e is for its methods
    config = replace(config, stdin=_NO_FILE, stdout=_NO_FILE, stderr=stderr, pe_stdout=_NO_FILE, pe_stderr=_NO_FILE)
    if job.kind == "qsh":
        return _xterm(config, start, configuration)
    daemon: str = getattr(configuration, _DAEMONS[job.kind])
    builtin = daemon.lower() == _BUILTIN
    config = replace(
        config,
        remote_daemon=None if builtin else daemon,
        session="pty" if _wants_terminal(start) and builtin else "pipes",
        session_grace_s=configuration.execd_params.session_grace_s,
    )
    if job.kind == "qrsh" and not job.binary:
        return config
    return replace(
        config,
        login=True,
        command=job.script_file if job.kind == "qrsh" else None,
        login_shell=account.shell or "/bin/sh",
        wrapper=start.environment.get("QRSH_WRAPPER"),
    )


def _wants_terminal(start: Start) -> bool:
    """-pty; without it a login has a terminal and a command has none (SO-29)."""
    return start.job.kind != "qrsh" if start.job.pty is None else start.job.pty


def _xterm(config: TaskConfig, start: Start, configuration: HostConfiguration) -> TaskConfig:
    """A terminal window on the user's display, which runs their shell (IA-3)."""
    job = start.job
    title = f"SGE Interactive Job {job.id} on {start.granted[0].host} in Queue {start.granted[0].queue}"
    return replace(
        config,
        binary=True,
        no_shell=True,
        command=configuration.xterm,
        args=["-n", title, "-T", title, *job.args],
        starter_method=None,
    )
