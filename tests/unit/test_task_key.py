"""Names of tries: tuples that say by their type whose they are, and are written as they always were."""

from __future__ import annotations

import msgspec
import pytest

from gridengine.protocols.delivery import Batch, Ended, Inventory, decode, encode
from gridengine.state.events import decode_events, encode_events
from gridengine.state.machines.host import AttemptsForgotten
from gridengine.values.task_key import SlaveKey, TaskKey


def test_a_key_is_what_its_numbers_are() -> None:
    key, slave = TaskKey(12, 1, 3), SlaveKey(12, 1, 3, 7)
    assert (key.job, key.task, key.attempt, slave.number) == (12, 1, 3, 7)
    assert key == (12, 1, 3) and {slave: 1}[TaskKey.of((12, 1, 3, 7))] == 1
    assert slave.master == key.master == key
    assert sorted([slave, TaskKey(12, 2, 1), key]) == [key, slave, TaskKey(12, 2, 1)]


def test_key_is_decoded_with_its_type() -> None:
    reports = [Ended(TaskKey(12, 1, 3)), Inventory([SlaveKey(12, 1, 3, 7)])]
    ended, inventory = decode(encode(Batch(reports=[*reports]))).reports
    assert isinstance(ended, Ended) and isinstance(inventory, Inventory)
    assert [type(key) for key in (ended.key, *inventory.keys)] == [TaskKey, SlaveKey]


def test_journals_have_numbers_as_before() -> None:
    event = AttemptsForgotten("h1", [TaskKey(12, 1, 3), SlaveKey(12, 1, 3, 7)])
    written = encode_events([event])
    assert written == b'[{"event":"SlavesForgotten","host":"h1","keys":[[12,1,3],[12,1,3,7]]}]'
    (read,) = decode_events(written)
    assert read == event and isinstance(read, AttemptsForgotten)
    assert [type(key) for key in read.keys] == [TaskKey, SlaveKey]


@pytest.mark.parametrize("key", ["[1,2]", "[1,2,3,4,5]", '[1,2,"3"]', '"1.1"', "7"])
def test_invalid_key_is_refused(key: str) -> None:
    with pytest.raises(msgspec.ValidationError):
        decode(b'{"reports":[{"type":"ended","key":%s}]}' % key.encode())
