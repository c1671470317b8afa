"""The runner of a task list: the loop that gives commands to slots, records their ends, and follows requests.

Started in the job by the script of the list (`qtasks run SCRIPT`). Its exit status is 0 if every command ended with 0, else 1.
A recorded command never runs again; a command that ran when a runner was lost runs again in the next runner (adr/0260).
"""

import sys
import time
from collections.abc import Iterable

from clients.task_runner.capture import OutputFiles
from clients.task_runner.local_host import AttemptEnd, LocalHost
from clients.task_runner.progress_report import ProgressReport
from clients.task_runner.record_files import RecordFile, RequestFile
from clients.task_runner.remote_host import BUSY_S, RemoteHost
from clients.task_runner.task_queue import TaskQueue
from clients.task_runner.wakeups import Wakeups
from gridengine import json_text
from gridengine.errors import InvalidValueError
from gridengine.task_lists.list_script import ListOptions
from gridengine.task_lists.task_lines import ListedCommand, read_lines
from gridengine.task_lists.task_states import ENDED, fold, records_in

#: pause between two looks for requests; commands that are still running after it get a record of their start
_LOOK_S = 0.5

Host = LocalHost | RemoteHost


class Runner:
    """One run of a list. `lines`: the commands of the script; `hosts`: where commands run, this host first."""

    def __init__(
        self,
        directory: str,
        options: ListOptions,
        lines: list[ListedCommand],
        hosts: list[Host],
        wakeups: Wakeups,
        progress: ProgressReport,
    ) -> None:
        self._records, self._requests = RecordFile(directory), RequestFile(directory)
        self._options, self._hosts, self._wakeups, self._progress = options, hosts, wakeups, progress
        self._output = OutputFiles(directory, options.output, options.ordered)
        self._states = fold(self._records.content)
        self._queue = TaskQueue(options, self._states)
        self._host_of: dict[int, Host] = {}
        self._recorded_starts: set[int] = set()
        self._next_look = 0.0
        self._is_ending = False
        self._add_lines(lines)
        position, self._states.read_requests = self._states.read_requests, 0
        self._read_requests(retries_from=position)
        self._requests.open()
        self._record(run=self._states.runs + 1, host=hosts[0].name, time=time.time())
        for host in hosts:
            if isinstance(host, RemoteHost):
                wakeups.watch(host.descriptor)

    def run(self) -> int:
        """Serve the list to its end; the exit status of the job. Raises OSError if a file cannot be written."""
        try:
            return self._serve()
        finally:
            self._records.close()
            self._requests.close()
            for host in self._hosts:
                if isinstance(host, RemoteHost):
                    host.close()

    def _serve(self) -> int:
        while True:
            self._records.flush()  # before further commands start: what has ended stays so
            is_blocked = not self._is_ending and self._give_out()
            if not any(host.is_busy for host in self._hosts) and not (is_blocked and self._queue.has_next):
                if self._requests.close_if_read(None if self._is_ending else self._states.read_requests):
                    break
                self._next_look = 0.0
            self._turn(BUSY_S if is_blocked else _LOOK_S)
        if not self._is_ending:
            self._output.move_in_order(lambda number: number <= len(self._queue.lines))
        self._records.flush(sync=True)
        counts = self._queue.counts
        return 0 if counts["done"] == len(self._queue.lines) else 1

    def _turn(self, limit_s: float) -> None:
        """Wait for the next event, and note it."""
        now = time.monotonic()
        unstarted = any(isinstance(host, LocalHost) and host.has_unstarted for host in self._hosts)
        ready = self._wakeups.wait(0.0 if unstarted else min(limit_s, max(self._next_look - now, 0.0)))
        for host in self._hosts:
            if isinstance(host, LocalHost) or host.descriptor in ready:
                self._note_ends(host)
        if self._wakeups.ended_by:
            self._end(self._wakeups.ended_by)
        if time.monotonic() >= self._next_look:
            self._next_look = time.monotonic() + _LOOK_S
            if not self._is_ending:
                self._read_requests(self._states.read_requests)
            self._record_starts()
            self._progress.update(self._queue.counts)

    def _end(self, signal: int) -> None:
        """Start no further command, and pass the signal on to the running commands."""
        self._wakeups.ended_by, self._is_ending = 0, True
        for host in self._hosts:
            host.signal(signal)

    # --- commands ---------------------------------------------------------------------------------------------------------

    def _give_out(self) -> bool:
        """Begin commands while slots are free; whether a host could not start a command."""
        for host in self._hosts:
            while host.has_free and self._queue.has_next:
                line = self._queue.begin_next()
                try:
                    host.begin(line.number, self._states.of(line.number).attempt, line.command)
                except BlockingIOError:
                    self._states.of(line.number).attempt -= 1
                    self._queue.give_back(line.number)
                    return True
                self._host_of[line.number] = host
        return False

    def _note_ends(self, host: Host) -> None:
        for end in host.ends():
            self._note_end(host, end)
        if isinstance(host, RemoteHost) and host.is_lost:
            self._lose(host)

    def _note_end(self, host: Host, end: AttemptEnd) -> None:
        has_failed = bool(end.exit_status or end.signal)
        self._output.take(end.number, end.capture, has_failed, end.attempt)
        host.free(end)
        self._host_of.pop(end.number, None)
        self._recorded_starts.discard(end.number)
        kind, skipped = "stopped", list[tuple[int, int]]()
        if has_failed and self._is_ending:
            self._queue.give_back(end.number)
        else:
            kind, skipped = self._queue.end(end.number, end.exit_status, end.signal)
        self._records.add(
            f'{{"number":{end.number},"state":"{kind}","attempt":{end.attempt},"exit":{end.exit_status},"signal":{end.signal},'
            f'"start":{end.start:.6f},"end":{end.end:.6f},"host":"{host.name}"}}'
        )
        self._record_skipped(skipped)
        if self._options.ordered:
            self._output.move_in_order(self._is_ended)

    def _lose(self, host: RemoteHost) -> None:
        """Give the commands of a lost worker out again."""
        self._wakeups.forget(host.descriptor)
        lost = [row for row in host.running() if self._host_of.get(row[0]) is host]
        text = f"qtasks: the worker on host {host.name} is gone; {len(lost)} commands run again elsewhere"
        print(text, file=sys.stderr, flush=True)
        for number, attempt, start in lost:
            self._record(number=number, state="lost", attempt=attempt, start=start, host=host.name)
            self._recorded_starts.discard(number)
            del self._host_of[number]
            self._queue.give_back(number)
        host.forget_all()

    def _is_ended(self, number: int) -> bool:
        return number <= len(self._queue.lines) and self._states.of(number).state in ENDED

    # --- records and requests ---------------------------------------------------------------------------------------------

    def _record(self, **fields: object) -> None:
        self._records.add(json_text.encode(fields).decode())

    def _record_skipped(self, skipped: Iterable[tuple[int, int]]) -> None:
        for number, cause in skipped:
            self._record(number=number, state="skipped", cause=cause)

    def _record_starts(self) -> None:
        """Record the starts of commands that are still running: a list shows them, and the next runner counts them."""
        for host in self._hosts:
            for number, attempt, start in host.running():
                if number not in self._recorded_starts:
                    self._recorded_starts.add(number)
                    self._record(number=number, state="running", attempt=attempt, start=start, host=host.name)

    def _add_lines(self, lines: list[ListedCommand]) -> None:
        self._record_skipped(self._queue.add(lines))

    def _read_requests(self, retries_from: int) -> None:
        """Carry out the new requests. An earlier runner has carried out retries before a position."""
        data = self._requests.unread(self._states.read_requests)
        if not data:
            return
        position = self._states.read_requests
        for raw in data.splitlines(keepends=True):
            position += len(raw)
            for request in records_in(raw):
                if "add" in request:
                    self._add_requested(request["add"])
                elif "retry" in request and position > retries_from:
                    self._retry(request["retry"])
        self._states.read_requests = position
        self._record(requests=position)

    def _add_requested(self, text: str) -> None:
        try:
            self._add_lines(read_lines(text, "requests", self._options.template, self._queue.lines))
        except InvalidValueError as fault:  # `qtasks add` has checked it
            print(f"qtasks: {fault}", file=sys.stderr, flush=True)

    def _retry(self, numbers: Iterable[int]) -> None:
        for number in numbers:
            for each in self._queue.retry(number):
                self._record(number=each, state="retry")
