"""One exec host against a stand-in master: real Ray, launcher and shepherds, and processes killed at bad moments."""

from __future__ import annotations

import json
import os
import signal
import stat
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.integration.cells import PATIENCE_S, eventually
from tests.integration.execd.exec_host import HOST, USER, ExecHost


@pytest.fixture(scope="module")
def host() -> Iterator[ExecHost]:
    """A running exec host; every test leaves it running."""
    place = ExecHost()
    try:
        place.start_master()
        place.start_execd()
        place.configure()
        yield place
    finally:
        place.remove()


def start_behind_gate(host: ExecHost, job_id: int, end: str, **changes: Any) -> Path:
    """Have a job run that ends with the command `end` as soon as the returned file exists."""
    gate = host.place / f"gate.{job_id}"
    host.start(job_id, f"while [ ! -e {gate} ]; do sleep 0.1; done; {end}\n", **changes)
    host.job_process(job_id)
    return gate


def first_load(host: ExecHost) -> dict[str, Any]:
    eventually("a load report comes", lambda: host.reports("load"))
    return host.reports("load")[0]


def test_a_job_runs_and_its_end_is_reported(host: ExecHost) -> None:
    out = host.place / "first.out"
    host.start(1, f"echo $GREETING $JOB_ID $SGE_TASK_ID > {out}; exit 3\n")
    end = host.end_of(1)
    assert (end["exit_status"], end.get("failed", 0)) == (3, 0)
    assert out.read_text() == "hello 1 undefined\n"
    assert all(report["key"] == [1, 1, 1] for report in host.reports("started", 1))
    eventually("the files are gone", lambda: not any((host.spool / "active_jobs").iterdir()))
    eventually("the script is, too", lambda: not (host.spool / "job_scripts" / "1").exists())


def test_a_repeated_start_does_nothing(host: ExecHost) -> None:
    out, gate = host.place / "twice.out", host.place / "gate.2"
    instruction = host.start_instruction(2, f"echo run >> {out}; while [ ! -e {gate} ]; do sleep 0.1; done\n")
    assert host.deliver(instruction, instruction) == [{}, {}]
    assert host.deliver(instruction) == [{}]
    gate.touch()
    host.end_of(2)
    assert out.read_text() == "run\n"


def test_files_of_a_task_are_closed_to_others(host: ExecHost) -> None:
    host.start(3, "sleep 1000\n")
    modes = {
        name: stat.S_IMODE((host.spool / name).stat().st_mode)
        for name in ("active_jobs/3.1", "active_jobs/3.1/config", "job_scripts/3")
    }
    host.deliver({"type": "signal", "key": [3, 1, 1], "command": "kill"})
    assert modes == {"active_jobs/3.1": 0o755, "active_jobs/3.1/config": 0o600, "job_scripts/3": 0o550}
    assert host.end_of(3)["exit_status"] == 137


def test_suspend_and_resume(host: ExecHost) -> None:
    host.start(4, "exec sleep 1000\n")
    job = host.job_process(4)
    host.deliver({"type": "signal", "key": [4, 1, 1], "command": "suspend"})
    eventually("the job is stopped", lambda: job.status() == "stopped")
    host.deliver({"type": "signal", "key": [4, 1, 1], "command": "run"})
    eventually("the job goes on", lambda: job.status() != "stopped")
    host.deliver({"type": "forget", "key": [4, 1, 1]})
    eventually("the files are gone", lambda: not (host.spool / "active_jobs" / "4.1").exists())
    assert host.reports("ended", 4) == []


@pytest.mark.statement("EX-4", "EX-19")
def test_a_start_that_cannot_be_made_has_a_reason(host: ExecHost) -> None:
    answer = host.start(5, "true\n", owner="nobody_of_this_name")
    assert (answer["ok"], answer["failed"]) == (False, 1)
    assert "nobody_of_this_name" in answer["reason"]


@pytest.mark.statement("EX-12")
def test_load_is_reported(host: ExecHost) -> None:
    first = first_load(host)
    assert first["full"] and first["values"]["arch"] and first["incarnation"]
    count = len(host.reports("load"))
    eventually("another load report comes", lambda: len(host.reports("load")) > count)


@pytest.mark.statement("EX-8")
def test_usage_of_a_running_job_is_reported(host: ExecHost) -> None:
    host.start(6, "while :; do :; done\n")
    eventually("usage is reported", lambda: any(r["usage"].get("cpu", 0) > 0 for r in host.reports("usage", 6)))
    host.deliver({"type": "signal", "key": [6, 1, 1], "command": "kill"})
    host.end_of(6)


@pytest.fixture
def configured(host: ExecHost) -> Iterator[Callable[..., None]]:
    """Changes the host's configuration for one test."""
    yield host.configure
    host.configure()


@pytest.mark.statement("EX-13")
def test_keep_active_leaves_the_directory_of_an_ended_task(host: ExecHost, configured: Callable[..., None]) -> None:
    configured(execd_params="KEEP_ACTIVE=true")
    host.start(7, "exit 1\n")
    host.end_of(7)
    directory = host.spool / "active_jobs" / "7.1"
    eventually("it is marked as kept", (directory / "kept").exists)
    assert "job ended with 1" in (directory / "trace").read_text()
    host.kill("ray::ExecdActor")
    configured(execd_params="KEEP_ACTIVE=true")
    assert [7, 1, 1] not in host.reports("inventory")[-1].get("keys", [])
    assert (directory / "exit").exists()
    configured()
    eventually("it goes when it is off again", lambda: not list(directory.parent.glob("*7.1*")))


@pytest.mark.statement("EX-15")
def test_shepherd_cmd_wraps_the_shepherd(host: ExecHost, configured: Callable[..., None]) -> None:
    wrapper, seen = host.place / "wrapper", host.place / "seen_by_wrapper"
    wrapper.write_text(f"#!/bin/sh\necho $0 $1 $PWD >{seen}\n{sys.executable} -m shepherd $*\necho $? >>{seen}\n")
    wrapper.chmod(0o755)
    configured(shepherd_cmd=str(wrapper))
    host.start(8, "sleep 1000\n")
    host.job_process(8)
    host.deliver({"type": "signal", "key": [8, 1, 1], "command": "kill"})
    assert host.end_of(8)["exit_status"] == 137
    eventually("the wrapper has ended", lambda: seen.read_text() == f"{wrapper} -bg {host.spool}/active_jobs/8.1\n0\n")
    configured(shepherd_cmd="/no/such/wrapper")
    answer = host.start(9, "true\n")
    assert (answer["failed"], answer["reason"]) == (11, "cannot execute shepherd_cmd /no/such/wrapper")


@pytest.mark.statement("EX-16")
def test_reserved_usage_replaces_measured_usage(host: ExecHost, configured: Callable[..., None]) -> None:
    configured(execd_params="ACCT_RESERVED_USAGE=true")
    go = start_behind_gate(host, 19, "true", hard={"h_vmem": "2G"})
    eventually("usage is reported", lambda: host.reports("usage", 19))
    go.touch()
    assert host.reports("usage", 19)[0]["usage"]["maxvmem"] == 2**31
    end = host.end_of(19)
    assert end["usage"]["cpu"] == pytest.approx(end["usage"]["ru_wallclock"], abs=0.1)
    assert end["usage"]["mem"] == pytest.approx(2 * end["usage"]["cpu"])


@pytest.mark.statement("EX-18", "EX-9")
def test_cores_stay_with_their_task_and_come_back(host: ExecHost) -> None:
    topology = first_load(host)["values"]["m_topology"]
    job = {"binding": "set linear:1"}
    bound = host.start(20, "sleep 1000\n", **job)["confinement"]["binding"]
    assert bound.upper() == topology and bound.count("c") == 1
    in_use = lambda: [r["values"]["m_topology_inuse"] for r in host.reports("load") if "m_topology_inuse" in r.get("values", {})]  # noqa: E731
    eventually("the core is in use", lambda: in_use()[-1] == bound)
    host.kill("ray::ExecdActor")
    second = host.start(21, "sleep 1000\n", **job).get("confinement", {}).get("binding", "")
    assert second != bound, "a core that an earlier daemon has given is not given twice"
    for job_id in (20, 21):
        shepherd = host.job_process(job_id).parent()
        assert shepherd is not None
        shepherd.kill()
        host.end_of(job_id)
    eventually("the cores are free again", lambda: in_use()[-1] == topology)


def test_execd_actor_killed(host: ExecHost) -> None:
    go = start_behind_gate(host, 10, "exit 7")
    host.kill("ray::ExecdActor")
    go.touch()
    assert host.end_of(10)["exit_status"] == 7
    host.start(11, "exit 8\n")
    assert host.end_of(11)["exit_status"] == 8


def test_raylet_killed(host: ExecHost) -> None:
    go = start_behind_gate(host, 12, "exit 9")
    actors = host.find("ray::ExecdActor")
    host.kill("raylet/raylet", f"h-{HOST}/")
    eventually("no actor is left behind", lambda: not any(actor.is_running() for actor in actors))
    go.touch()
    assert host.end_of(12)["exit_status"] == 9
    host.start(13, "exit 10\n")
    assert host.end_of(13)["exit_status"] == 10


@pytest.mark.statement("EX-9")
def test_launcher_killed(host: ExecHost) -> None:
    go = start_behind_gate(host, 14, "exit 11")
    host.kill("shepherd.launcher")
    go.touch()
    host.start(15, "exit 12\n")
    assert host.end_of(15)["exit_status"] == 12
    assert host.end_of(14)["exit_status"] == 11


@pytest.mark.statement("EX-9")
def test_supervisor_killed(host: ExecHost) -> None:
    go = start_behind_gate(host, 16, "exit 13")
    assert host.execd is not None
    host.execd.kill()
    host.execd.wait()
    eventually(
        "nothing of it is left but the shepherd",
        lambda: not host.find(f"h-{HOST}/") and not host.find("ray::ExecdActor"),
    )
    go.touch()
    eventually("the job ends meanwhile", (host.spool / "active_jobs" / "16.1" / "exit").exists)
    assert host.reports("ended", 16) == []
    host.start_execd()
    assert host.end_of(16)["exit_status"] == 13


@pytest.mark.statement("EX-9")
def test_stopped_and_started_again(host: ExecHost) -> None:
    go = start_behind_gate(host, 17, "exit 14")
    assert host.execd is not None
    host.execd.send_signal(signal.SIGTERM)
    assert host.execd.wait(PATIENCE_S) == 0
    eventually(
        "nothing of it is left but the shepherd",
        lambda: not host.find("raylet", f"h-{HOST}/") and not host.find("shepherd.launcher"),
    )
    go.touch()
    eventually("the job ends meanwhile", (host.spool / "active_jobs" / "17.1" / "exit").exists)
    host.start_execd()
    assert host.end_of(17)["exit_status"] == 14


def test_master_away_while_a_job_ends(host: ExecHost) -> None:
    go = start_behind_gate(host, 18, "exit 15")
    assert host.master is not None
    eventually("the master is reached", lambda: host.post("master_reached", {})["data"] is True)
    host.master.kill()
    host.master.wait()
    go.touch()
    eventually("the job ends meanwhile", (host.spool / "active_jobs" / "18.1" / "exit").exists)
    assert host.post("master_reached", {})["data"] is False
    before = len(host.reports("inventory"))
    answer = host.post("whoami", {})
    assert answer["status"] == 1 and "unable to contact qmaster" in answer["answers"][0][1]
    host.start_master()
    assert host.end_of(18)["exit_status"] == 15
    assert any([18, 1, 1] in report.get("keys", []) for report in host.reports("inventory")[before:])


def master_answers(host: ExecHost) -> None:
    eventually("the master answers", lambda: host.post("whoami", {})["status"] == 0)


def test_gateway_names_its_caller(host: ExecHost) -> None:
    master_answers(host)
    identity = host.post("whoami", b"x" * 1_000_000)["data"]
    assert identity["bytes"] == 1_000_000
    assert (identity["X-GE-User"], identity["X-GE-Uid"], identity["X-GE-Host"]) == (USER, str(os.geteuid()), HOST)


def test_gateway_passes_lines_on_as_they_come(host: ExecHost) -> None:
    master_answers(host)
    seen = host.place / "seen"
    with host.connect("stream", json.dumps({"seen": str(seen)}).encode()) as connection:
        data = b""
        for number in (1, 2):
            while f'{{"line": {number}}}'.encode() not in data:
                more = connection.recv(4096)
                assert more, f"the answer ended behind {data!r}"
                data += more
            seen.touch()


def test_a_second_execd_on_a_host_refuses_to_start(host: ExecHost) -> None:
    assert host.execd is not None
    first = host.execd
    host.start_execd()
    second, host.execd = host.execd, first
    assert second.wait(PATIENCE_S) == 1
    assert "runs already" in (host.place / "execd.log").read_text()
