"""What the files of a running task say, whatever is done to the host's clock (EX-16)."""

from __future__ import annotations

import os
import pwd
from pathlib import Path

import pytest

from daemons.execd.active_jobs import create, find_account, running_seconds, tasks_on_disk
from daemons.execd.restraints import Restraint
from daemons.execd.site import Site, prepare_spool
from gridengine.delivery import Origin
from tests.unit.execd.instructions import configuration, start

TICKS_PER_S = os.sysconf("SC_CLK_TCK")


@pytest.mark.statement("EX-16")
def test_running_time_counts_from_the_start_of_the_process(tmp_path: Path) -> None:
    assert running_seconds(tmp_path, 1000.0) == 0, "it has not begun"
    job_pid = tmp_path / "job_pid"
    job_pid.write_text(f"4711 {900 * TICKS_PER_S}\n")
    for written in (0, 2**31):
        os.utime(job_pid, (written, written))
        assert running_seconds(tmp_path, 1000.0) == 100
    job_pid.write_text("4711 0\n")
    assert running_seconds(tmp_path, 1000.0) == 0, "it was over before anybody looked"


def test_whose_a_task_is_and_which_places_it_has_is_kept_with_it(tmp_path: Path) -> None:
    site = Site("g1", "/opt/ge", "default", tmp_path / "spool")
    prepare_spool(site.spool)
    own = pwd.getpwuid(os.geteuid()).pw_name
    given = start({"owner": own, "submit_time": 9.0, "first_submit_time": 5.0}, pe_name="mpi", time=7.0)
    create(given, site, configuration(), Restraint(), find_account(own))
    assert tasks_on_disk(site)[given.key].origin == Origin(own, 5.0, 7.0, given.granted, "mpi")
    (site.task_directory(given.key) / "origin").unlink()
    assert tasks_on_disk(site)[given.key].origin == Origin(), "an earlier version started it"
