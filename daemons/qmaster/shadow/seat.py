"""A seat: one of the hosts that may be the master. It follows whoever is, stands when nobody is, and leads.

Owns what the host is at the moment, the door for the other hosts (`shadow_port`), and `run_dir/seat.sock`, where the qmaster of
this host and administrators speak with it. The process is `sge_qmaster` or `sge_shadowd`; it outlives the qmaster's actors, which
it starts and ends.
Source: docs/adr/0146; statements SH-1 to SH-4.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Mapping
from functools import partial
from typing import Any

import aiohttp

from daemons.qmaster.backup.archive import BackupFault
from daemons.qmaster.serve.seat_link import LEASE, SEAT_SOCKET, NotAgreed
from daemons.qmaster.serve.supervisor import QmasterSupervisor
from daemons.qmaster.shadow.copy_door import CopyDoor
from daemons.qmaster.shadow.other_masters import refuse_second_master
from daemons.qmaster.shadow.promotion import own_voter, position, shadow_directory, take_office, voters
from daemons.qmaster.shadow.seat_files import FILES, SeatFiles
from daemons.qmaster.shadow.seat_releases import release_word, releases_of
from daemons.qmaster.shadow.seat_socket import serve_seat
from daemons.qmaster.shadow.shadow_gateway import serve_commands
from daemons.qmaster.shadow.spool_copy import SpoolCopy
from daemons.qmaster.shadow.succession import INHERIT, Wish, no_room, resign_without_room
from daemons.qmaster.shadow.term import TermOfOffice
from daemons.qmaster.spooling.cell_identity import read_identity
from daemons.qmaster.spooling.spool_file import SpoolError, make_closed
from daemons.runtime.cell import Cell, CellFault
from daemons.runtime.daemon import Startup, pause
from daemons.runtime.keys import own_keys
from daemons.runtime.lease_file import LeaseFile, boottime
from daemons.runtime.lease_voter import PROMISE
from daemons.runtime.peers import PeerAway, PeerRequest, Peers, serve_peers
from daemons.runtime.renewal import Renewal
from gridengine.errors import plain_fault
from gridengine.lease import LEASE_S, RENEW_S

_log = logging.getLogger(__name__)

_LOOK_S = 0.2
#: seconds: at most so long two shadows that miss the master at the same moment wait for each other, and a failed try for the next
_CHANCE_S, _AGAIN_S, _LONGEST_AGAIN_S = 0.5, 1.0, 30.0
#: seconds after which the program that was started says that it runs, though it does not lead yet
_PATIENCE_S = 20.0
#: seconds that the qmaster may take to end; it takes one on a machine that is not busy
_HAND_OVER_S = 90.0


class Seat:
    """This host among those that may be the master. `stands`: it does so at once, without waiting for anybody's silence.

    Raises CellFault without keys, OSError.
    """

    def __init__(self, cell: Cell, host: str, startup: Startup, stands: bool, renewal: Renewal) -> None:
        self._cell, self._host, self._startup, self._renewal = cell, host, startup, renewal
        self._keys = own_keys(cell, host)
        self._keys.require()
        make_closed(shadow_directory(cell))
        self._wish: Wish | None = Wish() if stands else None
        self._term: TermOfOffice | None = None
        self._heir = ""  # who is to be the master after this host
        self._inheriting: asyncio.Task[None] | None = None
        self._done = asyncio.Event()
        self._voter = own_voter(cell, host)
        self._file = LeaseFile(cell.run_dir / LEASE)
        self._copy, self._door = self._open_copy()
        self._standing, self._still = False, asyncio.Lock()
        self._heard = False  # of a master, since the start
        self._outbid = 0  # the latest epoch that somebody told
        self._complaints: set[str] = set()
        self._candidates: tuple[str, ...] = ()
        self._files = SeatFiles(cell, host, self._leads, self._followed, self._still)

    async def run(self, stop: asyncio.Event) -> int:
        """Take part until `stop` is set; the exit code of the daemon."""
        self._peers = Peers(self._cell, self._keys)
        opened = asyncio.Event()
        def is_open() -> None:
            self._voter.load()  # sge_execd may have answered here, as a witness, until now
            opened.set()
        requests: dict[str, PeerRequest] = {
            "lease": self._asked_for_lease,
            "hand_over": self._asked_to_hand_over,
            INHERIT: self._asked_to_inherit,
            "release": self._asked_for_release,
            FILES: self._files.asked,
            **{name: partial(self._asked_as_shadow, name) for name in self._door.handlers},
        }
        tasks = [
            asyncio.create_task(serve_peers(self._cell, self._host, self._keys, requests, is_open, {PROMISE: self._voter.tell})),
            asyncio.create_task(serve_seat(self._cell.run_dir / SEAT_SOCKET, self._asked_here)),
            asyncio.create_task(self._files.follow(self._peers)),
        ]
        ended = asyncio.create_task(stop.wait())
        try:
            await asyncio.wait((*tasks, asyncio.create_task(opened.wait())), return_when=asyncio.FIRST_COMPLETED)
            life = asyncio.create_task(self._live(stop))
            await asyncio.wait((*tasks, life), return_when=asyncio.FIRST_COMPLETED)
            for failed in tasks:
                if failed.done():
                    life.cancel()
                    failed.result()
            return await life
        except OSError as error:
            self._startup.failed(f"sge_qmaster: cannot listen at port {self._cell.shadow_port}: {error.strerror}")
            return 1
        finally:
            for task in (*tasks, ended):
                task.cancel()
            await asyncio.gather(*tasks, ended, return_exceptions=True)
            await self._peers.close()
            self._copy.close()

    def _open_copy(self) -> tuple[SpoolCopy, CopyDoor]:
        """Of the spool of whoever is the master, until this host is."""
        copy = SpoolCopy(shadow_directory(self._cell), read_identity(self._cell).id)
        return copy, CopyDoor(copy, self._cell.qmaster_spool_dir, lambda: (self._voter.promise.holder, self._voter.promise.epoch))

    async def _live(self, stop: asyncio.Event) -> int:
        """Follow and lead in turn."""
        began, wait_s = boottime(), _AGAIN_S
        while not stop.is_set():
            wish = await self._follow(stop, began)
            if stop.is_set():
                break
            term = await self._stand(wish)
            if term is None:
                if wish.force:
                    self._wish = None
                await pause(stop, _AGAIN_S * (0.5 + random.random()))
                continue
            self._wish = None
            if not await self._lead(term, stop):
                wait_s = _AGAIN_S
            elif self._startup.is_ready:  # a master that cannot begin now may do so soon, and another host meanwhile
                await pause(stop, wait_s)
                wait_s = min(2 * wait_s, _LONGEST_AGAIN_S)
            else:
                return 1
        return 0

    # --- following -------------------------------------------------------------------------------------------------

    async def _follow(self, stop: asyncio.Event, began: float) -> Wish:
        """Return when this host is to stand."""
        gateway = asyncio.create_task(serve_commands(self._cell, self._host, self._renewal, self._complain))
        chance = _CHANCE_S * random.random()
        try:
            while not stop.is_set():
                if self._wish is None or boottime() - began > _PATIENCE_S:
                    self._startup.ready()
                if self._wish is not None:
                    return self._wish
                # a seat that has just been taken has not heard of the master yet, who asks every second
                patience = chance if self._heard else chance + 2 * RENEW_S
                if self._voter.unbound_s > patience and self._may_stand():
                    self._complain(f"nothing was heard of the master, host {self._voter.promise.holder}, for {LEASE_S:.0f} s")
                    return Wish()
                await pause(stop, _LOOK_S)
        finally:
            gateway.cancel()
            await asyncio.gather(gateway, return_exceptions=True)
        return Wish()

    def _may_stand(self) -> bool:
        """Whether this host may take over by itself, as far as it knows; the voters know better."""
        promise = self._voter.promise
        return bool(promise.epoch) and not promise.closed and self._host in promise.in_sync and self._position() > (0, 0)

    # --- standing --------------------------------------------------------------------------------------------------

    async def _stand(self, wish: Wish) -> TermOfOffice | None:
        """Ask for the lease; None when it is not granted."""
        self._standing = True
        try:
            async with self._still:
                return await self._ask_for_office(wish)
        finally:
            self._standing = False

    async def _ask_for_office(self, wish: Wish) -> TermOfOffice | None:
        """The copy of the spool, which says who votes, stays as it is meanwhile."""
        try:
            sets = voters(self._cell)
            if not sets:  # nobody else is asked for a vote
                await refuse_second_master(self._cell, self._host, self._voter, wish.force)
                sets = (frozenset((self._host,)),)
        except (SpoolError, CellFault) as error:
            self._complain(str(error))
            return None
        epoch = max(self._voter.promise.epoch, self._outbid) + 1
        term = TermOfOffice(self._host, epoch, sets, self._ask_voter, self._file, self._position)
        if await term.stand(wish.force):
            self._complaints.clear()
            _log.warning("host %s is the master now, in epoch %d", self._host, epoch)
            return term
        self._outbid = max(self._outbid, term.lease.outbid)
        self._complain(f"cannot be the master: {'; '.join(f'{voter}: {why}' for voter, why in sorted(term.away.items()))}")
        if self._voter.unbound_s <= 0 and wish.is_over(self._host, self._voter.promise):
            self._wish = None
        return None

    async def _ask_voter(self, voter: str, ask: bytes) -> bytes:
        if voter == self._host:
            return await self._voter.answer(ask, self._position)
        status, grant = await self._peers.call(voter, "lease", ask)
        if status != 200:
            raise PeerAway(f"it answers {status}")
        return grant

    async def _asked_for_lease(
        self, caller: str, _headers: Mapping[str, str], body: aiohttp.StreamReader
    ) -> tuple[int, bytes]:
        vote = await self._voter.answer(await body.read(), self._position, caller)
        if self._voter.promise.holder == caller and self._voter.unbound_s < 0:
            self._heard = True
            self._complaints.clear()
        return 200, vote

    def _position(self) -> tuple[int, int]:
        """How far this host's spool is, (0, 0) where it cannot be read."""
        try:
            return position(self._cell)
        except SpoolError as error:
            self._complain(str(error))
            return 0, 0

    # --- leading ---------------------------------------------------------------------------------------------------

    async def _lead(self, term: TermOfOffice, stop: asyncio.Event) -> int:
        """Be the master until the lease is lost, somebody else is to be it, or `stop` is set; then the cell rests. The daemon's
        exit code, 1 when it could not begin."""
        self._term, self._heir = term, ""
        self._done.clear()
        keeping = asyncio.create_task(term.keep(self._list_candidates))
        end = asyncio.Event()
        serving: asyncio.Task[int] | None = None
        stopped = asyncio.create_task(stop.wait())
        done = asyncio.create_task(self._done.wait())
        spool = self._cell.qmaster_spool_dir
        watching = asyncio.create_task(resign_without_room(spool, self._peers, term.heirs, self._complain))
        status = 0
        try:
            await asyncio.to_thread(self._take_office)
            supervisor = QmasterSupervisor(self._cell, self._host, self._startup)
            serving = asyncio.create_task(supervisor.run(end))
            await asyncio.wait((keeping, serving, stopped, done), return_when=asyncio.FIRST_COMPLETED)
            if keeping.done():
                _log.critical("host %s is the master no more: %s", self._host, "; ".join(term.away.values()) or "outbid")
                supervisor.abandon()
            end.set()
            status = await serving
        except (SpoolError, CellFault, BackupFault, OSError) as error:
            self._complain(f"cannot be the master: {plain_fault(error)}")
            self._startup.failed(f"sge_qmaster: {plain_fault(error)}")
            status = 1
        finally:
            for task in (keeping, stopped, done, watching, *([serving] if serving else [])):
                task.cancel()
            await asyncio.gather(keeping, stopped, done, watching, return_exceptions=True)
            await self._leave(term, stop.is_set())
            self._copy, self._door = self._open_copy()
        return status

    def _take_office(self) -> None:
        self._copy.close()
        take_office(self._cell, self._host)

    async def _leave(self, term: TermOfOffice, for_good: bool) -> None:
        """Say to the voters what follows on this term."""
        if for_good and not self._heir:
            await term.close()
        else:
            await term.give_back(self._heir)
        self._term = None

    # --- asked -----------------------------------------------------------------------------------------------------

    async def _asked_as_shadow(
        self, name: str, caller: str, headers: Mapping[str, str], body: aiohttp.StreamReader
    ) -> tuple[int, bytes]:
        """A host that leads is no shadow of another one."""
        if self._term is not None or self._standing:
            return 503, b"this host is the master, or wants to be"
        async with self._still:
            return await self._door.handlers[name](caller, headers, body)

    async def _asked_to_hand_over(
        self, heir: str, _headers: Mapping[str, str], _body: aiohttp.StreamReader
    ) -> tuple[int, bytes]:
        """Another host is to be the master: end, and answer when nothing of this one is left."""
        term = self._term
        if term is None or not term.held:
            return 409, b"this host is not the master"
        if heir not in term.heirs():
            return 409, f"host {heir} does not have everything yet".encode()
        _log.warning("host %s is to be the master: this one ends its term", heir)
        self._heir = heir
        self._done.set()
        end = boottime() + _HAND_OVER_S
        while self._term is not None and boottime() < end:
            await asyncio.sleep(_LOOK_S / 4)
        return (200, b"") if self._term is None else (504, b"it has not ended in time")

    async def _asked_to_inherit(
        self, holder: str, _headers: Mapping[str, str], _body: aiohttp.StreamReader
    ) -> tuple[int, bytes]:
        """The master cannot write on its disk: be the master in its place. What it hands over is asked for after the answer."""
        if holder != self._voter.promise.holder or self._term is not None:
            return 409, b"it follows another master"
        if why := await asyncio.to_thread(no_room, self._cell.qmaster_spool_dir):
            return 409, f"it cannot write in {self._cell.qmaster_spool_dir} either: {why}".encode()
        if self._inheriting is None or self._inheriting.done():  # it is asked again every few seconds
            self._inheriting = asyncio.create_task(self._inherit())
        return 200, b""

    async def _inherit(self) -> None:
        try:
            await self._take_over(force=False)
        except PeerAway as error:
            self._complain(str(error))

    async def _asked_for_release(
        self, caller: str, _headers: Mapping[str, str], body: aiohttp.StreamReader
    ) -> tuple[int, bytes]:
        """The master asks which release this is, or has this host go on as the one that is installed."""
        if await body.read() and caller == self._voter.promise.holder and self._term is None:
            self._renewal.begin()
        return 200, release_word(self._renewal)

    def _list_candidates(self) -> tuple[str, ...]:
        """The hosts that may be the master, as they were where the file cannot be read."""
        try:
            self._candidates = self._cell.candidates()
        except CellFault as error:
            self._complain(str(error))
        return self._candidates

    def _leads(self) -> bool:
        return self._term is not None and self._term.held

    def _followed(self) -> str:
        """The other host that is the master by this host's promise, "" for none."""
        holder = self._voter.promise.holder
        return holder if self._term is None and holder != self._host and self._voter.unbound_s <= 0 else ""

    async def _asked_here(self, name: str, fields: dict[str, Any]) -> dict[str, Any]:
        """What the qmaster of this host and administrators ask. Raises NotAgreed, PeerAway."""
        if name == "in_sync":
            if self._term is None:
                raise NotAgreed("this host is not the master")
            await self._term.agree(fields["in_sync"], tuple(frozenset(names) for names in fields["sets"]))
        elif name == "take_over":
            await self._take_over(bool(fields.get("force")))
        elif name == "releases":
            others = [host for host in self._list_candidates() if host != self._host]
            return await releases_of(self._peers, others, str(fields.get("restart", "")))
        return self._status()

    async def _take_over(self, force: bool) -> None:
        holder = self._voter.promise.holder
        if self._term is not None:
            return
        if not force and holder and self._voter.unbound_s <= 0:
            status, said = await self._peers.call(holder, "hand_over", answer_s=_HAND_OVER_S + 5)
            if status != 200:
                raise PeerAway(f"host {holder} does not hand over: {said.decode(errors='replace')}")
        self._wish = Wish(force, self._voter.promise.epoch)

    def _status(self) -> dict[str, Any]:
        promise, term = self._voter.promise, self._term
        return {
            "host": self._host,
            "leads": self._leads(),
            "wants": self._wish is not None,
            "master": promise.holder,
            "epoch": promise.epoch,
            "in_sync": list(promise.in_sync),
            "closed": promise.closed,
            "known": term is not None or (self._heard and self._voter.unbound_s <= 0),
            "position": list(self._position()),
            "voters": [sorted(names) for names in term.lease.sets] if term is not None else [],
            "away": dict(term.away) if term is not None else {},
        }

    def _complain(self, complaint: str) -> None:
        """Say once what is wrong, until that has changed."""
        if complaint not in self._complaints:
            _log.error("%s", complaint)
        self._complaints.add(complaint)
