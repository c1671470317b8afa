"""qevent: print the events of the system, or run programs when jobs and tasks end. Source: qevent(1); EV-9.

Owns the two modes. A program is started directly, never through a shell, and waited for, so that ends are reported in order.
A broken stream is reopened; a comparison of the lists of jobs finds the jobs that ended meanwhile.
"""

import os
import sys

from clients import gdi, program
from gridengine.files.executables import spawn
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
    """Follow the events until the qmaster or the user ends the command."""
    fields, operands = program.simple_options("qevent", EVENT_OPTIONS, arguments)
    subscribe, as_json, triggers = "subscribe" in fields, "json" in fields, fields.get("triggers", [])
    if operands:
        return _report_misuse(f'"{operands[0]}" is not understood')
    if as_json and not subscribe:
        return _report_misuse("-json goes with -sm")
    if subscribe == bool(triggers):
        return _report_misuse("either -sm or -trigger is needed")
    with open(PID_FILE, "w") as file:
        file.write(f"{os.getpid()}\n")
    try:
        return _print_all(as_json) if subscribe else _run_triggers(triggers)
    finally:
        try:
            os.unlink(PID_FILE)
        except OSError:
            pass  # the exit status is that of the events


def _report_misuse(reason: str) -> int:
    return program.report_misuse("qevent", f"qevent: {reason}")


def _records(types: list[str]) -> "Iterator[Record]":
    """Notices of these types (all for none), also after a break; CommandEndedError when the qmaster ends or refuses it."""
    while True:
        try:
            registered = False
            for record in gdi.stream("events", {"name": "qevent", "types": types}):
                if "refused" in record or "end" in record:
                    program.print_error(record.get("refused") or f"qevent: the qmaster has ended the events: {record['end']}")
                    raise program.CommandEndedError(1)
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
    """Run the scripts of all events, including events while the stream was broken."""
    running: set[tuple[str, int, int]] | None = None
    trigger_events = {_TRIGGERS[event] for event, _ in triggers}
    for record in _records(sorted({kind for kind, _ in trigger_events})):
        kind, action = record["type"], record["action"]
        if action == "LIST":
            listed = {_key(kind, each) for each in record["data"]}
            of_kind = {key for key in running or () if key[0] == kind}
            for key in sorted(of_kind - listed):
                _run_scripts(triggers, key)
            running = {key for key in running or () if key[0] != kind} | listed
            continue
        assert running is not None
        key = _key(kind, record["data"])
        if (kind, action) in trigger_events:
            running.discard(key)
            _run_scripts(triggers, key)
        elif action != "DEL":
            running.add(key)
    return 0


def _key(kind: str, data: "Record") -> tuple[str, int, int]:
    return (kind, data["job_id"], data.get("task_id", 0))


def _run_scripts(triggers: list[tuple[str, str]], key: tuple[str, int, int]) -> None:
    """Run every script that is registered for this end."""
    kind, job_id, task_id = key
    for event, script in triggers:
        if _TRIGGERS[event][0] == kind:
            try:
                os.waitpid(spawn([script, event, str(job_id), str(task_id)]), 0)
            except OSError as error:
                program.print_error(f"qevent: cannot run {script}: {error.strerror}")
