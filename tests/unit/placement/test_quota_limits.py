"""Limits of resource quota rules: their values, the use under them, and which of several is reported."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.builders import Cluster
from tests.unit.placement.test_quotas import hosts_of, quota, reasons


@pytest.mark.statement("RQ-5")
def test_a_dynamic_limit_of_a_single_host_is_made_of_its_values() -> None:
    cluster = Cluster(2, slots=20)
    quota(cluster, "set", "hosts h2 to slots=$num_proc")
    jobs = [cluster.submit() for _ in range(30)]
    cluster.cycle()
    assert Counter(hosts_of(cluster, jobs)) == {"h1": 20, "h2": 4}


@pytest.mark.statement("RQ-5")
def test_each_limit_of_a_rule_has_a_formula_of_its_own() -> None:
    cluster = Cluster(1, slots=20)
    cluster.complex("lic INT <= YES YES 0 0")
    cluster.values("global", "lic=99")
    quota(cluster, "set", "hosts {*} to slots=$num_proc*3,lic=$num_proc*2")
    licensed = [cluster.submit(hard={"lic": "1"}) for _ in range(10)]
    cluster.cycle()
    plain = [cluster.submit() for _ in range(10)]
    cluster.cycle()
    assert [sum(map(cluster.runs, jobs)) for jobs in (licensed, plain)] == [8, 4]


@pytest.mark.statement("RQ-5")
def test_a_text_in_a_dynamic_limit_is_no_value() -> None:
    cluster = Cluster(1)
    quota(cluster, "set", "hosts {*} to slots=$arch-999999997")
    jobs = [cluster.submit() for _ in range(4)]
    cluster.cycle()
    assert sum(map(cluster.runs, jobs)) == 3


@pytest.mark.statement("RQ-9", "CX-38")
def test_a_quota_of_a_job_consumable_counts_for_serial_jobs() -> None:
    cluster = Cluster(1)
    cluster.complex("lic INT <= YES JOB 0 0")
    cluster.values("global", "lic=9")
    quota(cluster, "set", "users {*} to lic=1")
    jobs = [cluster.submit(hard={"lic": "1"}) for _ in range(2)]
    cluster.cycle()
    assert [cluster.runs(job) for job in jobs] == [True, False]
    assert reasons(cluster, jobs[1]) == ['cannot run because it exceeds limit "alice/////" in rule "set/1": lic=1/1']


@pytest.mark.statement("RQ-2", "RQ-6")
def test_every_limit_of_a_rule_counts_behind_any_other_limit() -> None:
    cluster = Cluster(1)
    quota(cluster, "set", "to nosuch=1,h_rt=3600,slots=1")
    jobs = [cluster.submit(hard={"h_rt": "60", "arch": "lx-amd64"}) for _ in range(2)]
    cluster.cycle()
    assert [cluster.runs(job) for job in jobs] == [True, False]
    assert reasons(cluster, jobs[1]) == ['cannot run because it exceeds limit "/////" in rule "set/1": slots=1/1']


@pytest.mark.statement("RQ-6")
def test_of_limits_that_leave_as_little_the_first_of_the_rule_is_named_with_its_own_amount() -> None:
    cluster = Cluster(1)
    cluster.complex("lic INT <= YES YES 0 0")
    cluster.values("global", "lic=9")
    quota(cluster, "set", "to slots=2,lic=2")
    first = [cluster.submit(hard={"lic": "1"}) for _ in range(2)]
    more = cluster.submit(hard={"lic": "1"})
    cluster.cycle()
    assert all(map(cluster.runs, first))
    assert reasons(cluster, more) == ['cannot run because it exceeds limit "/////" in rule "set/1": slots=2/2']
    cluster.change("resource_quota", "set", limit="to slots=9,lic=2")
    assert reasons(cluster, more) == ['cannot run because it exceeds limit "/////" in rule "set/1": lic=2/2']


@pytest.mark.statement("RQ-6", "RQ-9")
def test_an_exceeded_limit_blocks_no_job_that_requests_nothing_of_it() -> None:
    cluster = Cluster(1)
    cluster.complex("lic INT <= YES YES 0 0")
    cluster.values("global", "lic=9")
    quota(cluster, "set", "to lic=2")
    cluster.submit(hard={"lic": "2"})
    cluster.cycle()
    cluster.change("resource_quota", "set", limit="to lic=1")
    plain = cluster.submit()
    cluster.cycle()
    assert cluster.runs(plain)


@pytest.mark.statement("RQ-9", "PE-4")
def test_a_host_that_cannot_take_a_job_whole_takes_nothing_of_a_common_quota() -> None:
    cluster = Cluster(2)
    cluster.pe("par", "$pe_slots")
    cluster.queue(slots="2,[h2=4]", pe_list="par")
    quota(cluster, "set", "hosts h1,h2 to slots=4")
    job = cluster.submit(pe="par", pe_range="4")
    cluster.cycle()
    assert cluster.spread(job) == {"all.q@h2": 4}
