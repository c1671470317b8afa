"""qevent: print the events of the system, or run programs when jobs and tasks end. Source: qevent(1); EV-9.

Owns the two modes. A program is started directly, never through a shell, and waited for, so that ends are told in order.
A stream that breaks is taken up again; what ended meanwhile is found by comparing the lists of jobs.
"""

import os
import sys

from clients import gdi, program
from gridengine.executables import spawn
from gridengine.options.events import EVENT_OPTIONS

TYPE_CHECKING = False  # as typing has it: clients pay for every import
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    Record = dict[str, Any]

PID_FILE = "qevent.pid"
#: type and action of the notice that each trigger waits for
_TRIGGERS = {"JB_END": ("JOB", "DEL"), "JB_TASK_END": ("JATASK", "DEL")}


def qevent(arguments: list[str]) -> int:
    """Follow the events until the qmaster or the user ends it."""
    fields, operands = program.simple_options("qevent", EVENT_OPTIONS, arguments)
    subscribe, as_json, triggers = "subscribe" in fields, "json" in fields, fields.get("triggers", [])
    if operands:
        return _misused(f'"{operands[0]}" is not understood')
    if as_json and not subscribe:
        return _misused("-json goes with -sm")
    if subscribe == bool(triggers):
        return _misused("either -sm or -trigger is needed")
    with open(PID_FILE, "w") as file:
        file.write(f"{os.getpid()}\n")
    try:
        return _print_all(as_json) if subscribe else _run_triggers(triggers)
    finally:
        try:
            os.unlink(PID_FILE)
        except OSError:
            pass  # the exit status is that of the events


def _misused(reason: str) -> int:
    return program.misused("qevent", f"qevent: {reason}")


def _records(types: list[str]) -> "Iterator[Record]":
    """Notices of these types (all for none), also after a break; CommandEnded when the qmaster ends or refuses the stream."""
    while True:
        try:
            registered = False
            for record in gdi.stream("events", {"name": "qevent", "types": types}):
                if "refused" in record or "end" in record:
                    program.complain(record.get("refused") or f"qevent: the qmaster has ended the events: {record['end']}")
                    raise program.CommandEnded(1)
                registered = True
                if "number" in record:
                    yield record
        except gdi.Unreachable:
            if not registered:
                raise


def event_line(record: "Record") -> str:
    """A notice as qevent -sm prints it."""
    number, kind, action = record["number"], record["type"], record["action"]
    if action == "LIST":
        return f"{number}. EVENT {kind} LIST {len(record['data'])} Elements"
    return f"{number}. EVENT {action} {kind} {record['name']}"


def _print_all(as_json: bool) -> int:
    for record in _records([]):
        if as_json:
            program.print_json(record)
        else:
            program.show([f"{event_line(record)}\n"])
        sys.stdout.flush()
    return 0


def _run_triggers(triggers: list[tuple[str, str]]) -> int:
    """Run the scripts of the events that come, and of those that came while the stream was broken."""
    running: set[tuple[str, int, int]] | None = None
    wanted = {_TRIGGERS[event] for event, _ in triggers}
    for record in _records(sorted({kind for kind, _ in wanted})):
        kind, action = record["type"], record["action"]
        if action == "LIST":
            listed = {_key(kind, each) for each in record["data"]}
            of_kind = {key for key in running or () if key[0] == kind}
            for key in sorted(of_kind - listed):
                _trigger(triggers, key)
            running = {key for key in running or () if key[0] != kind} | listed
            continue
        assert running is not None
        key = _key(kind, record["data"])
        if (kind, action) in wanted:
            running.discard(key)
            _trigger(triggers, key)
        elif action != "DEL":
            running.add(key)
    return 0


def _key(kind: str, data: "Record") -> tuple[str, int, int]:
    return (kind, data["job_id"], data.get("task_id", 0))


def _trigger(triggers: list[tuple[str, str]], key: tuple[str, int, int]) -> None:
    """Run every script that waits for this end."""
    kind, job_id, task_id = key
    for event, script in triggers:
        if _TRIGGERS[event][0] == kind:
            try:
                os.waitpid(spawn([script, event, str(job_id), str(task_id)]), 0)
            except OSError as error:
                program.complain(f"qevent: cannot run {script}: {error.strerror}")


def main() -> int:
    return program.run("qevent", qevent)
