"""The examples of the advance reservation specification, typed as they are printed there.

Where 8.1.9 itself prints another sentence than the specification, that sentence is expected (X-8, X-9, X-18).
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gridengine.state.bookings import CLUSTER
from tests.harness import USERS
from tests.unit.clients.shell import Shell
from tests.unit.reservations.conftest import ReservingCell

PEOPLE = ("user1", "user2", "user3", "rd141302")


class Transcript:
    """Runs lines such as `user1> qsub …`, each followed by its output and errors; a text describes the cell."""

    def __init__(self, directory: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any, hosts: str, slots: int = 1) -> None:
        monkeypatch.setenv("TZ", "UTC")
        time.tzset()
        for number, name in enumerate(PEOPLE):
            monkeypatch.setitem(USERS, name, 2000 + number)
        # h1 is where the people of the tests sit
        self.cell = ReservingCell(directory, ["h1", *hosts.split()], slots)
        self.cell.configure("host_group", "@allhosts", hostlist=hosts)
        self.cell.now = time.mktime((2006, 11, 27, 17, 11, 34, 0, 0, -1))
        self.cell.admin("change_users", verb="add", users=list(PEOPLE), lists=["arusers"])
        monkeypatch.setattr("clients.qrsub.time.time", lambda: self.cell.now)
        self.shell = Shell(self.cell, directory, monkeypatch, capsys)
        (self.shell.cwd / "job_script").write_text("#!/bin/sh\nsleep 600\n")

    def play(self, text: str) -> None:
        for command, expected in _steps(text):
            user, _, line = command.partition("> ")
            self.shell.user = user
            outcome = self.shell(line.replace("$user", user))
            shown = [each.rstrip() for each in (outcome.out + outcome.err).splitlines()]
            assert shown == expected, command


def _steps(text: str) -> Iterator[tuple[str, list[str]]]:
    """(command, expected lines) of a transcript."""
    command, expected = "", list[str]()
    for line in text.strip().splitlines():
        if line.partition("> ")[0] in (*PEOPLE, "root"):
            if command:
                yield command, expected
            command, expected = line, []
        else:
            expected.append(line.rstrip())
    yield command, expected


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> Any:
    return lambda hosts, slots=1: Transcript(tmp_path, monkeypatch, capsys, hosts, slots)


@pytest.mark.statement("AR-20", "AR-11", "AR-19", "X-9")
def test_reserving(scene: Any) -> None:
    transcript = scene("host1 host2 host3 sol-sparc64", slots=4)
    transcript.cell.now = time.mktime((2007, 1, 11, 10, 0, 0, 0, 0, -1))
    transcript.cell.add("parallel_environment", "alloc_pe_slots", allocation_rule="$pe_slots", slots="100")
    transcript.cell.configure("cluster_queue", "all.q", pe_list="alloc_pe_slots")
    transcript.play(
        """
user1> qrsub -q all.q -l "h=host1|host2|host3" -u $user -a 01121200 -d 1:0:0
Your advance reservation 1 has been granted
user1> qrsub -q "*@host1,*@host2,*@host3" -u $user -a 01121200 -d 1:0:0
Your advance reservation 2 has been granted
user1> qrsub -pe alloc_pe_slots 4 -l h=sol-sparc64 -u $user -a 01121200 -d 1:0:0
Your advance reservation 3 has been granted
"""
    )
    granted = [transcript.cell.granted(number) for number in (1, 2, 3)]
    assert granted == [{"all.q@host1": 1}, {"all.q@host2": 1}, {"all.q@sol-sparc64": 4}]


@pytest.mark.statement("AR-107", "AR-4")
def test_the_summary(scene: Any) -> None:
    transcript = scene("host1 host2")
    transcript.cell.now = time.mktime((2006, 12, 14, 14, 47, 23, 0, 0, -1))
    transcript.cell.state.next_ar_id = 192
    transcript.play(
        """
user1> qrsub -N project_xy -d 0:10:10
Your advance reservation 192 has been granted
user2> qrsub -a 0612181000 -d 24:0:10
Your advance reservation 193 has been granted
user1> qrstat -u *
ar-id   name       owner        state start at             end at               duration
------------------------------------------------------------------------------------------
    192 project_xy user1        r     12/14/2006 14:47:23  12/14/2006 14:57:33  00:10:10
    193            user2        w     12/18/2006 10:00:00  12/19/2006 10:00:10  24:00:10
"""
    )


@pytest.mark.statement("AR-36")
def test_every_user_must_have_access(scene: Any) -> None:
    transcript = scene("host1 host2")
    transcript.cell.admin("change_users", verb="add", users=["user3"], lists=["denied_users"])
    transcript.cell.configure("cluster_queue", "all.q", xuser_lists="denied_users")
    transcript.play(
        """
root> qconf -su denied_users
name    denied_users
type    ACL
fshare  0
oticket 0
entries user3
user1> qrsub -u user1,user2,user3 -q all.q -a 12141200 -d 1:0:0
advance_reservation: no suitable queues
Your reservation has no permission for cluster queue "all.q"
user1> qrsub -u user1,user2 -q all.q -a 12141200 -d 1:0:0
Your advance reservation 1 has been granted
"""
    )


@pytest.mark.statement("AR-40", "AR-41", "X-8", "X-9")
def test_jobs_without_a_run_time_limit_and_reservations_keep_apart(scene: Any) -> None:
    transcript = scene("host1 host2")
    transcript.cell.submit("rd141302", hard_queues=["*@host1"], name="Sleeper")
    transcript.cell.cycle()
    transcript.play(
        """
user1> qrsub -a 12141200 -d 0:30:0 -u user1 -h host1
advance_reservation: no suitable queues
Your reservation (-l hostname=host1) cannot run at host "host2" because it offers only qf:hostname=host2
queue instance "all.q@host1" dropped because it is full
user1> qrsub -a 12141200 -d 0:30:0 -u user1 -h host2
Your advance reservation 1 has been granted
user1> qsub -w e -l h=host2 job_script
Unable to run job: error: no suitable queues
Job 2 (-l hostname=host2) cannot run at host "host1" because it offers only qf:hostname=host1
Job 2 cannot run in queue instance "all.q@host2" because needed resources are reserved for advance reservation 1, which is \
to begin in 402:48:26
Exiting.
"""
    )


@pytest.mark.statement("AR-44", "AR-45")
def test_quotas_leave_reservations_alone(scene: Any) -> None:
    transcript = scene("host1 host2", slots=10)
    transcript.cell.add("resource_quota", "ten", enabled="TRUE", limit="users user1 to slots=10")
    transcript.play(
        """
user1> qrsub -pe make 10
missing value for "end time or duration" in advance reservation request
user1> qrsub -d 1:0:0 -pe make 10
Your advance reservation 1 has been granted
"""
    )
    inside = transcript.cell.submit("user1", ar=1, tasks="1-15")
    outside = transcript.cell.submit("user1", tasks="1-15")
    transcript.cell.cycle()
    jobs = [transcript.cell.state.jobs[number] for number in (inside, outside)]
    running = [sum(1 for task in job.tasks.values() if task.granted) for job in jobs]
    assert running == [10, 10], "20 slots: 10 with and 10 without the reservation"
    line = transcript.shell("qquota -u user1").lines[-1].split()
    assert line[:2] == ["ten/1", "slots=10/10"]


@pytest.mark.statement("AR-38")
def test_the_reserved_slots_of_an_instance(scene: Any) -> None:
    transcript = scene("brag", slots=20)
    transcript.play(
        """
rd141302> qrsub -d 1:0:0 -pe make 20
Your advance reservation 1 has been granted
"""
    )
    transcript.cell.submit("rd141302", ar=1, name="Sleeper")
    transcript.cell.cycle()
    lines = transcript.shell("qstat -f -u *").lines
    assert lines[0].split() == "queuename qtype resv/used/tot. load_avg arch states".split()
    assert lines[2].split()[:3] == ["all.q@brag", "BIP", "20/1/20"]
    assert lines[3].split()[2:5] == ["Sleeper", "rd141302", "r"]


@pytest.mark.statement("AR-126")
@pytest.mark.parametrize(
    ("options", "places"),
    [
        ("-alloc 2 4 -l license=1/2", {"all.q@host1": 2, "all.q@host2": 2}),
        ("-alloc $fill_up 10", {"all.q@host1": 4, "all.q@host2": 4, "all.q@host3": 2}),
    ],
)
def test_an_allocation_rule_and_shared_licenses(scene: Any, options: str, places: dict[str, int]) -> None:
    transcript = scene("host1 host2 host3", slots=4)
    transcript.cell.complex("license INT <= YES YES 0")
    transcript.cell.configure("exec_host", "global", complex_values="license=2")
    transcript.play(
        f"""
user1> qrsub {options} -d 1:0:0
Your advance reservation 1 has been granted
"""
    )
    assert transcript.cell.granted(1) == places
    if "license" in options:
        assert transcript.cell.state.reserved.held[1].at(CLUSTER)["license"] == 2


@pytest.mark.statement("X-18")
def test_a_master_queue_without_slots_to_share_is_accepted_with_a_warning(scene: Any) -> None:
    scene("host1").play(
        """
user1> qrsub -masterq all.q -d 1:0:0
Your advance reservation 1 has been granted
warning: -masterq has no effect without a parallel environment (-pe)
"""
    )
