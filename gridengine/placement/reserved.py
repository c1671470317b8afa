"""Reserved: placement of jobs inside their advance reservation, and the reasons of refusals.

Owns which instances count and the rules of reservations alone. Its view of the cluster is `PlacementConfig.within`; rules
and allocation are the same as for all jobs. Called by the scheduler, by submission (-ar implies -w e) and by `qstat -j`.
Source: AR-60, AR-61, AR-80, AR-87 … AR-93.
"""

from __future__ import annotations

from gridengine.placement.config_snapshot import PlacementConfig
from gridengine.placement.ledger import Ledger
from gridengine.placement.match import soft_violations, static_refusal, use_refusal
from gridengine.placement.obstacles import obstacle
from gridengine.placement.placement_request import Request
from gridengine.placement.reasons import Reason
from gridengine.placement.spread import Candidates, place_parallel
from gridengine.state.jobs import Grant, Job
from gridengine.state.reservations import AdvanceReservation
from gridengine.state.state import State


def reserved_request(config_snapshot: PlacementConfig, reservation: AdvanceReservation, job: Job) -> Request:
    """The request of a job in a reservation: of the PEs that match -pe, only the granted PE is allowed (AR-87)."""
    return Request.of(config_snapshot, job).in_pe(reservation.granted_pe)


def place_reserved(
    config_snapshot: PlacementConfig, reservation: AdvanceReservation, ledger: Ledger, request: Request
) -> tuple[list[Grant], str, list[Reason]]:
    """Grants for one more task inside the reservation, its PE, and the refusals of other instances in it.

    config_snapshot: the configuration `within` the reservation; ledger: the use inside it (`Ledger.within`); with an empty
    ledger the answer is whether the task could ever run there.
    """
    reasons: list[Reason] = []
    suiting: list[str] = []
    for grant in reservation.granted:
        reason = _refusal(config_snapshot, reservation, ledger, request, grant.instance)
        if reason is None:
            suiting.append(grant.instance)
        else:
            reasons.append(reason)
    if request.soft or request.soft_queues:
        suiting.sort(key=lambda name: soft_violations(config_snapshot, ledger, request, name))
    if request.parallel:
        granted, pe = place_parallel(config_snapshot, ledger, request, Candidates.of(suiting), reasons)
        if not granted and request.pe and not request.pes:
            reasons.append(Reason("not_reserved", other=request.pe, number=reservation.id))
        return granted, pe, reasons
    for name in suiting:
        reason = use_refusal(config_snapshot, ledger, request, name)
        if reason is None:
            return [Grant(name, 1)], "", reasons
        reasons.append(reason)
    return [], "", reasons


def _refusal(
    config_snapshot: PlacementConfig, reservation: AdvanceReservation, ledger: Ledger, request: Request, name: str
) -> Reason | None:
    """Return the reason why a reserved instance cannot run the job, even if nothing else runs in the reservation."""
    state = config_snapshot.state
    if not ledger.empty:
        # load and thresholds are the cluster's, not the reserved share's; source: O
        reason = obstacle(PlacementConfig.of(state), Ledger(state), state.instances[name], reserved=True)
        if reason is not None:
            return reason
    for exclusive in request.exclusive:
        if exclusive not in reservation.resources:
            return Reason("not_reserved", resource=exclusive, number=reservation.id)
    return static_refusal(config_snapshot, ledger, request, name)


def reservation_waits(state: State, job: Job) -> Reason | None:
    """Return the reason why no job of a reservation may start; None: its jobs may start now.

    The rest of the window does not matter: a job may end earlier than its limit, and even a window shorter than
    DURATION_OFFSET can be used. Source: O; AR-86 checks at submission.
    """
    reservation = state.reservations.get(job.ar)
    if reservation is None or reservation.ending:
        return Reason("reservation_over", number=job.ar)
    if not reservation.started:
        return Reason("reservation_waiting", number=job.ar)
    if not reservation.is_usable:
        return Reason("reservation_in_error", number=job.ar)
    return None


def time_left(state: State, reservation: AdvanceReservation, start: float) -> float:
    """Seconds that a job which starts at `start` (epoch s) may run inside the reservation (AR-93), 0 for no limit: within the
    last DURATION_OFFSET seconds the job ends with the reservation. Source: O."""
    return max(0.0, reservation.end_time - start - state.scheduler.duration_offset_s)
