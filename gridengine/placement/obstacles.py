"""Obstacles: why a queue instance accepts no job at all: its states, its load and its suspend thresholds.

Owns the two rules. Called by the scheduler, by `-w p`, and by the queries that print the state codes a and A and
`-explain`. Every state code of an instance closes it. Source: QI-1 … QI-12, QC-4 … QC-7; O (suspend alarm).
"""

from __future__ import annotations

from gridengine.placement.config_snapshot import PlacementConfig
from gridengine.placement.ledger import Ledger
from gridengine.placement.reasons import Reason, Violation
from gridengine.placement.resources import available
from gridengine.placement.values import RELATIONS, Offer, Value, format_value, typed_value
from gridengine.state.bookings import GLOBAL
from gridengine.state.configured.objects import ExecHost
from gridengine.state.queues import InstanceConfig, QueueInstance
from gridengine.state.state import State
from gridengine.values.instance_name import host_of

COMPUTED = frozenset(("c", "L"))
"""Sources of computed or scaled values, in contrast to configured or reported text."""


def state_obstacle(state: State, instance: QueueInstance, reserved: bool = False) -> Reason | None:
    """The state that closes an instance, None if it is open. `reserved`: for jobs of a reservation in it, which an orphaned
    instance serves to the end (AR-80)."""
    name = instance.name
    if (instance.orphaned and not reserved) or name not in state.configs:
        return Reason("orphaned", name)
    host = state.hosts.get(instance.host)
    if host is None or not host.up:
        return Reason("unavailable", name)
    if instance.errors:
        return Reason("in_error_state", name, other=instance.errors[-1])
    if name in state.ambiguous:
        return Reason("ambiguous", name)
    if instance.disabled:
        return Reason("disabled", name)
    if host.drained is not None:
        return Reason("drained", name, other=str(host.drained))
    if instance.calendar_disabled:
        return Reason("calendar", name, other="disabled")
    if instance.preempted:
        return Reason("preempted", name)
    return Reason("suspended", name) if instance.stops_jobs else None


def alarm(config_snapshot: PlacementConfig, ledger: Ledger, name: str) -> list[Violation]:
    """Load thresholds of an instance that are reached: state `a`. Source: queue_conf(5) load_thresholds."""
    return violations(config_snapshot, ledger, name, config_snapshot.state.configs[name].load_thresholds)


def suspend_alarm(config_snapshot: PlacementConfig, ledger: Ledger, name: str) -> list[Violation]:
    """Suspend thresholds of an instance that are reached: state `A`. Source: queue_conf(5) suspend_thresholds."""
    return violations(config_snapshot, ledger, name, config_snapshot.state.configs[name].suspend_thresholds)


def violations(config_snapshot: PlacementConfig, ledger: Ledger, name: str, thresholds: dict[str, str]) -> list[Violation]:
    """The thresholds that are reached; a threshold without a value counts as reached, since a host without reports is not
    trusted."""
    found = []
    for given, text in thresholds.items():
        entry = config_snapshot.entry(given)
        if entry is None:
            continue
        offer = available(config_snapshot, ledger, name, entry.name)
        if offer is None:
            found.append(Violation(entry.name, "", "", text))
        elif _is_reached(offer, typed_value(entry.type, text)):
            found.append(Violation(entry.name, offer.codes, _format_offer(config_snapshot, offer, name), text, entry.relop))
    return found


def _format_offer(config_snapshot: PlacementConfig, offer: Offer, name: str) -> str:
    """Load as the host reported it, fixed values as configured, computed or scaled values with three decimals.

    Source: O (qstat -explain).
    """
    host = GLOBAL if offer.level == "g" else host_of(name)
    if offer.source == "l":
        return config_snapshot.state.hosts[host].load[offer.entry.name]
    if isinstance(offer.value, str):
        return offer.value
    if offer.source in COMPUTED:
        return f"{offer.value:.3f}"
    state = config_snapshot.state
    config: ExecHost | InstanceConfig = state.configs[name] if offer.level == "q" else state.exec_hosts[host]
    written = config.complex_values.get(offer.entry.name)
    return written if written is not None else format_value(offer.entry.type, offer.value)


def _is_reached(offer: Offer, threshold: Value) -> bool:
    """The relation of the complex gives the direction: >= for values that grow to a threshold, <= for other values (QC-6)."""
    if isinstance(offer.value, str):
        return (offer.value == threshold) != (offer.entry.relop == "!=")
    return RELATIONS.get(offer.entry.relop, RELATIONS["=="])(offer.value, threshold)  # type: ignore[arg-type]


def obstacle(config_snapshot: PlacementConfig, ledger: Ledger, instance: QueueInstance, reserved: bool = False) -> Reason | None:
    """The state or load that closes an instance for all jobs. `reserved`: as in `state_obstacle`."""
    name = instance.name
    reason = state_obstacle(config_snapshot.state, instance, reserved)
    config = config_snapshot.state.configs.get(name)
    if reason is not None or config is None or not (config.load_thresholds or config.suspend_thresholds):
        return reason
    for code, look in (("overloaded", alarm), ("suspend_alarm", suspend_alarm)):
        if reached := look(config_snapshot, ledger, name):
            return Reason(code, name, left=reached[0])
    return None
