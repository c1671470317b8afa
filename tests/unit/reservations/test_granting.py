"""The slots of an advance reservation, and the jobs that it excludes."""

from __future__ import annotations

from pathlib import Path

import pytest

from gridengine.protocols.delivery import Load
from gridengine.state.bookings import CLUSTER
from tests.harness import LOAD
from tests.unit.reservations.conftest import ReservingCell


@pytest.mark.statement("AR-25", "AR-28", "AR-2", "AR-54", "X-9")
def test_a_reservation_from_now_on_is_granted_and_runs(cell: ReservingCell) -> None:
    answer = cell.request(duration=1000)
    assert answer.answers == [("info", "Your advance reservation 1 has been granted")]
    assert cell.ar(1).state == "r"
    assert (cell.ar(1).start_time, cell.ar(1).end_time) == (cell.now, cell.now + 1000)
    assert cell.granted(1) == {"all.q@h1": 1}
    assert cell.qrsub() == 2


@pytest.mark.statement("AR-28")
def test_numbers_are_spooled_and_begin_again_at_1(cell: ReservingCell) -> None:
    first = cell.qrsub()
    cell.qdel_ar(first)
    cell.restart()
    assert cell.qrsub() == first + 1
    cell.state.next_ar_id = 9_999_999
    assert cell.qrsub() == 9_999_999
    assert cell.qrsub() == 1
    assert cell.qrsub() == 3, "2 is in use"


@pytest.mark.statement("AR-39", "AR-32")
def test_windows_that_do_not_overlap_share_slots(cell: ReservingCell) -> None:
    whole = {"pe": "mpi", "pe_range": "12"}
    cell.qrsub(at=1000, duration=1000, **whole)
    cell.qrsub(at=2000, duration=1000, **whole)
    cell.qrsub(at=0, duration=1000, **whole)
    for at, duration in ((0, 1001), (1999, 10), (2999, 1), (500, 10000)):
        assert cell.refused(at=at, duration=duration) == "advance_reservation: no suitable queues"
    cell.qrsub(at=3000, duration=10)


@pytest.mark.statement("AR-40", "AR-42")
def test_running_jobs_block_reservations_for_as_long_as_they_may_run(tmp_path: Path) -> None:
    cell = ReservingCell(tmp_path, hosts=1, slots=1)
    job = cell.submit(hard=["h_rt=100"])
    cell.cycle()
    assert cell.placed(job)
    cell.refused(at=99, duration=10)
    number = cell.qrsub(at=100, duration=10)
    cell.qdel_ar(number)
    cell.offset(60)
    cell.refused(at=159, duration=10)
    cell.qrsub(at=160, duration=10)
    cell.end(job)
    cell.qdel_ar("*")
    for user in ("alice", "bob"):
        cell.ask("delete_jobs", user, users=["*"])
    job = cell.submit()
    cell.cycle()
    cell.refused(at=10_000_000, duration=10)


@pytest.mark.statement("AR-40")
def test_a_reservation_stops_no_running_job_and_names_the_one_that_keeps_it(tmp_path: Path) -> None:
    """The decision about AR-127, adr/0081: reservations do not start beside jobs without a limit, and do not preempt them."""
    cell = ReservingCell(tmp_path, hosts=1, slots=1)
    job = cell.submit(rerun=True)
    cell.cycle()
    before = cell.placed(job)
    assert before
    assert cell.refused(at=60, duration=10) == "advance_reservation: no suitable queues"
    answer = cell.request(at=60, duration=10, verify="v")
    texts = [text for _, text in answer.answers]
    assert f'queue instance "all.q@h1" is held by job {job} forever: it has no run time limit' in texts
    assert answer.status == 1
    cell.wait(120)
    cell.cycle()
    assert cell.placed(job) == before and cell.state.jobs[job].tasks[1].attempt == 1
    assert cell.signals == [], "nothing was sent to the job"


@pytest.mark.statement("AR-41", "AR-42")
def test_jobs_keep_away_from_what_is_reserved_later(tmp_path: Path) -> None:
    cell = ReservingCell(tmp_path, hosts=1, slots=1)
    cell.offset(60)
    cell.qrsub(at=1000, duration=10)
    endless = cell.submit()
    long = cell.submit(hard=["h_rt=941"])
    fits = cell.submit(hard=["h_rt=940"])
    cell.cycle()
    assert not cell.placed(endless) and not cell.placed(long)
    assert cell.placed(fits)


@pytest.mark.statement("AR-42")
def test_default_duration_counts_for_jobs_without_a_limit(tmp_path: Path) -> None:
    cell = ReservingCell(tmp_path, hosts=1, slots=1)
    cell.configure("scheduler", "", default_duration="0:10:0")
    cell.qrsub(at=601, duration=10)
    job = cell.submit()
    cell.cycle()
    assert cell.placed(job)


@pytest.mark.statement("AR-43")
def test_endless_jobs_and_reservations_share_an_instance(tmp_path: Path) -> None:
    cell = ReservingCell(tmp_path, hosts=1, slots=4)
    cell.qrsub(at=100, pe="smp", pe_range="2")
    jobs = [cell.submit() for _ in range(3)]
    cell.cycle()
    assert [bool(cell.placed(job)) for job in jobs] == [True, True, False]
    cell.refused(at=5000, pe="smp", pe_range="3")
    cell.qrsub(at=5000, pe="smp", pe_range="2")


@pytest.mark.statement("AR-33", "AR-35")
def test_disabled_suspended_and_unknown_instances_are_suitable(tmp_path: Path) -> None:
    cell = ReservingCell(tmp_path, hosts=4, slots=1)
    cell.admin("change_states", action="disable", what="queue", targets=["all.q@h1"])
    cell.admin("change_states", action="suspend", what="queue", targets=["all.q@h2"])
    cell.master.lose_host("h3")
    cell.report("h4", Load(cell.now, {**LOAD, "np_load_avg": "99"}))
    cell.configure("cluster_queue", "all.q", load_thresholds="np_load_avg=1.75")
    cell.qrsub(pe="mpi", pe_range="4")


@pytest.mark.statement("AR-33", "AR-34")
def test_orphaned_and_ambiguous_instances_are_not(cell: ReservingCell) -> None:
    job = cell.submit(hard=["hostname=h1"])
    cell.cycle()
    cell.configure("host_group", "@allhosts", hostlist="h2 h3")
    assert cell.state.instances["all.q@h1"].orphaned and cell.placed(job)
    cell.refused(hard_queues=["all.q@h1"])
    cell.add("host_group", "@a", group_name="@a", hostlist="h2")
    cell.add("host_group", "@b", group_name="@b", hostlist="h2")
    cell.configure("cluster_queue", "all.q", seq_no="0,[@a=1],[@b=2]")
    cell.refused(hard_queues=["all.q@h2"])
    cell.qrsub(hard_queues=["all.q@h3"])


@pytest.mark.statement("AR-36", "AR-21")
def test_every_named_user_must_have_access(cell: ReservingCell) -> None:
    cell.admin("change_users", verb="add", users=["bob"], lists=["denied_users"])
    cell.configure("cluster_queue", "all.q", xuser_lists="denied_users")
    cell.qrsub()
    cell.refused(users=["alice", "bob"])
    cell.refused(users=["@denied_users"])
    cell.admin("change_users", verb="add", users=["alice", "bob"], lists=["both"])
    cell.refused(users=["@both"])
    cell.qrsub(users=["@both", "!bob"])
    cell.admin("change_users", verb="add", users=["alice"], lists=["few"])
    cell.configure("parallel_environment", "smp", user_lists="few")
    cell.qdel_ar(cell.qrsub(pe="smp", pe_range="2"))
    cell.configure("parallel_environment", "smp", user_lists="few", xuser_lists="both")
    cell.refused(pe="smp", pe_range="2")


@pytest.mark.statement("AR-36")
@pytest.mark.parametrize("users", [["alice", "bob"], ["bob", "alice"]])
def test_every_named_user_must_have_access_to_the_parallel_environment(cell: ReservingCell, users: list[str]) -> None:
    cell.admin("change_users", verb="add", users=["alice"], lists=["few"])
    cell.configure("parallel_environment", "smp", user_lists="few")
    cell.refused(users=users, pe="smp", pe_range="2")
    cell.qrsub(users=["alice"], pe="smp", pe_range="2")


@pytest.mark.statement("AR-36")
def test_access_of_the_owner_does_not_count_where_others_are_named(cell: ReservingCell) -> None:
    cell.admin("change_users", verb="add", users=["bob"], lists=["few"])
    cell.admin("change_users", verb="add", users=["carol"], lists=["others"])
    cell.configure("parallel_environment", "smp", user_lists="few others")
    cell.refused(pe="smp", pe_range="2")
    cell.qrsub(users=["bob", "carol"], pe="smp", pe_range="2")


@pytest.mark.statement("AR-47", "AR-46", "AR-19")
def test_pe_slots_are_booked_for_the_window(cell: ReservingCell) -> None:
    cell.configure("parallel_environment", "mpi", slots="6")
    number = cell.qrsub(pe="mp*", pe_range="2-4", at=100, duration=100)
    assert cell.ar(number).granted_pe == "mpi"
    assert cell.ar(number).slots == 4
    cell.refused(pe="mpi", pe_range="3", at=150)
    cell.qrsub(pe="mpi", pe_range="3", at=200)
    waits = cell.submit(pe="mpi", pe_range="4")
    runs = cell.submit(pe="mpi", pe_range="2", hard=["h_rt=50"])
    cell.cycle()
    assert not cell.placed(waits) and cell.placed(runs)


@pytest.mark.statement("AR-49", "AR-51", "AR-38")
def test_consumables_of_every_level_are_booked(cell: ReservingCell) -> None:
    for line in ("lic INT <= YES YES 0", "tok INT <= YES JOB 0", "mem INT <= YES YES 2"):
        cell.complex(line)
    cell.configure("exec_host", "global", complex_values="lic=6,tok=2")
    cell.configure("exec_host", "h1", complex_values="mem=4")
    first = cell.qrsub(pe="mpi", pe_range="4", hard=["lic=1", "tok=1"])
    assert cell.state.reserved.held[first].at(CLUSTER) | {"mem": 8.0} == {"slots": 4.0, "lic": 4.0, "tok": 1.0, "mem": 8.0}
    assert cell.granted(first).get("all.q@h1", 0) <= 2, "the default of mem is booked, too"
    cell.refused(hard=["lic=3"])
    cell.qrsub(hard=["lic=2", "tok=1"])
    cell.refused(hard=["tok=1"])
    job = cell.submit(hard=["lic=1"])
    cell.cycle()
    assert not cell.placed(job), "AR-41: the cluster's licenses are reserved"


@pytest.mark.statement("AR-48")
def test_an_exclusive_reservation_has_its_host_alone(cell: ReservingCell) -> None:
    cell.complex("ex BOOL EXCL YES YES 0")
    cell.configure("exec_host", "h1", complex_values="ex=true")
    cell.configure("host_group", "@allhosts", hostlist="h1")
    job = cell.submit()
    cell.cycle()
    cell.refused(hard=["ex=true"])
    cell.end(job)
    cell.qrsub(hard=["ex=true"], at=100, duration=100)
    cell.refused(at=150)
    cell.refused(at=150, hard=["ex=true"])
    waits, runs = cell.submit(), cell.submit(hard=["h_rt=100"])
    cell.cycle()
    assert not cell.placed(waits) and cell.placed(runs)


@pytest.mark.statement("AR-50")
def test_forced_attributes_must_be_asked_for(cell: ReservingCell) -> None:
    cell.complex("sec BOOL == FORCED NO 0")
    cell.configure("cluster_queue", "all.q", complex_values="sec=true")
    cell.refused()
    cell.qrsub(hard=["sec=true"])


@pytest.mark.statement("AR-44", "AR-45")
def test_quotas_do_not_matter(cell: ReservingCell) -> None:
    entries = [("name", "nothing", 1), ("enabled", "TRUE", 2), ("limit", "to slots=0", 3)]
    assert cell.admin("config_add", kind="resource_quota", name="nothing", attributes=entries).status == 0
    number = cell.qrsub()
    job = cell.submit(ar=number)
    cell.cycle()
    assert cell.placed(job)


@pytest.mark.statement("AR-37")
def test_a_calendar_that_closes_within_the_window_does_not_suit(cell: ReservingCell) -> None:
    # the clock of the tests begins on 15 January 2027 at 08:00 UTC, a Friday
    cell.add("calendar", "cal", calendar_name="cal", year="NONE", week="fri=12-14=off fri=16-17=suspended")
    cell.configure("cluster_queue", "all.q", calendar="cal")
    cell.qrsub(duration=4 * 3600)
    answer = cell.request(duration=4 * 3600 + 1)
    assert "queue is calendar disabled in selected time frame" in answer.answers[1][1]
    assert "calendar suspended" in cell.request(at=8 * 3600 + 60, duration=10).answers[1][1]
    cell.qrsub(at=6 * 3600, duration=2 * 3600)
    cell.qrsub(at=9 * 3600, duration=2 * 3600)


@pytest.mark.statement("AR-9", "AR-15", "AR-20")
def test_type_checkpoint_and_queues_narrow_the_choice(cell: ReservingCell) -> None:
    cell.add("checkpoint", "ck", ckpt_name="ck")
    cell.refused(checkpoint="ck")
    cell.configure("cluster_queue", "all.q", ckpt_list="ck", qtype="BATCH")
    cell.qrsub(checkpoint="ck")
    cell.refused(now=True)
    cell.configure("cluster_queue", "all.q", qtype="INTERACTIVE")
    cell.qrsub(now=True)
    assert "unknown queue" in cell.refused(hard_queues=["nope.q"])
    assert "does not exist" in cell.refused(pe="nope", pe_range="1")
    assert "does not exist" in cell.refused(checkpoint="nope")


@pytest.mark.statement("AR-14")
def test_the_master_slot_is_in_the_master_queue(cell: ReservingCell) -> None:
    number = cell.qrsub(pe="mpi", pe_range="2", master_queues=["all.q@h3"])
    assert cell.ar(number).granted[0].instance == "all.q@h3"
    answer = cell.request(master_queues=["all.q@h3"])
    assert answer.status == 0 and answer.answers[0][0] == "warning"


@pytest.mark.statement("AR-17", "AR-18")
def test_verify_reports_and_makes_nothing(cell: ReservingCell) -> None:
    answer = cell.request(verify="v", hard=["hostname=h2"])
    assert answer.answers[-1] == ("info", "verification: found suitable queue(s)")
    assert sum('"all.q@h1"' in text or "host \"h1\"" in text for _, text in answer.answers) == 1
    answer = cell.request(verify="v", hard=["arch=none"])
    assert (answer.status, answer.answers[-1][1]) == (1, "verification: no suitable queues")
    assert not cell.state.reservations


@pytest.mark.statement("AR-17", "AR-18")
def test_a_refusal_explains_twenty_instances_and_a_report_all(tmp_path: Path) -> None:
    cell = ReservingCell(tmp_path, hosts=23)
    refused = cell.request(hard=["arch=none"])
    assert refused.answers[0] == ("error", "advance_reservation: no suitable queues")
    assert len(refused.answers) == 1 + 20
    report = [text for _, text in cell.request(hard=["arch=none"], verify="v").answers]
    assert sum("@h" in text or "host" in text for text in report) >= 23


@pytest.mark.statement("AR-19")
@pytest.mark.parametrize("pe_range", ["0", "0-4", "10000000"])
def test_slots_that_cannot_be_are_refused(cell: ReservingCell, pe_range: str) -> None:
    assert cell.refused(pe="mpi", pe_range=pe_range).startswith("denied: the number of slots (-pe, -alloc) is wrong: ")


@pytest.mark.statement("SO-19", "AR-13")
@pytest.mark.parametrize("address", ["a b", "|/bin/x", "/tmp/x"])
def test_addresses_that_cannot_be_are_refused(cell: ReservingCell, address: str) -> None:
    text = f"job rejected: -M: {address!r} is no mail address: a user name, or local@domain"
    assert cell.refused(mail_list=["x@y", address]) == text
