"""Resolution of queue attributes and of host groups."""

import pytest

from gridengine.config.cluster_queue import ClusterQueue
from gridengine.config.host_groups import (
    find_cycle,
    groups_of_hosts,
    resolve_hosts,
)
from gridengine.config.queue_resolution import ResolvableQueue, resolve

GROUPS = {
    "@linux": ["linux1", "linux2"],
    "@solaris": ["solaris1", "solaris2"],
    "@linuxsolaris": ["@linux", "@solaris"],
    "@empty": [],
}
GROUPS_OF = groups_of_hosts(GROUPS)


def queue(**changes: str) -> dict[str, str]:
    attributes = {**ClusterQueue.template("x.q").attributes(), "hostlist": "@linux @solaris", **changes}
    return ClusterQueue.from_attributes(attributes).attributes()


@pytest.mark.statement("CQ-9", "CQ-10", "CQ-22")
def test_example_3_of_the_specification() -> None:
    made = ResolvableQueue(queue(user_lists="NONE,[@linux=mathlab_users],[linux1=mathlab_users mpi_users]"))
    values = {host: made.resolve(host, GROUPS_OF[host])[0]["user_lists"] for host in GROUPS_OF}
    assert values == {
        "linux1": "mathlab_users mpi_users",
        "linux2": "mathlab_users",
        "solaris1": "NONE",
        "solaris2": "NONE",
    }


@pytest.mark.statement("CQ-12", "CQ-14", "CQ-17", "CQ-23", "X-3")
def test_example_4_of_the_specification() -> None:
    attributes = queue(user_lists="NONE,[@linux=mathlab_users],[@linuxsolaris=mathlab_users mpi_users]")
    resolved, ambiguous = resolve(attributes, "linux1", GROUPS_OF["linux1"])
    assert resolved["user_lists"] == "NONE"
    assert ambiguous == [("user_lists", ("@linux", "@linuxsolaris"))]
    assert resolve(attributes, "solaris1", GROUPS_OF["solaris1"])[1] == []
    # Without the overlap nothing is ambiguous any more.
    assert resolve(attributes, "linux1", frozenset({"@linux"})) == ({**resolved, "user_lists": "mathlab_users"}, [])


@pytest.mark.statement("CQ-15")
def test_a_host_tuple_settles_an_overlap() -> None:
    attributes = queue(user_lists="NONE,[@linux=a],[@linuxsolaris=b],[linux1=c]")
    resolved, ambiguous = resolve(attributes, "linux1", GROUPS_OF["linux1"])
    assert (resolved["user_lists"], ambiguous) == ("c", [])


@pytest.mark.statement("CQ-9")
def test_nested_groups_count() -> None:
    resolved, _ = resolve(queue(slots="1,[@linuxsolaris=8]"), "solaris2", GROUPS_OF["solaris2"])
    assert resolved["slots"] == "8"
    assert resolved["hostlist"] == "solaris2" and resolved["qname"] == "x.q"
    assert list(resolved) == list(ClusterQueue.model_fields)


@pytest.mark.statement("CQ-32")
def test_instances_do_not_share_their_dictionaries() -> None:
    made = ResolvableQueue(queue(slots="1,[linux1=2]"))
    first, _ = made.resolve("solaris1", GROUPS_OF["solaris1"])
    first["slots"] = "99"
    assert made.resolve("solaris2", GROUPS_OF["solaris2"])[0]["slots"] == "1"
    assert made.resolve("linux1", GROUPS_OF["linux1"])[0]["slots"] == "2"


@pytest.mark.statement("CQ-18", "CQ-19", "QF-16")
def test_detached_settings() -> None:
    attributes = queue(seq_no="0,[solaris1=1],[linux=2]", slots="1,[@empty=3],[@linuxsolaris=4]")
    found = ResolvableQueue(attributes).detached(resolve_hosts(GROUPS, ["@linux", "@solaris"]), GROUPS_OF)
    assert found == {"seq_no": {"linux": "2"}, "slots": {"@empty": "3"}}


@pytest.mark.statement("HG-5", "CQ-6")
def test_hosts_of_a_list_come_once() -> None:
    assert resolve_hosts(GROUPS, ["linux2", "@linuxsolaris", "x"]) == ["linux2", "linux1", "solaris1", "solaris2", "x"]
    assert resolve_hosts(GROUPS, ["@nobody"]) == []
    assert GROUPS_OF["linux1"] == {"@linux", "@linuxsolaris"}


@pytest.mark.statement("HG-3")
def test_cycles() -> None:
    assert find_cycle(GROUPS, "@linuxsolaris") is None
    assert find_cycle({**GROUPS, "@linux": ["@linuxsolaris"]}, "@linux") == ["@linux", "@linuxsolaris", "@linux"]
    assert find_cycle({"@a": ["@a"]}, "@a") == ["@a", "@a"]
    looped = {"@a": ["@b", "h1"], "@b": ["@a", "h2"]}
    assert resolve_hosts(looped, ["@a"]) == ["h2", "h1"]
