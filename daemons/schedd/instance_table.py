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
from gridengine.placement.natural_order import natural_order
from gridengine.placement.config_snapshot import Capacity, PlacementConfig
from gridengine.state.bookings import Holder, holders_at
from gridengine.state.queues import InstanceConfig

Rank = tuple[float, float, float, int]


class HostRow:
    """A host: its weighted load, slots in use on it, its places.

    watched: a load or suspend threshold, or the load formula, is on a consumable, so that a grant may change load and places.
    """

    __slots__ = ("name", "holder", "load", "used", "places", "level", "limited", "watched")

    def __init__(self, holder: Holder, capacity: Capacity, watched: bool) -> None:
        self.name, self.holder = holder.name, holder
        self.load = 0.0
        self.used = 0
        self.rows: list[InstanceRow] = []
        self.capacity = capacity
        self.has_consumables = bool(capacity.consumables or capacity.exclusives)
        self.watched = watched


class InstanceRow:
    """A queue instance on the board. `has_consumables`: it has consumables besides its slots. `index`: order of names."""

    __slots__ = ("name", "holder", "host", "config", "level", "limited", "index", "seq_no", "free", "open")

    def __init__(self, holder: Holder, host: HostRow, config: InstanceConfig, capacity: Capacity, index: int) -> None:
        self.name, self.holder = holder.name, holder
        self.host = host
        self.config = config
        self.capacity = capacity
        self.has_consumables = len(capacity.consumables) > 1 or bool(capacity.exclusives)
        self.index = index
        self.seq_no = config.seq_no
        self.free = 0
        self.open = False


class InstanceGroup(NamedTuple):
    """Places of one cluster queue that are configured alike; `kinds`: the same by kind of host."""

    queue: str
    config: InstanceConfig
    capacity: Capacity
    kinds: list[tuple[Capacity, list[InstanceRow]]]

    def add(self, row: InstanceRow) -> None:
        for capacity, rows in self.kinds:
            if capacity is row.host.capacity:
                rows.append(row)
                return
        self.kinds.append((row.host.capacity, [row]))


class InstanceTable:
    """All places. `by_seq_no`: queue_sort_method is seqno. `adjustments`: job_load_adjustments.

    thresholds: names of the places with suspend thresholds. has_calendars: any place
    follows a calendar. `windows`: the calendars of the cycle if it looks ahead, else None.
    """

    def __init__(self, config_snapshot: PlacementConfig) -> None:
        self.config_snapshot = config_snapshot
        scheduler = config_snapshot.scheduler
        self.by_seq_no = scheduler.by_seq_no
        self.formula = CompiledFormula(scheduler.load_formula, config_snapshot)
        self.adjustments = config_snapshot.adjustments()
        self.hosts: dict[str, HostRow] = {}
        self.rows: dict[str, InstanceRow] = {}
        self.groups: list[InstanceGroup] = []
        self.thresholds: list[str] = []
        self.has_calendars = False
        self.windows: CalendarWindows | None = None
        groups: dict[tuple[str, int], InstanceGroup] = {}
        state = config_snapshot.state
        for index, name in enumerate(sorted(state.instances, key=natural_order)):
            config = state.configs.get(name)
            if config is None:
                continue
            queue = state.instances[name].queue
            of_instance, of_host, _ = holders_at(name)
            host = self.hosts.get(of_host.name)
            if host is None:
                host = self.hosts[of_host.name] = HostRow(of_host, config_snapshot.capacities[of_host], self.formula.on_consumables)
            capacity = config_snapshot.capacities[of_instance]
            row = self.rows[name] = InstanceRow(of_instance, host, config, capacity, index)
            host.rows.append(row)
            self.has_calendars = self.has_calendars or config.text.get("calendar", "NONE").upper() != "NONE"
            if config.suspend_thresholds:
                self.thresholds.append(name)
            thresholds = (config_snapshot.entry(threshold) for threshold in (*config.load_thresholds, *config.suspend_thresholds))
            host.watched = host.watched or any(entry is not None and entry.is_consumable for entry in thresholds)
            key = (queue, id(capacity))
            if key not in groups:
                groups[key] = InstanceGroup(queue, config, capacity, [])
                self.groups.append(groups[key])
            groups[key].add(row)

    def rows_of(self, host: str) -> list[InstanceRow]:
        """The places on a host; none for a host without queues."""
        found = self.hosts.get(host)
        return found.rows if found is not None else []

    def refresh(self, hosts: set[str], ledger: Ledger) -> list[InstanceRow]:
        """Take the figures of these hosts from the state; their places that can take something now."""
        free: list[InstanceRow] = []
        for name in hosts:
            host = self.hosts.get(name)
            if host is None:
                continue
            host.used = int(ledger.of(host.holder, "slots"))
            self.refresh_load(host, ledger)
            for row in host.rows:
                row.free = row.config.slots - int(ledger.of(row.holder, "slots"))
                if row.open and row.free > 0:
                    free.append(row)
        return free

    def refresh_load(self, host: HostRow, ledger: Ledger) -> None:
        """Weighted load of a host, and which of its places are open."""
        host.load = self.formula.weigh(ledger, host.name)
        for row in host.rows:
            row.open = obstacle(self.config_snapshot, ledger, self.config_snapshot.state.instances[row.name]) is None

    def rank(self, row: InstanceRow) -> Rank:
        """Sorts places: load and sequence number in the configured order, then fewest slots in use, then the name.

        Source: sge_sched_conf(5) queue_sort_method, SC-5. The last two make it deterministic and spread jobs.
        """
        host = row.host
        if self.by_seq_no:
            return (row.seq_no, host.load, host.used, row.index)
        return (host.load, row.seq_no, host.used, row.index)
