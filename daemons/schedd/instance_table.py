"""The instance table: a row for each queue instance with the figures that dispatch needs: free slots, open or not, rank.

Owns these figures for one configuration. The scheduler's view marks hosts whose figures may have changed; `refresh` reads
them from the state again. During a cycle dispatch notes its grants here; the next refresh replaces them.
"""

from __future__ import annotations

from typing import NamedTuple

from daemons.schedd.load_formula import CompiledFormula
from gridengine.placement.calendar_windows import CalendarWindows
from gridengine.placement.config_snapshot import QUEUE_ATTRIBUTES, Capacity, PlacementConfig
from gridengine.placement.ledger import Ledger
from gridengine.placement.natural_order import natural_order
from gridengine.placement.obstacles import obstacle
from gridengine.state.bookings import Holder, holders_at
from gridengine.state.queues import InstanceConfig

Rank = tuple[float, float, float, int]


class HostRow:
    """A host: its weighted load, its slots in use, the rows of its queue instances.

    watched: a load or suspend threshold, or the load formula, uses a consumable, so a grant may change load and open rows.
    """

    __slots__ = ("name", "holder", "load", "used", "rows", "capacity", "has_consumables", "watched")

    def __init__(self, holder: Holder, capacity: Capacity, watched: bool) -> None:
        self.name, self.holder = holder.name, holder
        self.load = 0.0
        self.used = 0
        self.rows: list[InstanceRow] = []
        self.capacity = capacity
        self.has_consumables = bool(capacity.consumables or capacity.exclusives)
        self.watched = watched

    def free_slots(self) -> int:
        """The free slots of its open rows."""
        return sum(row.free for row in self.rows if row.open and row.free > 0)


class InstanceRow:
    """A queue instance. `has_consumables`: the instance has consumables besides its slots. `index`: its position by name."""

    __slots__ = ("name", "holder", "host", "config", "capacity", "has_consumables", "index", "seq_no", "free", "open")

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
    """Rows of one cluster queue with equal configuration (`config`), and its `capacity`; `kinds`: the same rows by kind of host.
    """

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
    """All rows. `by_seq_no`: queue_sort_method is seqno. `adjustments`: job_load_adjustments.

    decided: queue attributes of which no host reports a value, so that the configuration alone decides on a request for one.
    thresholds: names of the instances with suspend thresholds. has_calendars: at least one instance has a calendar.
    `windows`: the calendars of the cycle if it makes reservations, else None.
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
        reported = {name for host in config_snapshot.state.hosts.values() for name in host.load}
        self.decided = frozenset(QUEUE_ATTRIBUTES) - reported
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
                host = HostRow(of_host, config_snapshot.capacities[of_host], self.formula.on_consumables)
                self.hosts[of_host.name] = host
            capacity = config_snapshot.capacities[of_instance]
            row = self.rows[name] = InstanceRow(of_instance, host, config, capacity, index)
            host.rows.append(row)
            self.has_calendars = self.has_calendars or bool(config.calendar)
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
        """The rows of a host; none for a host without queues."""
        found = self.hosts.get(host)
        return found.rows if found is not None else []

    def refresh(self, hosts: set[str], ledger: Ledger) -> list[InstanceRow]:
        """Read the figures of these hosts from the state. Returns their open rows with free slots."""
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
        """Compute the weighted load of a host, and which of its rows are open."""
        host.load = self.formula.weigh(ledger, host.name)
        for row in host.rows:
            row.open = obstacle(self.config_snapshot, ledger, self.config_snapshot.state.instances[row.name]) is None

    def rank(self, row: InstanceRow) -> Rank:
        """Sort key of rows: load and sequence number in the configured order, then fewest slots in use, then the name.

        Source: sge_sched_conf(5) queue_sort_method, SC-5. The last two make it deterministic and spread jobs.
        """
        host = row.host
        if self.by_seq_no:
            return (row.seq_no, host.load, host.used, row.index)
        return (host.load, row.seq_no, host.used, row.index)
