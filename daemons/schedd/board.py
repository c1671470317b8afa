"""The board: every queue instance with what dispatch needs at hand: free slots, whether it is open, its rank.

Owns these figures for one configuration. The scheduler's view marks hosts whose figures may have changed; `refresh`
takes those anew from the state. During a cycle dispatch notes its grants here; the next refresh takes them back.
"""

from __future__ import annotations

from typing import NamedTuple

from daemons.schedd.load_formula import CompiledFormula
from gridengine.placement.calendar_windows import CalendarWindows
from gridengine.placement.ledger import Ledger
from gridengine.placement.obstacles import obstacle
from gridengine.placement.order import natural_order
from gridengine.placement.site import Level, Site
from gridengine.state.bookings import Holder, holders_at
from gridengine.state.queues import InstanceConfig

Rank = tuple[float, float, float, int]


class HostFigures:
    """A host: its weighted load, slots in use on it, its places.

    watched: a load or suspend threshold, or the load formula, is on a consumable, so that a grant may change load and places.
    """

    __slots__ = ("name", "holder", "load", "used", "places", "level", "limited", "watched")

    def __init__(self, holder: Holder, level: Level, watched: bool) -> None:
        self.name, self.holder = holder.name, holder
        self.load = 0.0
        self.used = 0
        self.places: list[BoardPlace] = []
        self.level = level
        self.limited = bool(level.consumables or level.exclusives)
        self.watched = watched


class BoardPlace:
    """A queue instance on the board. `limited`: it has consumables besides its slots. `index`: order of names."""

    __slots__ = ("name", "holder", "host", "config", "level", "limited", "index", "seq_no", "free", "open")

    def __init__(self, holder: Holder, host: HostFigures, config: InstanceConfig, level: Level, index: int) -> None:
        self.name, self.holder = holder.name, holder
        self.host = host
        self.config = config
        self.level = level
        self.limited = len(level.consumables) > 1 or bool(level.exclusives)
        self.index = index
        self.seq_no = config.seq_no
        self.free = 0
        self.open = False


class Group(NamedTuple):
    """Places of one cluster queue that are configured alike; `kinds`: the same by kind of host."""

    queue: str
    config: InstanceConfig
    level: Level
    kinds: list[tuple[Level, list[BoardPlace]]]

    def add(self, place: BoardPlace) -> None:
        for level, places in self.kinds:
            if level is place.host.level:
                places.append(place)
                return
        self.kinds.append((place.host.level, [place]))


class Board:
    """All places. `by_seq_no`: queue_sort_method is seqno. `adjustments`: job_load_adjustments.

    thresholds: names of the places with suspend thresholds. has_calendars: any place
    follows a calendar. `windows`: the calendars of the cycle if it looks ahead, else None.
    """

    def __init__(self, site: Site) -> None:
        self.site = site
        scheduler = site.scheduler
        self.by_seq_no = scheduler.by_seq_no
        self.formula = CompiledFormula(scheduler.load_formula, site)
        self.adjustments = site.adjustments()
        self.hosts: dict[str, HostFigures] = {}
        self.places: dict[str, BoardPlace] = {}
        self.groups: list[Group] = []
        self.thresholds: list[str] = []
        self.has_calendars = False
        self.windows: CalendarWindows | None = None
        groups: dict[tuple[str, int], Group] = {}
        state = site.state
        for index, name in enumerate(sorted(state.instances, key=natural_order)):
            config = state.configs.get(name)
            if config is None:
                continue
            queue = state.instances[name].queue
            of_place, of_host, _ = holders_at(name)
            host = self.hosts.get(of_host.name)
            if host is None:
                host = self.hosts[of_host.name] = HostFigures(of_host, site.levels[of_host], self.formula.on_consumables)
            level = site.levels[of_place]
            place = self.places[name] = BoardPlace(of_place, host, config, level, index)
            host.places.append(place)
            self.has_calendars = self.has_calendars or config.text.get("calendar", "NONE").upper() != "NONE"
            if config.suspend_thresholds:
                self.thresholds.append(name)
            thresholds = (site.entry(threshold) for threshold in (*config.load_thresholds, *config.suspend_thresholds))
            host.watched = host.watched or any(entry is not None and entry.is_consumable for entry in thresholds)
            key = (queue, id(level))
            if key not in groups:
                groups[key] = Group(queue, config, level, [])
                self.groups.append(groups[key])
            groups[key].add(place)

    def places_of(self, host: str) -> list[BoardPlace]:
        """The places on a host; none for a host without queues."""
        found = self.hosts.get(host)
        return found.places if found is not None else []

    def refresh(self, hosts: set[str], ledger: Ledger) -> list[BoardPlace]:
        """Take the figures of these hosts from the state; their places that can take something now."""
        free: list[BoardPlace] = []
        for name in hosts:
            host = self.hosts.get(name)
            if host is None:
                continue
            host.used = int(ledger.of(host.holder, "slots"))
            self.refresh_load(host, ledger)
            for place in host.places:
                place.free = place.config.slots - int(ledger.of(place.holder, "slots"))
                if place.open and place.free > 0:
                    free.append(place)
        return free

    def refresh_load(self, host: HostFigures, ledger: Ledger) -> None:
        """Weighted load of a host, and which of its places are open."""
        host.load = self.formula.weigh(ledger, host.name)
        for place in host.places:
            place.open = obstacle(self.site, ledger, self.site.state.instances[place.name]) is None

    def rank(self, place: BoardPlace) -> Rank:
        """Sorts places: load and sequence number in the configured order, then fewest slots in use, then the name.

        Source: sge_sched_conf(5) queue_sort_method, SC-5. The last two make it deterministic and spread jobs.
        """
        host = place.host
        if self.by_seq_no:
            return (place.seq_no, host.load, host.used, place.index)
        return (host.load, place.seq_no, host.used, place.index)
