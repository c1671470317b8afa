"""The commands that take their options from the option table, for completion and the command pages.

Owns names, purposes and operands. Called by `gridengine completion`, by
`tools/command_pages.py` and for -help; no command loads it for its work.
"""

from gridengine.options.accounting import ACCOUNTING_OPTIONS
from gridengine.options.configuration import CONFIGURATION_OPTIONS
from gridengine.options.control import CONTROL_OPTIONS
from gridengine.options.events import EVENT_OPTIONS
from gridengine.options.explain import EXPLAIN_OPTIONS
from gridengine.options.make import MAKE_OPTIONS
from gridengine.options.option import Option, options_of
from gridengine.options.overview import OVERVIEW_OPTIONS
from gridengine.options.ping import PING_OPTIONS
from gridengine.options.planned import PLANNED_OPTIONS
from gridengine.options.quota import QUOTA_OPTIONS
from gridengine.options.reservation import RESERVATION_OPTIONS
from gridengine.options.share_tree import SHARE_TREE_OPTIONS
from gridengine.options.status import STATUS_OPTIONS
from gridengine.options.submit import SUBMIT_OPTIONS
from gridengine.options.task_lists import TASK_LIST_OPTIONS


class Command:
    """A command: its operands in the notation of option arguments, and its purpose."""

    __slots__ = ("name", "operands", "options", "purpose")

    def __init__(self, name: str, operands: str, purpose: str, table: tuple[Option, ...]) -> None:
        self.name = name
        self.operands = operands
        self.purpose = purpose
        rows = {option.name: option for option in options_of(name, table).values()}
        self.options = sorted(rows.values(), key=lambda option: (option.name.lower(), option.name.swapcase()))


COMMANDS: tuple[Command, ...] = (
    Command("qsub", "[script|-|command [arguments]]", "submit a batch job", SUBMIT_OPTIONS),
    Command("qalter", "job_task_list [-- arguments]", "change jobs", SUBMIT_OPTIONS),
    Command("qtasks", "list|show|retry|add job_id [argument...]", "the commands of a task list (qsub -tasks)", TASK_LIST_OPTIONS),
    Command("qresub", "job_id_list", "submit copies of jobs", SUBMIT_OPTIONS),
    Command("qdel", "job_task_list", "delete jobs", CONTROL_OPTIONS),
    Command("qhold", "job_task_list", "keep jobs from being started", CONTROL_OPTIONS),
    Command("qrls", "job_task_list", "release jobs from holds", CONTROL_OPTIONS),
    Command("qmod", "", "change the state of jobs and queues", CONTROL_OPTIONS),
    Command("qrsh", "[command [arguments]]", "run a command or a login shell on an exec host, in this terminal", SUBMIT_OPTIONS),
    Command("qlogin", "", "open a login shell on an exec host, in this terminal", SUBMIT_OPTIONS),
    Command("qmake", "-- [make_argument...]", "make, whose commands run on the hosts of a job or as jobs", MAKE_OPTIONS),
    Command("qsh", "", "open an xterm on an exec host", SUBMIT_OPTIONS),
    Command("qstat", "", "show jobs and queues", STATUS_OPTIONS),
    Command("qstatus", "[user]", "list jobs in short, with sums by owner", OVERVIEW_OPTIONS),
    Command("qsched", "", "show the resource reservations for waiting jobs", PLANNED_OPTIONS),
    Command("qhost", "", "show hosts", STATUS_OPTIONS),
    Command("qselect", "", "list the queue instances that meet criteria", STATUS_OPTIONS),
    Command("qexplain", "job_list", "explain why jobs are pending", EXPLAIN_OPTIONS),
    Command("qquota", "", "show what is in use under resource quotas", QUOTA_OPTIONS),
    Command("qevent", "", "print the events of the system, or run programs when jobs and tasks end", EVENT_OPTIONS),
    Command("qping", "host port name id", "check whether a daemon answers, and show its status", PING_OPTIONS),
    Command("qacct", "", "show the usage of ended jobs", ACCOUNTING_OPTIONS),
    Command("qrsub", "", "make an advance reservation", RESERVATION_OPTIONS),
    Command("qralter", "ar_list", "change advance reservations", RESERVATION_OPTIONS),
    Command("qrdel", "ar_list", "delete advance reservations", RESERVATION_OPTIONS),
    Command("qrstat", "", "show advance reservations", RESERVATION_OPTIONS),
    Command("sge_share_mon", "[node_path...]", "show the share tree with its usage, once or again and again", SHARE_TREE_OPTIONS),
    Command("qconf", "", "show and change the configuration", CONFIGURATION_OPTIONS),
)


def command_named(name: str) -> Command:
    """The row of a command."""
    return next(command for command in COMMANDS if command.name == name)
