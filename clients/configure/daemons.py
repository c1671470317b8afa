"""Daemons and event clients: who is connected, and shutting down.

Owns -secl, -kec, -sss, -tsm, -ke, -kej, -km, -ks, -kt and -at. Called by `clients.qconf`. Source: qconf(1); QF-31, QF-34,
QF-35; O for the texts.
"""

from clients import gdi, program


def list_event_clients(kind: str, values: list[str]) -> int:
    """-secl: a table of ids, names and hosts."""
    clients = program.read("event_clients", {})
    if not clients:
        program.complain("no event clients registered")
        return 0
    print(f"{'ID':>8} {'NAME':<15} {'HOST':<25}\n{'-' * 50}")
    for client, name, host in clients:
        program.show([f"{client:8} {name:<15} {host:<25}\n"])
    return 0


def end_event_clients(kind: str, values: list[str]) -> int:
    """-kec: by id, or all but the scheduler."""
    return program.request("kill_event_clients", {"clients": values[0].replace(",", " ").split()})


def show_scheduler_host(kind: str, values: list[str]) -> int:
    """-sss: where the scheduler works."""
    host = scheduler_host()
    if not host:
        return no_scheduler()
    print(host)
    return 0


def no_scheduler() -> int:
    """Say that there is none; the exit status."""
    program.complain("no scheduler is registered at the qmaster")
    return 1


def scheduler_host() -> str:
    """The host where the scheduler works, "" when there is none."""
    return next((str(host) for _, name, host in program.read("event_clients", {}) if name == "scheduler"), "")


def shut_down(kind: str, values: list[str]) -> int:
    """-km, -ks, -kt scheduler, -ke; jobs go on."""
    return _shut_down(kind, values, kill_jobs=False)


def shut_down_with_jobs(kind: str, values: list[str]) -> int:
    """-kej: execution daemons and the jobs that they run."""
    return _shut_down(kind, values, kill_jobs=True)


def _shut_down(kind: str, values: list[str], kill_jobs: bool) -> int:
    hosts = [name for value in values for name in value.split(",") if name] if kind == "execd" else []
    what = _thread(values[0]) if kind == "thread" else kind
    # not by `request`, which may ask twice: that would end the qmaster that was started meanwhile, too
    return program.show_answers(gdi.call("shutdown", {"what": what, "hosts": hosts, "kill_jobs": kill_jobs}))


def start_thread(kind: str, values: list[str]) -> int:
    """-at scheduler: it starts with the qmaster, and is there as long as that one is."""
    _thread(values[0])
    if not scheduler_host():
        program.complain("the scheduler is started by the qmaster alone")
        return 1
    program.complain("scheduler thread is already running")
    return 0


def _thread(name: str) -> str:
    """The one part of the qmaster that can be named. Raises Failure."""
    if name != "scheduler":
        raise program.Failure(f'thread with name "{name}" is not supported', 1)
    return name


def monitor_scheduling(kind: str, values: list[str]) -> int:
    """-tsm: the next scheduling run writes why jobs wait into common/schedd_runlog (QF-35)."""
    return program.request("monitor_scheduling", {})
