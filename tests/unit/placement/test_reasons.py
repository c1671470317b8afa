"""The sentences of refusals, letter by letter: users and their scripts know them."""

from __future__ import annotations

import pytest

from gridengine.placement.reasons import DROPPED, TEXTS, Exceeded, Reason, ReservedFor, UnitsLeft, Violation
from gridengine.placement.values import Offer
from gridengine.state.configured.objects import ComplexEntry


def entry(name: str, kind: str) -> ComplexEntry:
    return ComplexEntry(name, name, kind, "<=", "YES", "YES", "0", 0.0)


SLOTS, H_RT, MEMORY = entry("slots", "INT"), entry("h_rt", "TIME"), entry("mem_free", "MEMORY")
ASKED = "(-l disk=1) "
SENTENCES = [
    (Reason("in_error"), "Job is in error state"),
    (Reason("held"), "Job is in hold state"),
    (Reason("dependencies"), "job dropped because of job dependencies"),
    (Reason("task_dependencies"), "job dropped because of array job dependencies"),
    (Reason("start_time"), "execution time not reached"),
    (Reason("paused", number=3), "job dropped for some seconds because its last 3 attempts ended within a minute each"),
    (Reason("user_limit", other="bob", number=4), "job dropped because user bob already has 4 running jobs (maxujobs)"),
    (Reason("task_limit", number=2), "not all array tasks may be started: 2 are running already"),
    (Reason("reservation_over", number=7), "job dropped because advance reservation 7 is no longer available"),
    (Reason("reservation_waiting", number=7), "job dropped because advance reservation 7 has not started"),
    (Reason("reservation_in_error", number=7), "job dropped because advance reservation 7 is in error state"),
    (Reason("not_reserved", other="mpi", number=7), "cannot run because PE mpi is not part of advance reservation 7"),
    (Reason("not_reserved", resource="excl", number=7), "cannot run because excl is not part of advance reservation 7"),
    (
        Reason("quota", left=Exceeded("bob/////", "one/1", SLOTS, 4.0, 3.0)),
        'cannot run because it exceeds limit "bob/////" in rule "one/1": slots=3/4',
    ),
    (
        Reason("quota", left=Exceeded("/////", "one/2", H_RT, 3600.0, None)),
        'cannot run because it exceeds limit "/////" in rule "one/2": h_rt=01:00:00',
    ),
    (Reason("disabled", "all.q@h1"), 'queue instance "all.q@h1" dropped because it is disabled'),
    (
        Reason("drained", "all.q@h1", other="new disk (alice)"),
        'queue instance "all.q@h1" dropped because its host is drained: new disk (alice)',
    ),
    (Reason("suspended", "all.q@h1"), 'queue instance "all.q@h1" dropped because it is suspended'),
    (Reason("preempted", "all.q@h1"), 'queue instance "all.q@h1" dropped because its slots are taken by superordinate queues'),
    (Reason("unavailable", "all.q@h1"), 'queue instance "all.q@h1" dropped because it is temporarily not available'),
    (Reason("in_error_state", "all.q@h1"), 'queue instance "all.q@h1" dropped because it is in error state'),
    (Reason("ambiguous", "all.q@h1"), 'queue instance "all.q@h1" dropped because its configuration is ambiguous'),
    (Reason("orphaned", "all.q@h1"), 'queue instance "all.q@h1" dropped because it is orphaned'),
    (Reason("full", "all.q@h1"), 'queue instance "all.q@h1" dropped because it is full'),
    (
        Reason("not_requested", "all.q@h1"),
        'cannot run in queue "all.q@h1" because it is not contained in its hard queue list (-q)',
    ),
    (Reason("not_batch", "all.q@h1"), 'cannot run in queue instance "all.q@h1" because it is not of type batch'),
    (Reason("not_interactive", "all.q@h1"), 'cannot run in queue instance "all.q@h1" because it is not of type interactive'),
    (Reason("pe_permission", "all.q@h1"), 'has no permission for PE "all.q@h1"'),
    (
        Reason("overloaded", "all.q@h1", left=Violation("np_load_avg", "hl", "2.000", "1.75", ">=")),
        'queue instance "all.q@h1" dropped because it is overloaded: np_load_avg=2.000 >= 1.75',
    ),
    (
        Reason("suspend_alarm", "all.q@h1", left=Violation("np_load_avg", "hl", "2.000", "1.75", ">=")),
        'queue instance "all.q@h1" is in suspend alarm: np_load_avg=2.000 >= 1.75',
    ),
    (
        Reason("overloaded", "all.q@h1", left=Violation("scratch", "", "", "5")),
        'queue instance "all.q@h1" dropped because it is overloaded: scratch has no value, the threshold is 5',
    ),
    (
        Reason("off_time", "all.q@h1", other="night"),
        'cannot run in queue instance "all.q@h1" because its calendar "night" closes it before the job would end',
    ),
    (
        Reason("kept", "all.q@h1", left=ReservedFor("job 3", False, 600)),
        'cannot run in queue instance "all.q@h1" because needed resources are reserved for job 3, which is to begin in 00:10:00',
    ),
    (
        Reason("kept", "all.q@h1", left=ReservedFor("job 3", True, 60)),
        'cannot run in queue instance "all.q@h1" because needed resources are reserved for job 3 for another 00:01:00',
    ),
    (
        Reason("calendar", "all.q@h1", other="disabled"),
        'queue instance "all.q@h1" dropped because queue is calendar disabled in selected time frame',
    ),
    (Reason("no_permission", "all.q", "q"), 'has no permission for cluster queue "all.q"'),
    (Reason("no_project", "h1", "h"), 'is not assigned to a project to get host "h1"'),
    (Reason("wrong_project", "h1", "h", other="pro"), 'has no access to host "h1" because of its project "pro"'),
    (
        Reason("no_checkpoint", "all.q", other="ck"),
        'cannot run in queue "all.q" because checkpointing environment "ck" is not in its list',
    ),
    (Reason("not_in_pe", "all.q", other="mpi"), 'cannot run in queue "all.q" because PE "mpi" is not in PE list'),
    (Reason("pe_offers", "mpi", number=3), 'cannot run in PE "mpi" because it only offers 3 slots'),
    (
        Reason("rule_offers", other="$pe_slots", number=3),
        'cannot run because the allocation rule "$pe_slots" finds only 3 slots',
    ),
    (Reason("forced", "global", "g", "gpu"), "does not request 'forced' resource \"gpu\" of the cluster \"global\""),
    (Reason("forced", "h1", "h", "gpu"), "does not request 'forced' resource \"gpu\" of host \"h1\""),
    (Reason("forced", "all.q", "q", "gpu"), "does not request 'forced' resource \"gpu\" of queue \"all.q\""),
    (
        Reason("unknown", "all.q@h1", resource="disk", asked=ASKED),
        '(-l disk=1) cannot run in queue "all.q@h1" because job requests unknown resource (disk)',
    ),
    (
        Reason("cluster_offers", "global", left=Offer(MEMORY, 2.0**30, "g", "c"), asked=ASKED),
        "(-l disk=1) cannot run globally because it offers only gc:mem_free=1.000G",
    ),
    (
        Reason("host_offers", "h1", left=Offer(MEMORY, 2.0**30, "h", "c"), asked=ASKED),
        '(-l disk=1) cannot run at host "h1" because it offers only hc:mem_free=1.000G',
    ),
    (
        Reason("queue_offers", "all.q@h1", left=Offer(MEMORY, 2.0**30, "q", "c"), asked=ASKED),
        '(-l disk=1) cannot run in queue "all.q@h1" because it offers only qc:mem_free=1.000G',
    ),
    (
        Reason("units", "h1", left=UnitsLeft("gpu", 3, 0, "gpu_mem >= 40G", False, False), asked=ASKED),
        '(-l disk=1) cannot run at host "h1" because 3 units of gpu are free, none has gpu_mem >= 40G',
    ),
    (
        Reason("units", "h1", left=UnitsLeft("gpu", 4, 1, "gpu_mem >= 40G", True, False)),
        'cannot run at host "h1" because it has 4 units of gpu, 1 of them has gpu_mem >= 40G',
    ),
    (
        Reason("units", "h1", left=UnitsLeft("gpu", 1, 1, "", False, False)),
        'cannot run at host "h1" because 1 unit of gpu is free',
    ),
    (
        Reason("units", "h1", left=UnitsLeft("gpu", 4, 4, "", False, True)),
        'cannot run at host "h1" because 4 units of gpu are free, too few of them near each other',
    ),
    (
        Reason("host_offers", "h1", left=Offer(SLOTS, 2.0, "h", "c")),
        'cannot run at host "h1" because it offers only hc:slots=2.000000',
    ),
    (
        Reason("cluster_exclusive", "global", resource="excl", asked=ASKED),
        "(-l disk=1) cannot run globally because exclusive resource (excl) is already in use",
    ),
    (
        Reason("host_exclusive", "h1", resource="excl", asked=ASKED),
        '(-l disk=1) cannot run at host "h1" because exclusive resource (excl) is already in use',
    ),
    (
        Reason("queue_exclusive", "all.q@h1", resource="excl", asked=ASKED),
        '(-l disk=1) cannot run in queue "all.q@h1" because exclusive resource (excl) is already in use',
    ),
]


@pytest.mark.parametrize(("reason", "text"), SENTENCES, ids=lambda value: value.code if isinstance(value, Reason) else "")
def test_sentences(reason: Reason, text: str) -> None:
    assert reason.text == text


def test_every_code_has_its_sentence_here() -> None:
    assert {reason.code for reason, _ in SENTENCES} == set(TEXTS)


def test_a_clause_is_the_sentence_without_its_beginning() -> None:
    assert Reason("user_limit", other="bob", number=4).clause == "user bob already has 4 running jobs (maxujobs)"
    assert Reason("task_limit", number=2).clause == Reason("task_limit", number=2).text
    assert all(TEXTS[code].startswith("job dropped because ") for code in DROPPED)
