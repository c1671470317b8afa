"""Daemons and event clients: the registered clients, and shutting down.

Owns -secl, -kec, -sss, -tsm, -ke, -kej, -km, -ks, -kt and -at. Called by `clients.qconf`. Source: qconf(1); QF-31, QF-34,
QF-35; O for the texts.
"""

from clients import gdi, program


def list_event_clients() -> int:
    """-secl: a table of ids, names and hosts."""
    clients = program.read("event_clients", {})
    if not clients:
        program.print_error("no event clients registered")
        return 0
    print(f"{'ID':>8} {'NAME':<15} {'HOST':<25}\n{'-' * 50}")
    for client, name, host in clients:
        program.show([f"{client:8} {name:<15} {host:<25}\n"])
    return 0


def end_event_clients(values: list[str]) -> int:
    """-kec: end event clients by id, or all but the scheduler."""
    return program.request("kill_event_clients", {"clients": values[0].replace(",", " ").split()})


def show_scheduler_host() -> int:
    """-sss: print the host of the scheduler."""
    host = scheduler_host()
    if not host:
        return report_no_scheduler()
    print(host)
    return 0


def report_no_scheduler() -> int:
    """Report that no scheduler is registered; the exit status."""
    program.print_error("no scheduler is registered at the qmaster")
    return 1


def scheduler_host() -> str:
    """The host of the scheduler, "" when no scheduler is registered."""
    return next((str(host) for _, name, host in program.read("event_clients", {}) if name == "scheduler"), "")


def shut_down(kind: str, values: list[str], kill_jobs: bool = False) -> int:
    """-km, -ks, -kt scheduler, -ke: shut down daemons; jobs keep running unless `kill_jobs` (-kej)."""
    hosts = [name for value in values for name in value.split(",") if name] if kind == "execd" else []
    what = _check_thread(values[0]) if kind == "thread" else kind
    # not by `request`, which may send twice: the second request would also end a qmaster that was started meanwhile
    return program.show_answers(gdi.call("shutdown", {"what": what, "hosts": hosts, "kill_jobs": kill_jobs}))


def start_thread(values: list[str]) -> int:
    """-at scheduler: report the state; the scheduler starts and ends with the qmaster."""
    _check_thread(values[0])
    if not scheduler_host():
        program.print_error("the scheduler is started by the qmaster alone")
        return 1
    program.print_error("scheduler thread is already running")
    return 0


def _check_thread(name: str) -> str:
    """The name, which must be "scheduler". Raises CommandError."""
    if name != "scheduler":
        raise program.CommandError(f'thread with name "{name}" is not supported', 1)
    return name
