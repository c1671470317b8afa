"""The shepherd's configuration of a slave task, where it differs from the configuration of its job: the command, and the streams.

Pure. Called by `task_config`. Source: sge_submit(1) qrsh -inherit, sge_pe(5) control_slaves; statements TI-2, RL-8, QC-28.
"""

from __future__ import annotations

from dataclasses import replace

from daemons.execd.environment import Account
from gridengine.protocols.delivery import Start
from gridengine.protocols.task_file import Methods, TaskConfig
from gridengine.state.slaves import SlaveTask

_NO_FILE = "/dev/null"


def slave_config(config: TaskConfig, start: Start, slave: SlaveTask, account: Account) -> TaskConfig:
    """`config` for a slave task of its job. Its streams connect to its client, and the task ends with its client.

    Methods run on the host of the job's master alone (QC-28): a slave task is stopped, continued and ended by signals.
    """
    return replace(
        config,
        **vars(Methods()),
        stdin=_NO_FILE,
        stdout=_NO_FILE,
        stderr=_NO_FILE,
        pe_stdout=_NO_FILE,
        pe_stderr=_NO_FILE,
        merge=False,
        slave=slave.number,
        cwd=slave.cwd or start.job.cwd or account.home,
        session="pipes",
        login=True,
        no_shell=slave.no_shell,
        command=slave.command or None,
        args=list(slave.args),
        script=None,
        login_shell=account.shell or "/bin/sh",
        forbid_reschedule=True,
        forbid_apperror=True,
    )
