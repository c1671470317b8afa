"""A participant in the election of the leader: a candidate host, which follows the leader, campaigns, or leads.

Owns the role of the host at the moment, the requests of the other hosts (`shadow_port`), and `run_dir/seat.sock` for the qmaster
of this host and for administrators. The process is `sge_qmaster` or `sge_shadowd`; the process outlives the qmaster's
actors, which it starts and ends. Source: docs/adr/0146; statements SH-1 to SH-4.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Mapping
from functools import partial
from typing import Any

import aiohttp

from daemons.qmaster.backup.archive import BackupError
from daemons.qmaster.serve.replication.leader_link import LEASE, AgreementError
from daemons.qmaster.serve.supervisor import QmasterSupervisor
from daemons.qmaster.shadow.file_sync import FILES, FileSync
from daemons.qmaster.shadow.handover import ACCEPT_HANDOVER, TakeoverRequest, find_write_error, hand_over_when_unwritable
from daemons.qmaster.shadow.lease_renewal import LeaderTerm
from daemons.qmaster.shadow.other_masters import refuse_second_master
from daemons.qmaster.shadow.participant_socket import serve_local_requests
from daemons.qmaster.shadow.promotion import become_leader, own_voter, position, shadow_directory, voters
from daemons.qmaster.shadow.release_reports import collect_release_reports, release_report
from daemons.qmaster.shadow.replica import Replica
from daemons.qmaster.shadow.replica_endpoint import ReplicaEndpoint
from daemons.qmaster.shadow.shadow_gateway import serve_commands
from daemons.qmaster.spooling.cell_identity import read_identity
from daemons.qmaster.spooling.spool_file import SpoolError, make_closed
from daemons.runtime.backoff import Backoff
from daemons.runtime.cell import Cell, CellError
from daemons.runtime.daemon import Startup, pause
from daemons.runtime.keys import own_keys
from daemons.runtime.lease_file import LeaseFile, boottime
from daemons.runtime.lease_voter import VOTE_RECORD
from daemons.runtime.log_once import LogOnce
from daemons.runtime.peers import PeerHandler, Peers, PeerUnreachableError, serve_peers
from daemons.runtime.reexec import Renewal
from gridengine.errors import plain_fault
from gridengine.protocols.lease import LEASE_S, RENEW_S

_log = logging.getLogger(__name__)

_POLL_S = 0.2
#: seconds: maximum jitter before a campaign, first and longest backoff after a failed campaign
_MAX_JITTER_S, RETRY_S, _MAX_RETRY_S = 0.5, 1.0, 30.0
#: seconds after which the program reports a successful start, though this host does not lead yet
_PATIENCE_S = 20.0
#: seconds that the qmaster may take to end; its end takes about a second on an idle machine
_HAND_OVER_S = 90.0


class Participant:
    """This host among the candidates. `campaign_at_once`: the host campaigns without waiting until the leader is lost.

    Raises CellError without keys, OSError.
    """

    def __init__(self, cell: Cell, host: str, startup: Startup, campaign_at_once: bool, renewal: Renewal) -> None:
        self._cell, self._host, self._startup, self._renewal = cell, host, startup, renewal
        self._keys = own_keys(cell, host)
        self._keys.require()
        make_closed(shadow_directory(cell))
        self._takeover: TakeoverRequest | None = TakeoverRequest() if campaign_at_once else None
        self._term: LeaderTerm | None = None
        self._successor = ""  # the host that is to be the next leader
        self._accepting: asyncio.Task[None] | None = None
        self._handover_requested = asyncio.Event()
        self._voter = own_voter(cell, host)
        self._file = LeaseFile(cell.run_dir / LEASE)
        self._replica, self._endpoint = self._open_replica()
        self._is_campaigning, self._transition_lock = False, asyncio.Lock()
        self._has_heard_leader = False  # since the start
        self._latest_epoch = 0  # the latest epoch in a response
        self._logged = LogOnce()
        self._candidate_hosts: tuple[str, ...] = ()
        self._file_sync = FileSync(cell, host, self._is_leader, self._followed_leader, self._transition_lock)

    async def run(self, stop: asyncio.Event) -> int:
        """Take part until `stop` is set; the exit code of the daemon."""
        self._peers = Peers(self._cell, self._keys)
        opened = asyncio.Event()
        def is_open() -> None:
            self._voter.load()  # sge_execd may have voted for this host, as a witness, until now
            opened.set()
        requests: dict[str, PeerHandler] = {
            "lease": self._handle_vote_request,
            "hand_over": self._handle_hand_over,
            ACCEPT_HANDOVER: self._handle_accept_handover,
            "release": self._handle_release_request,
            FILES: self._file_sync.handle_request,
            **{name: partial(self._handle_replica_request, name) for name in self._endpoint.handlers},
        }
        open_to_all = {VOTE_RECORD: self._voter.answer_record_request}
        tasks = [
            asyncio.create_task(serve_peers(self._cell, self._host, self._keys, requests, is_open, open_to_all)),
            asyncio.create_task(serve_local_requests(self._cell.participant_socket, self._handle_local_request)),
            asyncio.create_task(self._file_sync.follow(self._peers)),
        ]
        ended = asyncio.create_task(stop.wait())
        try:
            await asyncio.wait((*tasks, asyncio.create_task(opened.wait())), return_when=asyncio.FIRST_COMPLETED)
            running = asyncio.create_task(self._follow_and_lead(stop))
            await asyncio.wait((*tasks, running), return_when=asyncio.FIRST_COMPLETED)
            for failed in tasks:
                if failed.done():
                    running.cancel()
                    failed.result()
            return await running
        except OSError as error:
            self._startup.failed(f"sge_qmaster: cannot listen at port {self._cell.shadow_port}: {error.strerror}")
            return 1
        finally:
            for task in (*tasks, ended):
                task.cancel()
            await asyncio.gather(*tasks, ended, return_exceptions=True)
            await self._peers.close()
            self._replica.close()

    def _open_replica(self) -> tuple[Replica, ReplicaEndpoint]:
        """The replica of the leader's spool, until this host is the leader."""
        replica = Replica(shadow_directory(self._cell), read_identity(self._cell).id)
        voter, home = self._voter, self._cell.qmaster_spool_dir
        return replica, ReplicaEndpoint(replica, home, lambda: (voter.record.holder, voter.record.epoch))

    async def _follow_and_lead(self, stop: asyncio.Event) -> int:
        """Follow and lead in turn."""
        began, backoff = boottime(), Backoff(RETRY_S, _MAX_RETRY_S)
        while not stop.is_set():
            takeover = await self._follow(stop, began)
            if stop.is_set():
                break
            term = await self._campaign(takeover)
            if term is None:
                if takeover.force:
                    self._takeover = None
                await pause(stop, RETRY_S * (0.5 + random.random()))
                continue
            self._takeover = None
            if not await self._lead(term, stop):
                backoff.reset()
            elif self._startup.is_ready:  # the qmaster may be able to start soon, and another host may lead meanwhile
                await pause(stop, backoff.next_s())
            else:
                return 1
        return 0

    # --- following -------------------------------------------------------------------------------------------------

    async def _follow(self, stop: asyncio.Event, began: float) -> TakeoverRequest:
        """Return when this host is to campaign."""
        gateway = asyncio.create_task(serve_commands(self._cell, self._host, self._renewal, self._log_error_once))
        jitter = _MAX_JITTER_S * random.random()
        try:
            while not stop.is_set():
                if self._takeover is None or boottime() - began > _PATIENCE_S:
                    self._startup.ready()
                if self._takeover is not None:
                    return self._takeover
                # a participant that has just started may not have received the request of the leader yet, sent every second
                patience = jitter if self._has_heard_leader else jitter + 2 * RENEW_S
                if self._voter.grant_expired_s > patience and self._may_campaign():
                    self._log_error_once(f"no request of the master, {self._voter.record.holder}, arrived for {LEASE_S:.0f} s")
                    return TakeoverRequest()
                await pause(stop, _POLL_S)
        finally:
            gateway.cancel()
            await asyncio.gather(gateway, return_exceptions=True)
        return TakeoverRequest()

    def _may_campaign(self) -> bool:
        """Whether this host may take over by itself, as far as it knows; the voters decide."""
        record = self._voter.record
        return bool(record.epoch) and not record.closed and self._host in record.in_sync and self._position() > (0, 0)

    # --- campaigning -----------------------------------------------------------------------------------------------

    async def _campaign(self, takeover: TakeoverRequest) -> LeaderTerm | None:
        """Request the lease; None if it is not granted."""
        self._is_campaigning = True
        try:
            async with self._transition_lock:
                return await self._request_lease(takeover)
        finally:
            self._is_campaigning = False

    async def _request_lease(self, takeover: TakeoverRequest) -> LeaderTerm | None:
        """The caller keeps the replica of the spool, which names the voters, unchanged meanwhile."""
        try:
            sets = voters(self._cell)
            if not sets:  # no other host votes
                await refuse_second_master(self._cell, self._host, self._voter, takeover.force)
                sets = (frozenset((self._host,)),)
        except (SpoolError, CellError) as error:
            self._log_error_once(str(error))
            return None
        epoch = max(self._voter.record.epoch, self._latest_epoch) + 1
        term = LeaderTerm(self._host, epoch, sets, self._send_vote_request, self._file, self._position)
        if await term.campaign(takeover.force):
            self._logged.clear()
            _log.warning("host %s is the master now, in epoch %d", self._host, epoch)
            return term
        self._latest_epoch = max(self._latest_epoch, term.lease.superseded_by)
        self._log_error_once(f"cannot be the master: {term.describe_failures()}")
        if self._voter.grant_expired_s <= 0 and takeover.is_obsolete(self._host, self._voter.record):
            self._takeover = None
        return None

    async def _send_vote_request(self, voter: str, request: bytes) -> bytes:
        if voter == self._host:
            return await self._voter.answer(request, self._position)
        status, grant = await self._peers.call(voter, "lease", request)
        if status != 200:
            raise PeerUnreachableError(f"it answers {status}")
        return grant

    async def _handle_vote_request(
        self, caller: str, _headers: Mapping[str, str], body: aiohttp.StreamReader
    ) -> tuple[int, bytes]:
        vote = await self._voter.answer(await body.read(), self._position, caller)
        if self._voter.record.holder == caller and self._voter.grant_expired_s < 0:
            self._has_heard_leader = True
            self._logged.clear()
        return 200, vote

    def _position(self) -> tuple[int, int]:
        """The position of this host's spool, (0, 0) if it cannot be read."""
        try:
            return position(self._cell)
        except SpoolError as error:
            self._log_error_once(str(error))
            return 0, 0

    # --- leading ---------------------------------------------------------------------------------------------------

    async def _lead(self, term: LeaderTerm, stop: asyncio.Event) -> int:
        """Be the leader until the lease is lost, another host is to be the leader, or `stop` is set, which shuts the cell down.
        The daemon's exit code, 1 if the qmaster could not start."""
        self._term, self._successor = term, ""
        self._handover_requested.clear()
        keeping = asyncio.create_task(term.keep_renewing(self._list_candidate_hosts))
        end = asyncio.Event()
        serving: asyncio.Task[int] | None = None
        stopped = asyncio.create_task(stop.wait())
        done = asyncio.create_task(self._handover_requested.wait())
        spool = self._cell.qmaster_spool_dir
        watching = asyncio.create_task(hand_over_when_unwritable(spool, self._peers, term.successors, self._log_error_once))
        status = 0
        try:
            await asyncio.to_thread(self._become_leader)
            supervisor = QmasterSupervisor(self._cell, self._host, self._startup)
            serving = asyncio.create_task(supervisor.run(end))
            await asyncio.wait((keeping, serving, stopped, done), return_when=asyncio.FIRST_COMPLETED)
            if keeping.done():
                _log.critical("host %s is no longer master: %s", self._host, "; ".join(term.failures.values()) or "superseded")
                supervisor.abandon()
            end.set()
            status = await serving
        except (SpoolError, CellError, BackupError, OSError) as error:
            self._log_error_once(f"cannot be the master: {plain_fault(error)}")
            self._startup.failed(f"sge_qmaster: {plain_fault(error)}")
            status = 1
        finally:
            for task in (keeping, stopped, done, watching, *([serving] if serving else [])):
                task.cancel()
            await asyncio.gather(keeping, stopped, done, watching, return_exceptions=True)
            await self._end_term(term, stop.is_set())
            self._replica, self._endpoint = self._open_replica()
        return status

    def _become_leader(self) -> None:
        self._replica.close()
        become_leader(self._cell, self._host)

    async def _end_term(self, term: LeaderTerm, for_good: bool) -> None:
        """Notify the voters whether the cell is shut down, or another host may follow."""
        if for_good and not self._successor:
            await term.close()
        else:
            await term.release_lease(self._successor)
        self._term = None

    # --- requests of other hosts -----------------------------------------------------------------------------------

    async def _handle_replica_request(
        self, name: str, caller: str, headers: Mapping[str, str], body: aiohttp.StreamReader
    ) -> tuple[int, bytes]:
        """Update the replica; refused while this host leads or campaigns."""
        if self._term is not None or self._is_campaigning:
            return 503, b"this host is the master, or campaigns to be"
        async with self._transition_lock:
            return await self._endpoint.handlers[name](caller, headers, body)

    async def _handle_hand_over(
        self, successor: str, _headers: Mapping[str, str], _body: aiohttp.StreamReader
    ) -> tuple[int, bytes]:
        """Another host is to be the leader: end the term, and answer when the qmaster of this host has ended."""
        term = self._term
        if term is None or not term.is_leader:
            return 409, b"this host is not the master"
        if successor not in term.successors():
            return 409, f"host {successor} does not have everything yet".encode()
        _log.warning("host %s is to be the master: this one ends its term", successor)
        self._successor = successor
        self._handover_requested.set()
        end = boottime() + _HAND_OVER_S
        while self._term is not None and boottime() < end:
            await asyncio.sleep(_POLL_S / 4)
        return (200, b"") if self._term is None else (504, b"it has not ended in time")

    async def _handle_accept_handover(
        self, holder: str, _headers: Mapping[str, str], _body: aiohttp.StreamReader
    ) -> tuple[int, bytes]:
        """The master cannot write on its disk: take over from it. The request to hand over follows after this answer."""
        if holder != self._voter.record.holder or self._term is not None:
            return 409, b"it follows another master"
        if why := await asyncio.to_thread(find_write_error, self._cell.qmaster_spool_dir):
            return 409, f"it cannot write in {self._cell.qmaster_spool_dir} either: {why}".encode()
        if self._accepting is None or self._accepting.done():  # the request is repeated every few seconds
            self._accepting = asyncio.create_task(self._accept_handover())
        return 200, b""

    async def _accept_handover(self) -> None:
        try:
            await self._take_over(force=False)
        except PeerUnreachableError as error:
            self._log_error_once(str(error))

    async def _handle_release_request(
        self, caller: str, _headers: Mapping[str, str], body: aiohttp.StreamReader
    ) -> tuple[int, bytes]:
        """Report the release of this host; with a body, restart as the installed release, if the leader orders it."""
        if await body.read() and caller == self._voter.record.holder and self._term is None:
            self._renewal.begin()
        return 200, release_report(self._renewal)

    def _list_candidate_hosts(self) -> tuple[str, ...]:
        """Return the candidate hosts; the hosts of the last reading if the file cannot be read."""
        try:
            self._candidate_hosts = self._cell.candidate_hosts()
        except CellError as error:
            self._log_error_once(str(error))
        return self._candidate_hosts

    def _is_leader(self) -> bool:
        return self._term is not None and self._term.is_leader

    def _followed_leader(self) -> str:
        """The other host that is the leader according to this host's vote, "" for none."""
        holder = self._voter.record.holder
        return holder if self._term is None and holder != self._host and self._voter.grant_expired_s <= 0 else ""

    async def _handle_local_request(self, name: str, fields: dict[str, Any]) -> dict[str, Any]:
        """Answer the qmaster of this host and administrators. Raises AgreementError, PeerUnreachableError."""
        if name == "in_sync":
            if self._term is None:
                raise AgreementError("this host is not the master")
            await self._term.agree(fields["in_sync"], tuple(frozenset(names) for names in fields["sets"]))
        elif name == "take_over":
            await self._take_over(bool(fields.get("force")))
        elif name == "releases":
            others = [host for host in self._list_candidate_hosts() if host != self._host]
            return await collect_release_reports(self._peers, others, str(fields.get("restart", "")))
        return self._status()

    async def _take_over(self, force: bool) -> None:
        holder = self._voter.record.holder
        if self._term is not None:
            return
        if not force and holder and self._voter.grant_expired_s <= 0:
            status, answer = await self._peers.call(holder, "hand_over", answer_s=_HAND_OVER_S + 5)
            if status != 200:
                raise PeerUnreachableError(f"host {holder} does not hand over: {answer.decode(errors='replace')}")
        self._takeover = TakeoverRequest(force, self._voter.record.epoch)

    def _status(self) -> dict[str, Any]:
        record, term = self._voter.record, self._term
        return {
            "host": self._host,
            "leads": self._is_leader(),
            "wants": self._takeover is not None,
            "master": record.holder,
            "epoch": record.epoch,
            "in_sync": list(record.in_sync),
            "closed": record.closed,
            "known": term is not None or (self._has_heard_leader and self._voter.grant_expired_s <= 0),
            "position": list(self._position()),
            "voters": [sorted(names) for names in term.lease.sets] if term is not None else [],
            "away": dict(term.failures) if term is not None else {},
        }

    def _log_error_once(self, message: str) -> None:
        """Log an error once, until the next success."""
        if self._logged.is_new(message, message):
            _log.error("%s", message)
