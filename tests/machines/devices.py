"""The step `devices`: device files of other jobs are closed on cgroup v2, where systemd is the service manager.

The devices are those of the kernel's memory driver (major 1), under other names. Each job runs `device_probe`, which tries to
open all of them. Called by `steps`. Source: adr/0350.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager

from daemons.execd.systemd_scope import SLICE, scope_name
from tests.machines.bed import EXEC, MASTER, SGE_ROOT, as_alice, eventually, note, on, require, try_on
from tests.machines.cell import await_host, delete, has_ended, record, state_codes, submit
from tests.machines.device_probe import FILES, OPENED, PLACE, WAYS

_SOURCE = "/mnt/project/tests/machines/device_probe.py"
_PROBE = f"/usr/bin/python3 -S {PLACE}/device_probe.py"
_MINORS = {"0": 5, "1": 7, "2": 8, "shared": 9}  # zero, full, random, urandom
_DENIED = "Operation not permitted"
_UNITS = " ".join(f"seat/{unit}(device_files={PLACE}/{unit},{PLACE}/shared)" for unit in FILES[:-1])
_SCOPE = f"/sys/fs/cgroup/{SLICE}/{scope_name('default', SGE_ROOT, EXEC)}"
_WITHOUT_BPF = "/run/systemd/system/sge_execd.service.d/without-bpf.conf"


def devices() -> None:
    """The kernel closes the device files of other jobs to a job, its methods, slave tasks and sessions."""
    with _units():
        holder, other = _serving_job(), _serving_job()
        first, second = _require_own_alone("a job", _ask(holder)), _require_own_alone("another job", _ask(other))
        require("the two have a unit each", len(first) == len(second) == 1 and first != second, (first, second))
        require("a job without a unit has none", not _require_own_alone("a job without a unit", _output_of()))
        _require_limits_of_descriptors(_output_of(f"{_PROBE} take {holder}"))
        _slave_tasks_and_sessions()
        _methods()
        _restarts(holder)
        delete(holder, other)
        eventually("no task has left a cgroup", lambda: on(EXEC, f"ls -d {_SCOPE}/*/").split() == [f"{_SCOPE}/daemons/"])
        _without_the_filter()


def _slave_tasks_and_sessions() -> None:
    units = _require_own_alone("a slave task", _output_of(f"{PLACE}/tight", "-pe make 1 -l seat=1"))
    require("a slave task has the unit of its job", len(units) == 1, units)
    for what, command in {
        "qrsh with a command": f"qrsh -l seat=1 {_PROBE} try",
        "qlogin": f"(sleep 20; echo {_PROBE} try; sleep 20; echo exit) | script -qec 'qlogin -l seat=1' /dev/null",
    }.items():
        units = _require_own_alone(what, _read(as_alice(command)))
        require(f"{what} has a unit", len(units) == 1, units)


def _methods() -> None:
    """A prolog of root's, which could make device files."""
    on(MASTER, f"qconf -mattr queue prolog root@{PLACE}/prolog all.q")
    try:
        results = _output_of(options="-l seat=1")
    finally:
        on(MASTER, "qconf -mattr queue prolog NONE all.q")
    require("the first is that of root", results["uid"] == 0, results["uid"])
    _require_own_alone("a prolog of root's", results)


def _restarts(job: str) -> None:
    """Of the daemon, in order and not; systemd reads its units again, and has a device policy of its own for all jobs."""
    on(EXEC, "systemctl restart sge_execd")
    await_host()
    on(EXEC, "systemctl kill --kill-whom=all --signal=KILL sge_execd")
    eventually("systemd starts it again", lambda: on(EXEC, "systemctl show -p NRestarts --value sge_execd") != "0")
    await_host()
    on(EXEC, "systemctl daemon-reload")
    _require_own_alone("a job after restarts of its daemon", _ask(job))
    on(EXEC, f"systemctl set-property --runtime {SLICE} DevicePolicy=auto 'DeviceAllow=char-* rwm' 'DeviceAllow=block-* rwm'")
    try:
        _require_own_alone("a job below a device policy of systemd", _ask(job))
        _require_own_alone("a new job below it", _output_of())
    finally:
        on(EXEC, f"systemctl set-property --runtime {SLICE} DeviceAllow=")
    _require_own_alone("a job after that policy", _ask(job))


def _without_the_filter() -> None:
    """The doctor says so, and a host that has to close devices starts no job. One that has not to starts a job, which opens all
    files: the ways are real."""
    doctor = try_on(EXEC, "gridengine doctor")
    require("doctor says that devices are closed", "open the device files of their own units alone" in doctor, doctor)
    with _daemon_without_bpf():
        doctor = try_on(EXEC, "gridengine doctor")
        require("doctor says that they are not", "by agreement" in doctor and "takes no device filter" in doctor, doctor)
        refused = submit("-l", "seat=1")
        eventually("a host that has to close devices starts no job", lambda: "E" in state_codes())
        note(try_on(MASTER, f"qexplain {refused}").replace("\n", "\n             "))
        delete(refused)
        on(MASTER, f"cd /root; echo 'execd_params ENABLE_CGROUPS=true' >{EXEC}; qconf -Mconf {EXEC}; qmod -c all.q")
        results = _output_of(options="-l seat=1")
        require("by agreement a job opens all files", all(results[way] == dict.fromkeys(FILES, OPENED) for way in WAYS), results)


@contextmanager
def _daemon_without_bpf() -> Iterator[None]:
    """The unit of the daemon lacks the capabilities."""
    content = r"[Service]\nCapabilityBoundingSet=~CAP_BPF CAP_SYS_ADMIN\n"
    again = "systemctl daemon-reload; systemctl restart sge_execd"
    on(EXEC, f"mkdir -p $(dirname {_WITHOUT_BPF}); printf '{content}' >{_WITHOUT_BPF}; {again}")
    try:
        await_host()
        yield
    finally:
        on(EXEC, f"rm -f {_WITHOUT_BPF}; {again}")
        try_on(MASTER, "qmod -c all.q")
    await_host()


def _require_limits_of_descriptors(results: dict[str, object]) -> None:
    """The kernel asks when a file is opened. Source: docs/security.md, Device files of jobs."""
    note(f"a descriptor that the job with the unit passes on: {results}")
    expected = {"reading": 1, "opening it again": _DENIED, "opening that of the job": _DENIED}
    require("a descriptor that is passed on can be read, and not opened again", results == expected, results)


@contextmanager
def _units() -> Iterator[None]:
    """The exec host has three units of `seat`, with a device file each and one in common."""
    _clear()
    on(EXEC, f"mkdir -p {PLACE}/made; install -d -m 1777 {PLACE}/run; install -m 644 {_SOURCE} {PLACE}")
    for name, minor in _MINORS.items():
        on(EXEC, f"cd {PLACE}; mknod -m 666 {name} c 1 {minor}; mknod -m 666 made/{name} c 1 {minor}")
    for name in ("head", "mknod"):
        on(EXEC, f"install -m 4755 $(command -v {name}) {PLACE}/helper-{name}")
    for name, command in {"prolog": f"{_PROBE} try", "tight": f"qrsh -inherit {EXEC} {_PROBE} try"}.items():
        on(EXEC, f"cd {PLACE}; printf '#!/bin/sh\n{command}\n' >{name}; chmod 755 {name}")
    on(MASTER, "cd /root; qconf -sc >complexes; echo 'seat seat RSMAP <= YES YES 0 0' >>complexes; qconf -Mc complexes")
    on(MASTER, f"qconf -mattr exechost complex_values 'seat=3(0 1 2)' {EXEC}")
    on(MASTER, f"cd /root; printf 'hostname {EXEC}\nunits {_UNITS}\n' >units; qconf -Aunit units")
    on(MASTER, f"cd /root; echo 'execd_params ENABLE_CGROUPS=true,REQUIRE_CLOSED_DEVICES=true' >{EXEC}; qconf -Aconf {EXEC}")
    try:
        yield
    finally:
        _clear()


def _clear() -> None:
    commands = (
        "qdel -f -u '*'", f"qconf -dconf {EXEC}", f"qconf -dunit {EXEC}", f"qconf -dattr exechost complex_values seat {EXEC}",
        "qconf -sc | grep -v ^seat >/root/complexes; qconf -Mc /root/complexes",
    )  # fmt: skip
    try_on(MASTER, "; ".join(commands))
    try_on(EXEC, f"rm -rf {PLACE}")


def _serving_job() -> str:
    """Submit a job with a unit that answers `_ask`; return its number."""
    job = submit("-l", "seat=1", command=f"{_PROBE} serve")
    eventually(f"job {job} serves", lambda: "yes" in try_on(EXEC, f"test -S {PLACE}/run/{job} && echo yes"))
    return job


def _ask(job: str) -> dict[str, object]:
    return _read(on(EXEC, f"{_PROBE} ask {job}"))


def _output_of(command: str = f"{_PROBE} try", options: str = "") -> dict[str, object]:
    return _read(_text_of(command, options))


def _text_of(command: str, options: str) -> str:
    """Run a job to its end; return its output."""
    job = as_alice(f"qsub -terse -b y -j y -o '{PLACE}/run/out.$JOB_ID' {options} {command}").split(".")[0]
    eventually("its end is known", lambda: has_ended(job))
    text = on(EXEC, f"cat {PLACE}/run/out.{job}")
    require(f"job {job} runs", record(job)["failed"].startswith("0"), (record(job), text))
    return text


def _read(text: str) -> dict[str, object]:
    """The first answer of the probe in a text."""
    line = next((line for line in text.splitlines() if line.startswith("{")), None)
    if line is None:
        require("the probe answers", False, text[-2000:])
        return {}
    results: dict[str, object] = json.loads(line)
    return results


def _require_own_alone(what: str, results: dict[str, object]) -> list[str]:
    """Each way opens the files of its units, and the kernel refuses all others; return the units."""
    units = str(results["units"]).split()
    own = {*units, "shared"} if units else set()
    expected = {name: OPENED if name in own else _DENIED for name in FILES}
    for way in WAYS:
        require(f"{what} with the units {units} opens its own by {way}", results[way] == expected, results[way])
    note(f"{what}: {' '.join(units) or 'no unit'}, {len(WAYS)} ways")
    return units
