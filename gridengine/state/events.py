"""Events: all changes of the state, as facts in the past tense.

Owns their union and their form in the journal. Made by `daemons.qmaster` (decide, admit, due), written to the journal,
applied by `gridengine.state.apply` in the qmaster, in every mirror and at restart. An event contains all data for its
application, including times and ids, and never refers to anything outside the state. Events with `durable = False` (load
reports, priorities) go to mirrors but not to the journal. Each is defined in `gridengine.state.machines`, with its effects.
"""

from __future__ import annotations

import msgspec

from gridengine.state.hooks import decode_hook, encode_hook
from gridengine.state.machines.configuration import ConfigurationEvent
from gridengine.state.machines.host import HostEvent
from gridengine.state.machines.instance import InstanceEvent
from gridengine.state.machines.job import JobEvent
from gridengine.state.machines.reservation import ReservationEvent
from gridengine.state.machines.slave import SlaveEvent
from gridengine.state.machines.task import TaskEvent
from gridengine.state.machines.usage import UsageEvent

AnyEvent = ConfigurationEvent | JobEvent | TaskEvent | SlaveEvent | UsageEvent | InstanceEvent | HostEvent | ReservationEvent

encode_events = msgspec.json.Encoder(enc_hook=encode_hook).encode
"""Events as JSON, the form of the journal and of the stream to mirrors."""
decode_events = msgspec.json.Decoder(list[AnyEvent], dec_hook=decode_hook).decode

