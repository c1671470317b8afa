"""Options of qacct, the rows alone. Source: qacct(1); statements QA."""

from gridengine.options import fields as fold
from gridengine.options.option import Option


def number(target: fold.Target, field: str, values: fold.Values) -> None:
    """A number of slots or of a reservation; without an argument the empty text."""
    if values:
        fold.count({}, field, values)
    fold.text(target, field, values)


ACCOUNTING_OPTIONS: tuple[Option, ...] = (
    Option("-ar", "[ar_id]", "qacct", number, "ar", "by advance reservation, or this one"),
    Option("-A", "[account]", "qacct", fold.given, "account", "by account, or this one"),
    Option("-b", "begin_time", "qacct", fold.date, "begin", "jobs that started after this time"),
    Option("-csv", "", "qacct", fold.flag, "csv", "print CSV, names in its first row"),
    Option("-d", "days", "qacct", fold.count, "days", "jobs that started within so many days"),
    Option("-D", "[department]", "qacct", fold.given, "department", "by department, or this one"),
    Option("-e", "end_time", "qacct", fold.date, "end", "jobs that started before this time"),
    Option("-E", "", "qacct", fold.flag, "by_end", "times of -b, -d, -e are those of the end of jobs"),
    Option("-f", "file", "qacct", fold.text, "file", "read this file, packed by gzip or not, - for the standard input"),
    Option("-g", "[group]", "qacct", fold.given, "group", "by group, or this one"),
    Option("-h", "[host]", "qacct", fold.given, "host", "by host, or this one"),
    Option("-help --help", "", "qacct", fold.flag, "help", "print this help"),
    Option("-j", "[job]", "qacct", fold.given, "job", "print whole records: all, of an id, a name or a pattern"),
    Option("-json", "", "qacct", fold.flag, "json", "print JSON"),
    Option("-l", "resource_list", "qacct", fold.items, "requests", "jobs in queues that offer these resources"),
    Option("-m", "", "qacct", fold.flag, "master_only", "leave out slave tasks of parallel jobs"),
    Option("-o -u", "[owner]", "qacct", fold.given, "owner", "by owner, or this one"),
    Option("-pe", "[pe_name]", "qacct", fold.given, "pe", "by parallel environment, or this one"),
    Option("-P", "[project]", "qacct", fold.given, "project", "by project, or this one"),
    Option("-q", "[wc_queue]", "qacct", fold.given, "queue", "by cluster queue, or those that match"),
    Option("-reserved", "", "qacct", fold.flag, "reserved", "with -ar ar_id: reserved slots, and their use by its jobs"),
    Option("-slots", "[slots]", "qacct", number, "slots", "by number of slots, or this number"),
    Option("-t", "task_id_range", "qacct", fold.text, "tasks", "with -j: these tasks"),
)
