"""The play that a kept spool is made by: a cell in which everything is in every state that a spool can hold.

Defines the events of the cell. The script runs twice, as act `a` and as act `b`, with a snapshot between them: so the snapshot
and the journal must both contain each fact. The expected facts are beside each spool, in its `facts.toml`. A
new thing that is spooled gets its scene here, and its facts beside the spool of the release that brings it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gridengine.protocols.delivery import Checkpointed, Ended, Load, Started, UsageReport
from gridengine.protocols.orders import JobFault, Orders
from gridengine.state.jobs import Usage
from tests.harness import LOAD, MASTER, Cell

ACTS = ("a", "b")
HOSTS = [f"{act}{number}" for act in ACTS for number in range(1, 8)]


class Play:
    """One act, on hosts, queues and names of its own."""

    def __init__(self, cell: Cell, act: str) -> None:
        self.cell, self.act = cell, act
        self.queue = f"{act}.q"

    def run(self) -> None:
        """All scenes. Hosts of the other act receive no instructions meanwhile, so that theirs stay pending."""
        self.cell.names = [name for name in HOSTS if name.startswith(self.act)]
        self.configuration()
        self.history()
        self.arrays()
        self.running()
        self.conditions()
        self.parallel()
        self.waiting()
        self.reservations()
        self.hosts()
        self.units()
        self.cell.master.tick()
        self.cell.master.flush()

    # --- helpers -------------------------------------------------------------------------------------------

    def submit(self, name: str, user: str = "alice", host: int = 1, **fields: Any) -> int:
        """A job of this act on one of its hosts, or with host 0 wherever there is room."""
        fields.setdefault("hard_queues", [f"{self.queue}@{self.act}{host}" if host else self.queue])
        fields = {"binary": True, "script_file": "/bin/sleep", "name": f"{self.act}_{name}", **fields}
        return self._number("submit", user, "job_id", **fields)

    def start(self, name: str, user: str = "alice", host: int = 1, **fields: Any) -> int:
        """A job that its host has taken and runs."""
        job = self.submit(name, user, host, **fields)
        self.cell.cycle()
        assert self.cell.placed(job), name
        return job

    def must(self, request: str, user: str = "alice", **fields: Any) -> None:
        answer = self.cell.ask(request, user, MASTER if user == "root" else f"{self.act}1", **fields)
        assert answer.status == 0, (request, answer.answers)

    def add(self, kind: str, name: str, **attributes: str) -> None:
        answer = self.cell.add(kind, name, **attributes)
        assert answer.status == 0, answer.answers

    def configure(self, kind: str, name: str, **attributes: str) -> None:
        answer = self.cell.configure(kind, name, **attributes)
        assert answer.status == 0, answer.answers

    def reserve(self, name: str, host: int = 0, at: float = 0.0, duration: float = 1000.0, **fields: Any) -> int:
        fields.setdefault("hard_queues", [f"{self.queue}@{self.act}{host}" if host else self.queue])
        if at:
            fields["start_time"] = self.cell.now + at
        return self._number("reserve", "alice", "id", name=f"{self.act}_{name}", duration=duration, **fields)

    def _number(self, request: str, user: str, of: str, **fields: Any) -> int:
        answer = self.cell.ask(request, user, f"{self.act}1", **fields)
        assert answer.status == 0, (request, fields, answer.answers)
        return int(answer.data[of])  # type: ignore[index,call-overload]

    def key_of(self, job: int, task: int = 1) -> tuple[int, ...]:
        return next(key for key in self.cell.running if key[:2] == (job, task))

    def pass_time(self, seconds: float) -> None:
        """Time in which the hosts of this act go on reporting."""
        self.cell.pass_time(seconds)
        for name in self.cell.names:
            self.cell.report(name, Load(self.cell.now))

    # --- scenes --------------------------------------------------------------------------------------------

    def configuration(self) -> None:
        act = self.act
        self.add("host_group", f"@{act}", hostlist=" ".join(self.cell.names))
        self.add("host_group", f"@{act}gone", hostlist="NONE")
        self.must("config_delete", "root", kind="host_group", name=f"@{act}gone")
        self.add("parallel_environment", act, allocation_rule="2", slots="99", control_slaves="TRUE", job_is_first_task="FALSE")
        self.add("checkpoint", act, interface="application-level", migr_command="/m", signal="none", when="xm")
        row = {"name": f"{act}_lic", "shortcut": f"{act}_lic", "type": "INT", "relop": "<=", "requestable": "YES"}
        row |= {"consumable": "YES", "default": "0", "urgency": "0"}
        lines = [(name, value, 1) for name, value in row.items()]
        self.must("config_add", "root", kind="complex", name=f"{act}_lic", attributes=lines)
        self.configure("exec_host", f"{act}1", complex_values=f"{act}_lic=5")
        lists = {"pe_list": act, "ckpt_list": act, "rerun": "TRUE"}
        self.add("cluster_queue", self.queue, hostlist=f"@{act}", slots="9", load_thresholds="NONE", **lists)
        self.add("cluster_queue", f"{act}high.q", hostlist=f"{act}5", slots="9", load_thresholds="NONE")
        self.add("cluster_queue", f"{act}old.q", hostlist=f"{act}6", slots="1", load_thresholds="NONE")
        self.configure("cluster_queue", f"{act}high.q", subordinate_list=f"{self.queue}=1")
        self.add("resource_quota", act, limit=f"users {{*}} hosts {act}1 to {act}_lic=4")
        self.add("project", act)
        self.add("user", f"{act}_user", default_project=act)
        self.must("change_users", "root", verb="add", users=["alice"], lists=[f"{act}_list"])
        self.add("host_group", f"@{act}rule", hostlist="NONE", rule=f"{act}_lic>0")
        self.cell.report(f"{act}7", Load(self.cell.now, dict(LOAD), full=True, incarnation=f"{act}boot"))
        self.must("change_share_tree", "root", verb="add", nodes=[f"/{act}=70"])

    def history(self) -> None:
        """Jobs that are over: well, badly, and with resources that the share tree counts."""
        self.cell.end(self.start("forgotten", "bob", project=self.act))
        self.must("clear_usage", "root", users=["bob"])
        self.cell.end(self.start("done", project=self.act))
        self.cell.end(self.start("failed", "bob", project=self.act), exit_status=7)
        removed = self.start("removed")
        self.must("delete_jobs", targets=[str(removed)])
        self.cell.deliver()
        self.cell.end(removed, failed=100, exit_status=137)
        never = self.submit("never", holds="u")
        self.must("delete_jobs", targets=[str(never)])

    def arrays(self) -> None:
        """Of seven tasks one has ended, one is in error, one runs again after exit 99, two run, one is deleted, one is held."""
        array = self.start("array", host=2, tasks="1-13:2", task_concurrency=4)
        self.cell.end(array, 1)
        self.cell.end(array, 3, failed=26, reason="can't open output file")
        self.cell.end(array, 7, exit_status=99, failed=25)
        self.must("delete_jobs", targets=[f"{array}.9"])
        self.must("hold_jobs", targets=[str(array)], tasks="11")

    def running(self) -> None:
        cell = self.cell
        given = {"environment": {"COLOUR": "blue"}, "environment_names": ["COLOUR"], "context": {"k": "v"}}
        plain = self.start("plain", comment="for the record", **given)
        cell.report(f"{self.act}1", Started(self.key_of(plain), cell.now))
        cell.report(f"{self.act}1", UsageReport(self.key_of(plain), Usage(cpu=12.5, maxvmem=4096.0)))
        self.start("licence", hard=[f"{self.act}_lic=2"], project=self.act)
        self.start("script", "bob", binary=False, script="#!/bin/sh\necho kept\n", script_file="kept.sh", args=["x y", "z"])
        stopped = self.start("stopped", host=2)
        self.must("change_states", action="suspend", what="job", targets=[str(stopped)])
        dying = self.start("dying", host=2)
        self.must("delete_jobs", targets=[str(dying)])
        saved = self.start("saved", host=2, checkpoint=self.act, checkpoint_when="0:10:0")
        cell.report(f"{self.act}2", Checkpointed(self.key_of(saved), 4711))
        self.start("below", host=5)
        self.start("above", host=0, hard_queues=[f"{self.act}high.q"])
        self.start("session", "bob", 1, kind="qlogin", now=True, script_file="QLOGIN")
        cell.deliver()
        moving = self.start("moving", "bob", host=7)
        self.must("change_states", "root", action="reschedule", what="job", targets=[str(moving)])
        ranked = [self.start(name, host=7) for name in ("rich", "poor")]
        self.must("alter_jobs", "root", targets=[str(ranked[0])], changes={"override_tickets": 100})
        self.configure("configuration", "global", reprioritize="1")
        self.configure("scheduler", "", reprioritize_interval="0:0:40")
        self.pass_time(41)
        cell.cycle()
        self.submit("handed", host=4)
        cell.place()

    def conditions(self) -> None:
        """The conditions of a running task that `running` lacks: suspended by a slot-wise list, suspended by a threshold, and
        deleted by an operator."""
        act, cell = self.act, self.cell
        for queue in ("low.q", "top.q", "hot.q"):
            self.add("cluster_queue", act + queue, hostlist=f"{act}5", slots="9", load_thresholds="NONE")
        self.configure("cluster_queue", f"{act}top.q", subordinate_list=f"slots=1({act}low.q:0:sr)")
        self.start("outranked", host=0, hard_queues=[f"{act}low.q"])
        self.start("outranking", host=0, hard_queues=[f"{act}top.q"])
        heated = self.start("heated", host=0, hard_queues=[f"{act}hot.q"])
        cell.deliver()
        self.configure("cluster_queue", f"{act}hot.q", suspend_thresholds="np_load_avg=0.01")
        cell.report(f"{act}5", Started(self.key_of(heated), cell.now))
        cell.cycle()
        ordered = self.start("ordered", host=2)
        self.must("delete_jobs", "root", targets=[str(ordered)])

    def parallel(self) -> None:
        """A job with two slave tasks, of which one has ended; a job whose master task has ended and waits for its slave task."""
        for name in ("wide", "ending"):
            places = [f"{self.queue}@{self.act}{number}" for number in (3, 4)]
            job = self.start(name, host=0, hard_queues=places, master_queues=places[:1], pe=self.act, pe_range="4")
            keys = [self._slave(job, command) for command in ("hostname", "date")]
            self._slave_ends(keys[0])
            if name == "ending":
                self.cell.running.pop((job, 1, 1))
                self.cell.report(f"{self.act}3", Ended((job, 1, 1), exit_status=7, end_time=self.cell.now))

    def _slave(self, job: int, command: str) -> tuple[int, ...]:
        answer = self.cell.ask("start_slave", "alice", f"{self.act}3", job_id=job, host=f"{self.act}4", command=command)
        assert answer.status == 0, answer.answers
        self.cell.deliver()
        return tuple(answer.data["task"])  # type: ignore[index]

    def _slave_ends(self, key: tuple[int, ...]) -> None:
        host = self.cell.running.pop(key)
        self.cell.report(host, Ended(key, 0, 3, 0, "", self.cell.now, self.cell.now, {"cpu": 2.0}))

    def waiting(self) -> None:
        self.submit("pending", hard=[f"{self.act}_lic=5"])
        self.submit("held", holds="u")
        both = self.submit("held_twice", holds="u", priority=-100)
        self.must("hold_jobs", "root", targets=[str(both)], holds="o")
        late = self.submit("late", start_after=self.cell.now + 86400, reserve=True, merge=True, cwd="/work")
        self.submit("after", hold_jid=[f"{self.act}_late"])
        changed = self.submit("unchanged", holds="u", notify=False)
        new = {"name": f"{self.act}_changed", "notify": True, "mail_list": ["carol@x.org"], "mail_options": "be"}
        self.must("alter_jobs", targets=[str(changed)], changes={**new, "hard": ["h_rt=60"], "account": "other"})
        self.must("resubmit_jobs", targets=[str(late)], holds="u")
        rank = self.submit("rank", holds="u", job_share=3, args=["1"])
        self.must("alter_jobs", "root", targets=[str(rank)], changes={"override_tickets": 9, "priority": 5})
        for name in ("wrong", "righted"):
            job = self.start(name, host=1)
            self.cell.end(job, failed=26, reason="can't open output file")
        self.must("hold_jobs", targets=[str(job)])
        self.must("change_states", "root", action="clear", what="job", targets=[str(job)])
        puzzling = self.submit("puzzling")
        fault = JobFault(puzzling, self.cell.state.jobs[puzzling].version, "no number: x")
        self.cell.master.orders(Orders(self.cell.state.revision, faults=[fault]))

    def reservations(self) -> None:
        """w, r with a job, W, E, x with a job that cannot be reached, d, a series; a reservation that has ended, a deleted and
        an altered reservation."""
        cell = self.cell
        self.reserve("over", host=6, duration=10)
        leaving = self.reserve("leaving", host=6, duration=10)
        self._job_in(leaving, "leaving", 6)
        deleted = self.reserve("deleted", host=6)
        self._job_in(deleted, "deleted", 6)
        self.must("delete_reservations", targets=[str(deleted)])
        gone = self.reserve("gone", host=6)
        self.must("delete_reservations", targets=[str(gone)])
        self.pass_time(20)
        self.reserve("later", host=5, at=5000, pe=self.act, pe_range="2", allocation_rule="", hard=["h_rt=60"])
        now = self.reserve("now", host=1, duration=100000, heal=True, idle_limit=9000, users=["alice", "!bob"])
        self._job_in(now, "inside", 1)
        self.submit("outside", host=1, ar=now, start_after=cell.now + 50000)
        self.reserve("warned", host=4, at=5000)
        self.reserve("broken", host=4, duration=100000, hard_errors=True)
        self.reserve("daily", host=5, at=90000, duration=60, rule="FREQ=DAILY;COUNT=3")
        moved = self.reserve("moved", host=5, at=7000, duration=60)
        self.must("alter_reservations", targets=[str(moved)], changes={"start_time": cell.now + 8000, "account": "other"})
        self.must("change_states", "root", action="disable", what="queue", targets=[f"{self.queue}@{self.act}4"])

    def _job_in(self, reservation: int, name: str, host: int) -> None:
        job = self.start(name, host=host, ar=reservation)
        assert self.cell.state.jobs[job].ar == reservation

    def hosts(self) -> None:
        """1 had an orphan task and has a new daemon, 2 a queue in error, 3 a suspended queue, 4 a disabled queue, 6 is lost
        with an orphaned task and a task that was given up, 7 had a queue in error. 3 is drained, 2 was."""
        act, cell = self.act, self.cell
        orphan = 1000 * (1 + ACTS.index(act))
        faulty = self.start("faulty", host=2)
        cell.end(faulty, failed=8, reason="prolog exited with 1")
        self.start("orphan", "bob", 0, hard_queues=[f"{act}old.q"])
        self.configure("cluster_queue", f"{act}old.q", hostlist="NONE")
        self.must("change_states", "root", action="suspend", what="queue", targets=[f"{self.queue}@{act}3"])
        self.must("drain_hosts", "root", hosts=[f"{act}2", f"{act}3"], reason="fan")
        self.must("drain_hosts", "root", hosts=[f"{act}2"], end=True)
        cell.deliver()
        cell.master.execd_started(f"{act}1", f"{act}-process")
        empty = f"{act}7"
        unlucky = self.start("unlucky", host=7)
        cell.end(unlucky, failed=8, reason="prolog exited with 1")
        self.must("hold_jobs", targets=[str(unlucky)])
        self.must("change_states", "root", action="clear", what="queue", targets=[f"{self.queue}@{empty}"])
        cell.running[orphan, 1, 1] = f"{act}1"
        cell.inventory(f"{act}1")
        self.must("delete_jobs", "root", targets=[str(orphan)], force=True)
        cell.master.lose_host(f"{act}6")
        cell.master.flush()
        abandoned = next(job.id for job in cell.state.jobs.values() if job.name == f"{act}_deleted")
        self.must("delete_jobs", "root", targets=[str(abandoned)], force=True)


    def units(self) -> None:
        """A job with two of three named units; the host holds the third for a job that was given up."""
        act = self.act
        row = {"name": f"{act}_mic", "shortcut": f"{act}_mic", "type": "RSMAP", "relop": "<=", "requestable": "YES"}
        row |= {"consumable": "YES", "default": "0", "urgency": "0"}
        lines = [(name, value, 1) for name, value in row.items()]
        self.must("config_add", "root", kind="complex", name=f"{act}_mic", attributes=lines)
        self.configure("exec_host", f"{act}1", complex_values=f"{act}_lic=5,{act}_mic=3(0 1 left)")
        self.start("named", hard=[f"{act}_mic=2"])
        given_up = self.start("given_up", hard=[f"{act}_mic=1"])
        self.must("delete_jobs", "root", targets=[str(given_up)], force=True)
        used = {"0": 1, "1": 1, "left": 1}
        assert self.cell.state.units_in_use.of(f"{act}1", f"{act}_mic") == used


def perform(directory: Path) -> Cell:
    """A cell that has played both acts on a spool in the directory, the first of them kept in the snapshot."""
    cell = Cell(directory, HOSTS, slots=4)
    cell.admin("change_users", verb="add", users=["alice"], lists=["arusers"])
    Play(cell, "a").run()
    cell.master.spool.snapshot(cell.state)
    Play(cell, "b").run()
    return cell
