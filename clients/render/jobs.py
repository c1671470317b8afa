"""The job lines of qstat and qhost: columns, widths, details.

Owns the text format of job rows (docs/gdi.md, part `jobs` of `status`). Called by qstat, `render.instances` and
`render.hosts`. Source: qstat(1) output formats, ST-2, ST-16, ST-24, ST-26, ST-27, ST-31; O for widths.
"""

import time

from gridengine.job_rows import GRANTS, INSTANCE, NAME, SLOTS, STATE_CODES, TASKS, details_of, master_of
from gridengine.values.quantities import clock_text, whole_tickets

TYPE_CHECKING = False  # as typing has it: clients pay for every import
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    Row = list[Any]

QUEUE_WIDTH = 30
_NO_TASK = " " * 7
#: blanks before the queue on lines of further slots of a task
_SAME_JOB = " " * 66
_USAGE_COLUMNS = "cpu        mem     io      tckts ovrts otckt ftckt stckt share "
_ENDED_USAGE = " " * 27 + "   NA " * 6
_TASK_COLUMNS = "task-ID state cpu        mem     io      stat failed "


def queue_width(setting: str, rows: "Iterable[Row]") -> int:
    """Width of the queue column by SGE_LONG_QNAMES: 30, at least 10, -1 for the longest name (ST-31)."""
    if setting == "-1":
        return max([10, *(len(grant[INSTANCE]) for row in rows for grant in row[GRANTS])])
    return max(10, int(setting)) if setting.isdigit() else QUEUE_WIDTH


class JobTable:
    """Formats job rows.

    `ext`, `urg`, `pri`: further columns; `slot_lines`: one line a slot with MASTER or SLAVE (-g t); `task_usage`: the
    columns of -t; `requests`: details below each job (-r); `queue`: width of the queue column, 0 for none (-f);
    `indent`: blanks in front; `binding`: with details of core binding; `when`: with the expected
    start below each pending job.
    """

    def __init__(
        self,
        ext: bool = False,
        urg: bool = False,
        pri: bool = False,
        slot_lines: bool = False,
        task_usage: bool = False,
        requests: bool = False,
        queue: int = QUEUE_WIDTH,
        indent: str = "",
        binding: bool = True,
        when: bool = False,
    ) -> None:
        self.ext = ext
        self.urg = urg
        self.pri = pri
        self.slot_lines = slot_lines or task_usage
        self.task_usage = task_usage
        self.requests = requests
        self.queue = queue
        self.indent = indent
        self.binding = binding
        self.when = when
        self.time = not ext or urg or pri or task_usage
        self.plain = not (ext or urg or pri or requests or when or self.slot_lines)
        self._minutes: dict[int, str] = {}

    def header(self) -> str:
        """The column names and the line below them."""
        names = "job-ID  prior   "
        names += "nurg    " if self.pri or self.urg else ""
        names += "npprior " if self.pri else ""
        names += "ntckts  " if self.pri or self.ext else ""
        names += "urg      rrcontr  wtcontr  dlcontr  " if self.urg else ""
        names += " ppri " if self.pri else ""
        names += "name       user         "
        names += "project          department " if self.ext else ""
        names += "state "
        names += "submit/start at     " if self.time else ""
        names += " deadline           " if self.urg else ""
        names += _USAGE_COLUMNS if self.ext else ""
        names += f"{'queue':<{self.queue}} {'master' if self.slot_lines else 'slots'} ja-task-ID "
        names += _TASK_COLUMNS if self.task_usage else ""
        # the original's line is not always as long as its column names
        length = 83 + self.queue + 79 * self.ext + 64 * self.urg + 35 * self.pri
        length += 54 if self.task_usage else 1 if self.slot_lines else 0
        return f"{self.indent}{names}\n{self.indent}{'-' * length}\n"

    def lines(self, rows: "Iterable[Row]") -> "Iterator[str]":
        """The lines of rows, each with its newline; a running task stands at its master's queue with all its slots."""
        if self.plain:
            yield from self._plain_lines(rows)
            return
        for row in rows:
            if self.slot_lines and row[GRANTS]:
                yield from self.grant_lines(row, row[GRANTS])
            else:
                yield self._line(row, master_of(row), "" if self.slot_lines else f"{row[SLOTS]:>5}")
                if self.requests:
                    yield self._details(row, master_of(row))
                if self.when and "when" in details_of(row):
                    yield self._expected_start(details_of(row)["when"])

    def _expected_start(self, forecast: "dict[str, Any]") -> str:
        """The line of -when below a pending job."""
        earliest, latest, later_than = (forecast[name] for name in ("earliest", "latest", "later_than"))
        if not earliest:
            text = f"after {self._date(later_than)}" if later_than else "unknown"
        elif latest:
            text = f"{self._date(earliest)} to {self._date(latest)}" if latest - earliest >= 1 else self._date(earliest)
        else:
            text = f"{self._date(earliest)} or later"
        return f"       Expected start:   {text}\n"

    def _plain_lines(self, rows: "Iterable[Row]") -> "Iterator[str]":
        width, date = self.queue, self._date
        no_queue = " " * (width + 1) if width else ""
        line = self.indent + "%7d %7.5f %-10.10s %-12.12s %-5.5s %s %s%5d %s\n"
        for number, priority, name, owner, state_codes, moment, grants, slots, tasks in rows:
            queue = f"{grants[0][0]:<{width}.{width}} " if grants and width else no_queue
            yield line % (number, priority, name, owner, state_codes, date(moment), queue, slots, tasks or _NO_TASK)

    def grant_lines(self, row: "Row", grants: "list[Row]") -> "Iterator[str]":
        """The lines of a task at some of its instances: in a queue's section (-f), or at all its instances (-g t)."""
        for instance, slots, slaves in grants:
            if not self.slot_lines:
                yield self._line(row, instance, f"{slots:>5}")
            else:
                kinds = ["MASTER"] * (master_of(row) == instance) + ["SLAVE"] * slaves or [""]
                further = self._sub_tasks(row, instance, kinds)
                yield self._line(row, instance, kinds[0], further[0])
                queue = f"{instance:<{self.queue}.{self.queue}} " if self.queue else ""
                before = self._same_job(row)
                for kind, tail in zip(kinds[1:], further[1:], strict=True):
                    if self.requests:
                        yield self._details(row, master_of(row))
                    yield f"{before}{queue}{kind:<6} {row[TASKS] or _NO_TASK:<{7 if tail else 0}}{tail}\n"
            if self.requests:
                yield self._details(row, master_of(row))

    def _same_job(self, row: "Row") -> str:
        """The text before the queue on lines of further slots of a task: the usage of the slot is unknown."""
        if not self.ext:
            return self.indent + _SAME_JOB
        blank = self.header().partition("\n")[0].index("cpu  ")
        return f"{'':<{blank}}{self._usage(details_of(row), True, None)}"

    def _sub_tasks(self, row: "Row", instance: str, kinds: list[str]) -> list[str]:
        """The columns of -t for each slot: the master with its usage, then the slave tasks (ST-26)."""
        details = details_of(row)
        if not self.task_usage or details.get("slaves") is None:
            return [""] * len(kinds)
        living = iter([(name, usage) for where, name, usage in details["slaves"] if where == instance])
        tails = []
        for kind in kinds:
            name, usage = ("", details["usage"]) if kind == "MASTER" else next(living, (None, None))
            used = f"{'NA':<10} {'NA':<7} {'NA':<7} "
            if usage:
                cpu, memory, io = usage
                used = f"{clock_text(cpu)} {memory:<7.5f} {io:<7.5f} "
            tails.append("" if name is None else f"   {name:<12} {row[STATE_CODES]:<5.5} {used}")
        return tails

    def _line(self, row: "Row", instance: str, slots: str, tail: str = "") -> str:
        number, priority, name, owner, state_codes, moment, grants, _, tasks = row[:9]
        details = details_of(row)
        text = f"{self.indent}{number:>7} {priority:7.5f} "
        text += f"{details['nurg']:7.5f} " if self.pri or self.urg else ""
        text += f"{details['npprior']:7.5f} " if self.pri else ""
        text += f"{details['ntckts']:7.5f} " if self.pri or self.ext else ""
        if self.urg:
            parts = (details[name] for name in ("urgency", "rrcontr", "wtcontr", "dlcontr"))
            text += "".join(f"{part:8.0f} " for part in parts)
        text += f"{details['ppri']:>5} " if self.pri else ""
        text += f"{name:<10.10} {owner:<12.12} "
        text += f"{details['project'] or 'NA':<16.16} {details['department']:<10.10} " if self.ext else ""
        text += f"{state_codes:<5.5} "
        text += f"{self._date(moment)} " if self.time else ""
        text += f"{self._date(details['deadline']) if details['deadline'] else '':<19} " if self.urg else ""
        if self.ext:
            # the usage of a task is known for its master's instance alone
            usage = details["usage"] if grants and grants[0][0] == instance else None
            text += self._usage(details, bool(grants), usage) if state_codes != "z" else _ENDED_USAGE
        text += f"{instance:<{self.queue}.{self.queue}} " if self.queue else ""
        text += f"{slots:<6} " if self.slot_lines else f"{slots} "
        return f"{text}{tasks or _NO_TASK:<{7 if tail else 0}}{tail}\n"

    def _usage(self, details: "dict[str, Any]", running: bool, usage: "list[float] | None") -> str:
        """cpu, memory, io of the task and the ticket columns."""
        if not running:
            used = " " * 27
        elif usage is None:
            used = f"{'NA':<10} {'NA':<7} {'NA':<7} "
        else:
            cpu, memory, io = usage
            seconds = int(cpu)
            spent = f"{seconds // 86400}:{seconds // 3600 % 24:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
            used = f"{spent:<10} {memory:<7.5f} {io:<7.5f} "
        total, override, functional, share = whole_tickets(details["tickets"])
        by_policy = f"{total:>5} {details['override_tickets']:>5} {override:>5} {functional:>5} {share:>5}"
        return f"{used}{by_policy} {details['share']:<5.2f} "

    def _date(self, moment: float) -> str:
        minute, second = divmod(int(moment), 60)
        text = self._minutes.get(minute)
        if text is None:
            # time zones are whole minutes apart
            text = self._minutes[minute] = time.strftime("%m/%d/%Y %H:%M:", time.localtime(moment))
        return f"{text}{second:02d}"

    def _details(self, row: "Row", master: str) -> str:
        """The lines of -r below a job (ST-24)."""
        details = details_of(row)
        lines = [f"Full jobname:     {row[NAME]}"]
        if row[GRANTS]:
            lines.append(f"Master Queue:     {master}")
        if details["pe"]:
            lines.append(f"Requested PE:     {details['pe'][0]} {details['pe'][1]}")
        if details["granted_pe"]:
            lines.append(f"Granted PE:       {details['granted_pe'][0]} {details['granted_pe'][1]}")
        hard = [f"{name}={value} ({urgency:f})" for name, value, urgency in details["hard"]]
        soft = [f"{name}={value}" for name, value in details["soft"]]
        beneath = "\n" + " " * 25
        if details["checkpoint"]:
            lines.append(f"Checkpoint Env.:  {details['checkpoint']}")
        lines += [f"Hard Resources:   {beneath.join(hard)}", f"Soft Resources:   {beneath.join(soft)}"]
        for label, values in (
            ("Hard requested queues", details["hard_queues"]),
            ("Soft requested queues", details["soft_queues"]),
            ("Master task hard requested queues", details["master_queues"]),
            ("Predecessor Jobs (request)", details["predecessors_requested"]),
            ("Predecessor Jobs", details["predecessors"]),
            ("Predecessor Array Jobs (request)", details["array_predecessors_requested"]),
            ("Predecessor Array Jobs", details["array_predecessors"]),
        ):
            if values:
                lines.append(f"{label}: {', '.join(map(str, values))}")
        if self.binding:
            lines.append(f"Binding:          {details['binding'] or 'NONE'}")
        return "".join(f"       {line}\n" for line in lines)
