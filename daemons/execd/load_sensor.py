"""One load sensor: its process, the protocol with it, and the values of its last report.

Owns the protocol of sge_execd(8) LOAD SENSORS: a newline requests a report, `begin` (or `start`), lines `host:name:value` and
`end` are the report, `quit` ends the sensor. A sensor is not trusted: a faulty one costs a line in the log and its own values,
nothing more. `daemons.execd.load_sensors` decides which sensors run. Source: LS-2, LS-3, LS-4.
"""

from __future__ import annotations

import asyncio
import logging
import os
import stat
from asyncio.subprocess import Process
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress

from daemons.runtime import children
from daemons.runtime.backoff import Backoff
from daemons.runtime.daemon import module_command, module_environment
from daemons.runtime.log_once import LogOnce
from daemons.runtime.name_service import NameServiceError
from gridengine.addresses import split_host
from gridengine.errors import GridEngineError, InvalidValueError

_log = logging.getLogger(__name__)

Figures = dict[str, dict[str, str]]
"""Host as the sensor names it, or "global" -> load value -> its text."""

PATIENCE_S = 60.0
"""Time that a sensor may take to answer: long enough for a sensor that asks a slow license server."""
FIRST_PAUSE_S, LONGEST_PAUSE_S, STABLE_S = 1.0, 300.0, 60.0
"""Pauses before a restart, doubled each time; after a process that lived STABLE_S the first pause is used again."""
MAX_LINES, MAX_LINE_BYTES = 10_000, 4096
"""Limits of the output of a sensor between two requests."""
_QUIT_S = 1.0
#: an ending process closes its pipes first; a process that has only closed its pipes lives longer than this time
_STATUS_S = 1.0


class SensorError(GridEngineError):
    """The sensor broke a rule; the text completes `load sensor PATH …`."""


class ReportReader:
    """Parses the output of a sensor. `note_fault(kind, text)`: called for lines that are ignored."""

    def __init__(self, note_fault: Callable[[str, str], None]) -> None:
        self._note_fault = note_fault
        self._report: Figures | None = None
        self._lines = 0

    def asked(self) -> None:
        """A report was requested: the sensor may print again."""
        self._lines = 0

    def feed(self, line: bytes) -> Figures | None:
        """Take one line. Returns the report with its last line. Lines outside of a report are ignored. Raises SensorError."""
        self._lines += 1
        if self._lines > MAX_LINES:
            raise SensorError(f"prints more than {MAX_LINES} lines at once")
        try:
            text = line.decode().strip()
        except UnicodeDecodeError:
            raise SensorError("prints something that is not text") from None
        if not text.replace("\t", " ").isprintable():
            raise SensorError("prints something that is not text")
        if text in ("begin", "start"):
            self._report = {}
        elif self._report is not None and text == "end":
            report, self._report = self._report, None
            return report
        elif self._report is not None and text:
            host, _, rest = split_host(text)
            name, colon, value = (part.strip() for part in rest.partition(":"))
            if host and name and colon and value and not {" ", "\t"} & set(host + name):
                self._report.setdefault(host, {})[name] = value
            else:
                self._note_fault("line", f'prints "{text[:80]}", which is not of the form host:name:value')
        return None


class LoadSensor:
    """A sensor that is kept running by `run` until that is cancelled.

    figures: of its last report, empty while there is none. faults: kind -> fault now. `start(path)` makes its process, may
    raise OSError; `on_news()`: figures have changed; `on_faults()`: faults may have changed.
    """

    def __init__(
        self,
        path: str,
        start: Callable[[str], Awaitable[Process]],
        on_news: Callable[[], None],
        patience_s: float = PATIENCE_S,
        first_pause_s: float = FIRST_PAUSE_S,
        on_faults: Callable[[], None] = lambda: None,
    ) -> None:
        self.path = path
        self.figures: Figures = {}
        self.faults: dict[str, str] = {}
        self._start, self._on_news, self._on_faults = start, on_news, on_faults
        self._patience_s, self._first_pause_s = patience_s, first_pause_s
        self._asked, self._answered = asyncio.Event(), asyncio.Event()
        self._file_version = ""
        self._has_reported = False  # the running process has given a report
        self._logged = LogOnce()  # by the kind of fault
        self._recent_kinds: set[str] = set()  # kinds of faults that were seen since the last report

    def ask(self) -> None:
        """Request a report, and check whether the program was replaced. A request that is pending already counts for both
        purposes."""
        self._asked.set()

    def note_fault(self, kind: str, text: str) -> None:
        """Keep a fault until a report comes without it; log it once a kind while the program stays the same."""
        self._recent_kinds.add(kind)
        self.faults[kind] = text
        self._on_faults()
        if self._logged.is_new(kind, kind):
            _log.warning("load sensor %s %s", self.path, text)

    async def run(self) -> None:
        """Keep the sensor running: when it ends or misbehaves it is restarted with growing pauses; at once when its file is
        newer."""
        loop = asyncio.get_running_loop()
        backoff = Backoff(self._first_pause_s, LONGEST_PAUSE_S)
        while True:
            version = _file_version(self.path)
            if version != self._file_version:
                self._file_version = version
                backoff.reset()
                self._logged.clear()
            began, self._has_reported = loop.time(), False
            self._asked.set()
            fault = await self._converse()
            if not self._has_reported:
                self._take({})
            if _file_version(self.path) == self._file_version:
                self.note_fault(fault, fault)
                if loop.time() - began > STABLE_S:
                    backoff.reset()
                await self._wait_for_replacement(backoff.next_s())
            _log.info("load sensor %s is restarted", self.path)

    async def _wait_for_replacement(self, pause_s: float) -> None:
        """Wait, but no longer than until the program is replaced."""
        with suppress(TimeoutError):
            async with asyncio.timeout(pause_s):
                while _file_version(self.path) == self._file_version:
                    self._asked.clear()
                    await self._asked.wait()

    async def _converse(self) -> str:
        """Request reports of one process until it ends, misbehaves or is outdated. Returns its fault."""
        try:
            process = await self._start(self.path)
        except OSError as error:
            return f"cannot be started: {error.strerror or error}"
        except (InvalidValueError, NameServiceError) as fault:
            return f"cannot be started: {fault}"
        reader = ReportReader(self.note_fault)
        sides = [
            asyncio.create_task(self._read_reports(process, reader)),
            asyncio.create_task(self._send_requests(process, reader)),
        ]
        try:
            done, _ = await asyncio.wait(sides, return_when=asyncio.FIRST_COMPLETED)
            return next(side for side in sides if side in done).result()
        except SensorError as fault:
            return str(fault)
        finally:
            for side in sides:
                side.cancel()
            await _quit(process)

    async def _send_requests(self, process: Process, reader: ReportReader) -> str:
        """Send every request, and wait for its report."""
        stdin = process.stdin
        assert stdin is not None
        while True:
            await self._asked.wait()
            self._asked.clear()
            if _file_version(self.path) != self._file_version:
                return ""
            self._answered.clear()
            reader.asked()
            try:
                stdin.write(b"\n")
                await stdin.drain()
                async with asyncio.timeout(self._patience_s):
                    await self._answered.wait()
            except TimeoutError:
                return f"has not answered for {self._patience_s:g} s"
            except OSError:
                await asyncio.sleep(2 * _STATUS_S)  # an ended process does not read either: its exit status is more precise
                return "does not listen"

    async def _read_reports(self, process: Process, reader: ReportReader) -> str:
        """Take every report. Raises SensorError."""
        assert process.stdout is not None
        while True:
            try:
                line = await process.stdout.readline()
            except ValueError:
                raise SensorError(f"prints a line of more than {MAX_LINE_BYTES} bytes") from None
            if not line:
                with suppress(TimeoutError):
                    async with asyncio.timeout(_STATUS_S):
                        await process.wait()
                return "has closed its output" if process.returncode is None else f"ended with status {process.returncode}"
            figures = reader.feed(line)
            # a report without a request is ignored: the next request is answered by the output that follows it
            if figures is not None and not self._answered.is_set():
                self._has_reported = True
                self._answered.set()
                self.take_report(figures)

    def take_report(self, figures: Figures) -> None:
        """Take a report; faults that were not seen since the report before it are cleared."""
        self.faults = {kind: text for kind, text in self.faults.items() if kind in self._recent_kinds}
        self._recent_kinds.clear()
        self._on_faults()
        self._take(figures)

    def _take(self, figures: Figures) -> None:
        if figures != self.figures:
            self.figures = figures
            self._on_news()


async def start_process(path: str, user: str, environment: Mapping[str, str]) -> Process:
    """Start a sensor as `user` (where this is root), as leader of a session, without a shell. Raises OSError."""
    mode = os.stat(path).st_mode
    if not stat.S_ISREG(mode) or not mode & 0o111:
        raise PermissionError(0, "it is not an executable file")
    return await children.begin(
        *module_command("daemons.execd.sensor_process"),
        str(os.getpid()),
        user,
        path,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env=module_environment(environment),
        cwd="/",
        limit=MAX_LINE_BYTES,
    )


async def _quit(process: Process) -> None:
    """Have a process quit; a process that does not quit is killed with all its children."""
    try:
        if process.returncode is None:
            with suppress(OSError, RuntimeError, TimeoutError):
                assert process.stdin is not None
                process.stdin.write(b"quit\n")
                async with asyncio.timeout(_QUIT_S):
                    await process.wait()
    finally:
        await children.end(process)


def _file_version(path: str) -> str:
    """Changes when the program is replaced or written (LS-4)."""
    try:
        found = os.stat(path)
    except OSError:
        return ""
    return f"{found.st_mtime_ns}/{found.st_ino}/{found.st_mode}"
