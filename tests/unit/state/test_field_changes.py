"""Field changes of jobs and reservations: typed, read from journals of all versions, refused if of a wrong type."""

from __future__ import annotations

import msgspec
import pytest

from gridengine.protocols.gdi.job_request import REQUEST_FIELDS
from gridengine.protocols.gdi.reservation_request import RESERVATION_FIELDS
from gridengine.state.events import decode_events, encode_events
from gridengine.state.jobs import Grant, JobChanges
from gridengine.state.machines.job import JobChanged
from gridengine.state.machines.reservation import ReservationChanged
from gridengine.state.reservations import ReservationChanges
from tests.builders import Cluster


def test_the_journal_has_what_is_given_and_reads_it_again() -> None:
    events = [
        JobChanged(3, JobChanges(hard={"h_rt": "60"}, conditions={7: "ok"}, stdout=(("", "/o"),), rerun=None)),
        ReservationChanged(4, ReservationChanges(granted=[Grant("all.q@h1", 2)], hard_errors=True), 5.0, "healed"),
    ]
    data = encode_events(events)
    assert msgspec.json.decode(data)[0]["changes"] == {
        "hard": {"h_rt": "60"}, "conditions": {"7": "ok"}, "stdout": [["", "/o"]], "rerun": None
    }
    assert decode_events(data) == events


def test_journals_of_version_2_are_read() -> None:
    written = b"""[{"event": "JobChanged", "job_id": 1, "changes": {"hard": {"h_rt": "60"}, "account": "other", "ar_time": 0.0,
        "predecessors": [2], "conditions": {"2": "fail"}, "binding": "linear:2"}},
        {"event": "ReservationChanged", "ar_id": 2, "changes": {"granted": [["all.q@h1", 3]], "end_time": 9}, "time": 1.5}]"""
    job, reservation = decode_events(written)
    assert isinstance(job, JobChanged)
    assert isinstance(reservation, ReservationChanged)
    assert job.changes.given() == {
        "hard": {"h_rt": "60"}, "account": "other", "ar_time": 0.0, "predecessors": (2,), "conditions": {2: "fail"},
        "binding": "linear:2",
    }
    assert reservation.changes.given() == {"granted": [Grant("all.q@h1", 3)], "end_time": 9.0}


@pytest.mark.parametrize("changes", ['{"account": 7}', '{"tasks": {}}', '{"nothing": 1}', '{"hard": ["h_rt"]}'])
def test_unknown_fields_and_wrong_types_are_refused(changes: str) -> None:
    with pytest.raises(msgspec.ValidationError, match=r"\$\[0\]\.changes|unknown field"):
        decode_events(f'[{{"event": "JobChanged", "job_id": 1, "changes": {changes}}}]'.encode())


def test_all_that_a_user_can_ask_for_can_change() -> None:
    assert set(REQUEST_FIELDS) <= set(JobChanges.__struct_fields__)
    assert set(RESERVATION_FIELDS) <= set(ReservationChanges.__struct_fields__)


def test_a_field_that_is_not_given_stays() -> None:
    cluster = Cluster()
    job = cluster.submit(account="mine", priority=-7)
    version = cluster.state.jobs[job].version
    cluster.apply(JobChanged(job, JobChanges(priority=-9)))
    changed = cluster.state.jobs[job]
    assert (changed.account, changed.priority, changed.version) == ("mine", -9, version)
    cluster.apply(JobChanged(job, JobChanges(account="other")))
    assert (changed.account, changed.priority, changed.version) == ("other", -9, version + 1)
