"""The alarm rules: from a view of the cell to its alarms.

Owns each rule: condition, severity, cause and next step. Pure: no clock, no file, no connection. Delays and acknowledgements are
in `book`. Called by `watch`. Source: adr/0280; docs/web.md, Alarms.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Literal, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from daemons.web.alarms.view import AlarmView, Certificate, Thresholds
from daemons.web.job_rows import JobRow
from daemons.web.pages.formats import part
from daemons.web.pages.states import silent_hosts
from gridengine.state.jobs import Job
from gridengine.state.machines.closed_units import holders_of_unit
from gridengine.thresholds import LEAST_FREE_BYTES
from gridengine.values.printable import printable
from gridengine.values.units import counted

Severity = Literal["critical", "warning", "info"]
SEVERITIES: tuple[Severity, ...] = ("critical", "warning", "info")
"""The most severe first."""
MAX_SUBJECTS = 100
"""Maximum alarms of a rule; one more, `OTHERS`, stands for the rest."""
OTHERS = "(others)"
_URGENT_CERTIFICATE_S = 3 * 86_400.0


class Alarm(Struct, frozen=True):
    """A condition of `subject` that a person should look at. `rule`: a key of `RULES`; `severity`: its urgency; `since`: epoch s,
    0 for unknown.

    `cause`: a sentence; `step`: the next step, as a sentence; `command`: its command, "" for none; `address`: of the page of the
    subject, "" for none.
    """

    rule: str
    severity: Severity
    subject: str
    cause: str
    step: str
    command: str = ""
    address: str = ""
    since: float = 0.0


class AlarmRule(NamedTuple):
    """`title`: of the group of its alarms; `find(view, now, thresholds)`: the alarms; `needs_state`: for a rule that reads the
    mirror."""

    title: str
    find: Callable[[AlarmView, float, Thresholds], Iterable[Alarm]]
    needs_state: bool = True


def alarms(view: AlarmView, now: float, thresholds: Thresholds) -> list[Alarm]:
    """All alarms at the time `now` (epoch s) by the clock of this host, by rule, the longest first.

    Without a state, only the rules that need none.
    """
    found: list[Alarm] = []
    for name, rule in RULES.items():
        if name not in thresholds.off and (view.ready or not rule.needs_state):
            found += _limited(sorted(rule.find(view, now, thresholds), key=lambda each: (each.since, each.subject)))
    return found


def _limited(of_rule: list[Alarm]) -> list[Alarm]:
    """At most `MAX_SUBJECTS` alarms, and an alarm that stands for the rest."""
    shown, rest = of_rule[:MAX_SUBJECTS], of_rule[MAX_SUBJECTS:]
    if rest:
        worst = min((each.severity for each in rest), key=SEVERITIES.index)
        text = f"{counted(len(rest), 'more alarm')} of this rule."
        shown.append(replace(rest[0], severity=worst, subject=OTHERS, cause=text, command="", address=""))
    return shown


def _hosts_away(view: AlarmView, now: float, thresholds: Thresholds) -> Iterator[Alarm]:
    state = view.state
    for name in silent_hosts(state):
        host, tasks = state.hosts.get(name), len(state.tasks_on.get(name, ()))
        since = (host.lost_at or host.last_heard) if host is not None else 0.0
        if view.state_time - since < thresholds.host_away_s:
            continue
        cause = "The host sends no reports." if since else "The host has never sent a report."
        if tasks:
            cause += f" {counted(tasks, 'task')} ran there."
        severity: Severity = "critical" if tasks else "warning"
        if host is not None and host.drained is not None:
            severity, cause = "info", f"{cause} It is drained: {_sentence(host.drained.reason)}"
        step = "Check the host and its network, then start its daemon there."
        yield Alarm("host_away", severity, name, cause, step, "gridengine start", f"/hosts/{part(name)}", since)


def _queues_in_error(view: AlarmView, now: float, thresholds: Thresholds) -> Iterator[Alarm]:
    for name, instance in view.state.instances.items():
        if instance.errors:
            step = "Correct the cause on the host, then clear the error."
            cause, address = _sentence(instance.errors[0]), f"/instances/{part(name)}"
            yield Alarm("queue_error", "warning", name, cause, step, f"qmod -c {name}", address)


def _queues_ambiguous(view: AlarmView, now: float, thresholds: Thresholds) -> Iterator[Alarm]:
    for name, attributes in view.state.ambiguous.items():
        attribute, sources = attributes[0]
        cause = f"The attribute {attribute} is ambiguous: {', '.join(sources)} set different values."
        step = "Set the attribute for the host itself, or take the host out of a host group."
        yield Alarm("queue_ambiguous", "warning", name, cause, step, f"qstat -explain c -q {name}", f"/instances/{part(name)}")


def _queues_orphaned(view: AlarmView, now: float, thresholds: Thresholds) -> Iterator[Alarm]:
    for name, instance in view.state.instances.items():
        if instance.orphaned:
            cause = "The cluster queue no longer has this host; tasks and reservations there continue."
            step = "Wait for their end, or add the host to the cluster queue again."
            yield Alarm("queue_orphaned", "info", name, cause, step, f"qstat -f -q {name}", f"/instances/{part(name)}")


def _units_closed(view: AlarmView, now: float, thresholds: Thresholds) -> Iterator[Alarm]:
    state = view.state
    for name, host in state.hosts.items():
        for resource, units in host.closed_units.items():
            for unit, reason in units.items():
                holders = ", ".join(holders_of_unit(state, name, resource, unit))
                kept = f" It stays with job {holders}." if holders else ""
                cause = f"The unit is closed: {_sentence(reason)}{kept} No other job gets it."
                step = "Reset or replace the device. The unit opens with the healthy device; a new one needs --apply."
                subject = f"{resource}/{unit} of {name}"
                yield Alarm("unit_closed", "warning", subject, cause, step, f"gridengine devices {name}", f"/hosts/{part(name)}")


def _load_alarms(view: AlarmView, now: float, thresholds: Thresholds) -> Iterator[Alarm]:
    for each in view.loads:
        value = f"is {each.value}, at its threshold" if each.value else "is not reported, with the threshold"
        cause = f"{each.name} {value} {each.threshold}: no further task starts there."
        step = "Check the load of the host, or change load_thresholds of the queue."
        address = f"/instances/{part(each.instance)}"
        yield Alarm("load_alarm", "info", each.instance, cause, step, f"qstat -explain a -q {each.instance}", address)


def _jobs_in_error(view: AlarmView, now: float, thresholds: Thresholds) -> Iterator[Alarm]:
    for number in dict.fromkeys(row.id for row in view.errors):
        job = view.state.jobs.get(number)
        if job is not None:
            text = next((task.error for task in job.tasks.values() if task.error), job.error)
            cause = _sentence(text or "The job is in the error state") + f" {_job_label(job)}"
            step = "Correct the cause, then clear the error of the job."
            yield Alarm("job_error", "warning", f"job {number}", cause, step, f"qmod -cj {number}", f"/jobs/{number}")


def _jobs_pending(view: AlarmView, now: float, thresholds: Thresholds) -> Iterator[Alarm]:
    waiting: dict[int, JobRow] = {}
    for row in view.waiting:
        if view.state_time - row.time >= thresholds.job_pending_s:
            waiting.setdefault(row.id, row)
    for number, row in waiting.items():
        job = view.state.jobs.get(number)
        since = max(row.time, job.start_after) if job is not None else 0.0
        if job is None or view.state_time - since < thresholds.job_pending_s:
            continue
        cause = f"The job waits longer than usual. {_job_label(job)}"
        step = "See why it waits, and which smaller request would run."
        yield Alarm("job_pending", "warning", f"job {number}", cause, step, f"qexplain {number}", f"/jobs/{number}", since)


def _job_label(job: Job) -> str:
    return f"Job {printable(job.name)} of {job.owner}."


def _reservations(view: AlarmView, now: float, thresholds: Thresholds) -> Iterator[Alarm]:
    for number, each in view.state.reservations.items():
        if each.state in ("W", "E"):
            cause = _sentence(each.errors[0])
            if len(each.errors) > 1:
                cause += f" {counted(len(each.errors) - 1, 'more error')}."
            step = "Bring its hosts and queue instances back, or change the reservation."
            severity: Severity = "critical" if each.state == "E" else "warning"
            subject, command = f"reservation {number}", f"qralter -ar {number}"
            yield Alarm("reservation", severity, subject, cause, step, command, f"/reservations/{number}")


def _quotas_full(view: AlarmView, now: float, thresholds: Thresholds) -> Iterator[Alarm]:
    for use in view.limits:
        if use.part is None or use.part < thresholds.quota_part or use.used is None or not use.used.strip("0.:"):
            continue
        subject = f"{use.rule} {use.resource}" + (f" ({use.filters})" if use.filters else "")
        cause = f"{use.used} of {use.limit} are in use: jobs that need more have to wait."
        step = "Wait for jobs to end, or raise the limit."
        yield Alarm("quota_full", "info", subject, cause, step, f"qconf -mrqs {use.set_name}", "/quotas")


def _spool_disk(view: AlarmView, now: float, thresholds: Thresholds) -> Iterator[Alarm]:
    spool = view.local.spool
    if spool is not None and spool.free < max(thresholds.spool_free, LEAST_FREE_BYTES):
        cause = f"The disk of the qmaster's spool has {spool.free / 2**30:.1f} GiB of {spool.size / 2**30:.1f} GiB left."
        if spool.free < LEAST_FREE_BYTES:
            cause += " The qmaster refuses changes while it cannot write."
        step = "Free some space on the master host."
        severity: Severity = "critical" if spool.free < LEAST_FREE_BYTES else "warning"
        yield Alarm("spool_disk", severity, "spool", cause, step, "gridengine doctor")


def _certificates(view: AlarmView, now: float, thresholds: Thresholds) -> Iterator[Alarm]:
    for each in view.local.certificates:
        left = each.end - now
        if left < thresholds.certificate_left_s:
            days = int(left // 86_400)
            cause = f"The certificate ends within {counted(days + 1, 'day')}." if left > 0 else "The certificate has ended."
            severity: Severity = "critical" if left < _URGENT_CERTIFICATE_S else "warning"
            step, command = _RENEWALS[each.kind]
            yield Alarm("certificate", severity, _certificate_name(each), cause, step, command.replace("HOST", each.name))


_RENEWALS = {
    "authority": ("Plan new keys for all hosts (docs/security.md).", ""),
    "master": ("Make new keys for the master host (docs/security.md).", "gridengine doctor"),
    "host": ("Make new keys on the master host, then start the daemon of the host.", "gridengine host keys HOST"),
    "web": ("Renew the file, then start the web server again.", "gridengine web --stop && gridengine web"),
}
"""Next step and command by the kind of a certificate's owner."""


def _certificate_name(each: Certificate) -> str:
    return {"authority": "authority", "master": "master host", "web": "web server"}.get(each.kind, f"host {each.name}")


def _backup_old(view: AlarmView, now: float, thresholds: Thresholds) -> Iterator[Alarm]:
    newest = view.local.newest_backup
    if newest is not None and now - newest >= thresholds.backup_age_s:
        cause = "There is no recent daily backup of the spool."
        step = "Make a backup; Messages shows why the qmaster made none."
        yield Alarm("backup_old", "warning", "daily backup", cause, step, "gridengine backup FILE", "/messages", newest)


def _shadows_behind(view: AlarmView, now: float, thresholds: Thresholds) -> Iterator[Alarm]:
    for host in view.local.shadows:
        cause = "The master candidate is away or not in sync: it cannot take over."
        step = "Start its daemon there, and check the network."
        yield Alarm("shadow_behind", "warning", host, cause, step, "gridengine shadow show", f"/hosts/{part(host)}")


def _mirror_behind(view: AlarmView, now: float, thresholds: Thresholds) -> Iterator[Alarm]:
    if view.mirror_age_s >= thresholds.mirror_age_s:
        cause = "The qmaster does not respond to the web server: pages show the last known state, and nothing can be changed."
        step = "Start the qmaster on the master host, or find out why it does not answer."
        yield Alarm("mirror_behind", "critical", "qmaster", cause, step, "gridengine start", "", now - view.mirror_age_s)


def _mail(view: AlarmView, now: float, thresholds: Thresholds) -> Iterator[Alarm]:
    unsent, missing = view.local.unsent_mail, view.local.missing_mailer
    if missing:
        step = "Install a mailer on the master host, or switch mail off: mailer none."
        yield Alarm("mail", "info", "mailer", f"No mail is sent: there is no program {missing}.", step, "qconf -mconf")
    elif unsent is not None and now - unsent.time < thresholds.mail_failed_s:
        step = "Correct the error that the mailer reports."
        yield Alarm("mail", "warning", "mailer", _sentence(unsent.text), step, "gridengine doctor", "/messages")


def _webhook(view: AlarmView, now: float, thresholds: Thresholds) -> Iterator[Alarm]:
    if view.webhook is not None:
        cause = f"Notices of alarms cannot be delivered: {view.webhook.text}."
        step = "Check the receiver, and alarm_webhook in common/web."
        yield Alarm("webhook", "warning", "webhook", cause, step, since=view.webhook.time)


def _sentence(text: str) -> str:
    """A reason on one line, with a full stop, without control characters."""
    line = str(printable(" ".join(text.split())))
    return line if line.endswith((".", "!", "?")) else f"{line}."


RULES: dict[str, AlarmRule] = {
    "mirror_behind": AlarmRule("Qmaster away", _mirror_behind, needs_state=False),
    "host_away": AlarmRule("Hosts away", _hosts_away),
    "queue_error": AlarmRule("Queue instances in error", _queues_in_error),
    "queue_ambiguous": AlarmRule("Queue instances with an ambiguous configuration", _queues_ambiguous),
    "queue_orphaned": AlarmRule("Orphaned queue instances", _queues_orphaned),
    "unit_closed": AlarmRule("Closed units", _units_closed),
    "load_alarm": AlarmRule("Load alarms", _load_alarms),
    "job_error": AlarmRule("Jobs in error", _jobs_in_error),
    "job_pending": AlarmRule("Jobs pending too long", _jobs_pending),
    "reservation": AlarmRule("Reservations with errors", _reservations),
    "quota_full": AlarmRule("Quotas at their limit", _quotas_full),
    "spool_disk": AlarmRule("Disk of the spool", _spool_disk, needs_state=False),
    "certificate": AlarmRule("Certificates that end", _certificates, needs_state=False),
    "backup_old": AlarmRule("Backup too old", _backup_old, needs_state=False),
    "shadow_behind": AlarmRule("Shadow hosts behind", _shadows_behind, needs_state=False),
    "mail": AlarmRule("Mail not sent", _mail, needs_state=False),
    "webhook": AlarmRule("Webhook not reached", _webhook, needs_state=False),
}
"""All rules, in the order of the page."""
