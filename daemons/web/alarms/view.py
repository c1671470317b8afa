"""The input of the alarm rules: the mirrored state, facts of this host, and the thresholds.

Owns these structures. Pure; `daemons.web.alarms.watch` and `facts` fill them. Source: adr/0280.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from daemons.web.job_rows import JobRow
from daemons.web.metric_families import SpoolFigures
from daemons.web.quota_uses import QuotaUse
from gridengine.state.state import State
from gridengine.thresholds import BACKUP_AGE_S, CERTIFICATE_LEFT_S


class Certificate(NamedTuple):
    """A certificate that the cell needs. `kind`: of its owner; `name`: of a host, else the path of the file; `end`: epoch s."""

    kind: Literal["authority", "master", "host", "web"]
    name: str
    end: float


class LocalFault(NamedTuple):
    """A failure: when it occurred (`time`, epoch s), and its `text` for people."""

    time: float
    text: str


class LocalFacts(NamedTuple):
    """Facts that only the host of the web server knows. None and empty values: not known here, or not in use.

    `spool`: the disk of the qmaster's spool; `newest_backup`: time of the last daily backup, of a new cell the creation time
    (epoch s); `certificates`: that can be read here; `shadows`: master candidates that are not in sync; `unsent_mail`: the last
    message that a mailer refused; `missing_mailer`: path of the configured mailer if there is no such program.
    """

    spool: SpoolFigures | None = None
    newest_backup: float | None = None
    certificates: Sequence[Certificate] = ()
    shadows: Sequence[str] = ()
    unsent_mail: LocalFault | None = None
    missing_mailer: str = ""


class LoadAlarm(NamedTuple):
    """A queue `instance` in state a: a load value (`name`) has reached its `threshold`. `value`: "" if the host does not report
    the value."""

    instance: str
    name: str
    value: str
    threshold: str


class AlarmView(NamedTuple):
    """`state`: of the mirror; `state_time`: its time, epoch s; `ready`: the mirror has a state; `mirror_age_s`: seconds since the
    qmaster was heard, 0 while it is.

    `errors`, `waiting`: rows of jobs in error, and of jobs that wait; `limits`: all limits of quotas with their usage; `loads`:
    load alarms; `local`: facts of this host; `webhook`: the present failure of the webhook.
    """

    state: State
    state_time: float
    ready: bool = True
    mirror_age_s: float = 0.0
    errors: Sequence[JobRow] = ()
    waiting: Sequence[JobRow] = ()
    limits: Sequence[QuotaUse] = ()
    loads: Sequence[LoadAlarm] = ()
    local: LocalFacts = LocalFacts()
    webhook: LocalFault | None = None


class Thresholds(NamedTuple):
    """Values from which a condition counts (docs/web.md, Alarms). Times: seconds; `quota_part`: used fraction of a limit;
    `spool_free`: bytes.

    `host_away_s`, `mirror_age_s`: without a report; `job_pending_s`: of waiting; `certificate_left_s`: until its end;
    `backup_age_s`: since the newest daily backup; `mail_failed_s`: for which an unsent message counts. `off`: rules that are not
    in use.
    """

    host_away_s: float = 60.0
    job_pending_s: float = 86_400.0
    quota_part: float = 1.0
    spool_free: float = float(2**30)
    certificate_left_s: float = CERTIFICATE_LEFT_S
    backup_age_s: float = BACKUP_AGE_S
    mirror_age_s: float = 60.0
    mail_failed_s: float = 3600.0
    off: frozenset[str] = frozenset()
