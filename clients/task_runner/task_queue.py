"""The next command of a list, by the order of the list, dependencies, retries, and the limit of failures. No I/O."""

from collections.abc import Iterable
from heapq import heapify, heappop, heappush

from gridengine.task_lists.list_script import ListOptions
from gridengine.task_lists.task_lines import ListedCommand
from gridengine.task_lists.task_states import DONE, ENDED, FAILED, RUNNING, SKIPPED, WAITING, ListStates, TaskState


class TaskQueue:
    """The commands of a list and their states. A skipped command and a retry are reported by number, to be recorded."""

    def __init__(self, options: ListOptions, states: ListStates) -> None:
        self.lines: list[ListedCommand] = []
        self._options = options
        self._states = states
        self._ready: list[int] = []  # a heap: in the order of the list
        self._dependents: dict[int, list[int]] = {}
        self.counts = dict.fromkeys((WAITING, RUNNING, DONE, FAILED, SKIPPED), 0)

    def add(self, lines: Iterable[ListedCommand]) -> list[tuple[int, int]]:
        """Add commands behind the present commands. Returns skipped commands: (number, number of the reason).

        A command that ran when an earlier runner was lost waits again.
        """
        first = len(self.lines)
        for line in lines:
            self.lines.append(line)
            state = self._states.of(line.number)
            if state.state == RUNNING:
                state.state = WAITING
            self.counts[state.state] += 1
            for number in line.after:
                self._dependents.setdefault(number, []).append(line.number)
            if state.state == WAITING and self._is_free(line):
                self._ready.append(line.number)
        heapify(self._ready)
        skipped: list[tuple[int, int]] = []
        for line in self.lines[first:]:
            if line.after and self.state(line.number).state == WAITING and (cause := self._cause(line)):
                skipped += self._skip(line.number, cause)
        return skipped

    def state(self, number: int) -> TaskState:
        return self._states.of(number)

    @property
    def is_closed(self) -> bool:
        """Whether so many commands failed that no further command starts."""
        return 0 < self._options.max_fails <= self.counts[FAILED]

    @property
    def has_next(self) -> bool:
        return bool(self._ready) and not self.is_closed

    def begin_next(self) -> ListedCommand:
        """Take the next command, which begins now. To be called if `has_next`."""
        line = self.lines[heappop(self._ready) - 1]
        self.state(line.number).attempt += 1
        self._set(line.number, RUNNING)
        return line

    def give_back(self, number: int) -> None:
        """A command whose attempt had no end waits again."""
        self._set(number, WAITING)
        heappush(self._ready, number)

    def end(self, number: int, exit_status: int, signal: int) -> tuple[str, list[tuple[int, int]]]:
        """Note the end of an attempt: the kind of its record, and the commands that are skipped now."""
        state = self.state(number)
        state.exit_status, state.signal = exit_status, signal
        if not exit_status and not signal:
            self._set(number, DONE)
            for dependent in self._dependents.get(number, ()):
                if self.state(dependent).state == WAITING and self._is_free(self.lines[dependent - 1]):
                    heappush(self._ready, dependent)
            return DONE, []
        state.failures += 1
        retries = self.lines[number - 1].retries
        if state.failures <= (self._options.retries if retries is None else retries):
            self.give_back(number)
            return "again", []
        self._set(number, FAILED)
        return FAILED, [pair for each in self._dependents.get(number, ()) for pair in self._skip(each, number)]

    def retry(self, number: int) -> list[int]:
        """Let a failed or skipped command wait again, with the commands that were skipped for it; their numbers.

        Returns [] for other commands, and for a skipped command whose reason is still there.
        """
        if not 1 <= number <= len(self.lines):
            return []
        found: list[int] = []
        rest = [number]
        while rest:
            each = rest.pop()
            line, state = self.lines[each - 1], self.state(each)
            if state.state not in ((SKIPPED,) if found else (FAILED, SKIPPED)) or self._cause(line):
                continue
            state.failures = state.cause = 0
            self._set(each, WAITING)
            if self._is_free(line):
                heappush(self._ready, each)
            found.append(each)
            rest += reversed(self._dependents.get(each, ()))
        return found

    def _is_free(self, line: ListedCommand) -> bool:
        return all(self.state(number).state == DONE for number in line.after)

    def _cause(self, line: ListedCommand) -> int:
        """The number of a command because of which this one cannot run, 0 for none."""
        return next((number for number in line.after if self.state(number).state in (FAILED, SKIPPED)), 0)

    def _skip(self, number: int, cause: int) -> list[tuple[int, int]]:
        """Skip a command, and all that depends on it: (number, cause) of each."""
        found: list[tuple[int, int]] = []
        rest = [(number, cause)]
        while rest:
            each, cause = rest.pop()
            state = self.state(each)
            if state.state in ENDED:
                continue
            state.cause = cause
            self._set(each, SKIPPED)
            found.append((each, cause))
            rest += [(dependent, each) for dependent in reversed(self._dependents.get(each, ()))]
        return found

    def _set(self, number: int, new: str) -> None:
        state = self.state(number)
        self.counts[state.state] -= 1
        self.counts[new] += 1
        state.state = new
