"""The qmaster's log has interventions in jobs once they are on disk, and obeys loglevel at once."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from daemons.qmaster.serve.interventions_log import follow_loglevel, log_interventions
from tests.harness import Cell

pytestmark = pytest.mark.statement("GC-4")


@pytest.fixture
def root_level() -> Iterator[logging.Logger]:
    """The logger whose level loglevel is; left as it was."""
    root = logging.getLogger()
    level = root.level
    yield root
    root.setLevel(level)


def test_loglevel_counts_from_its_change_on(cell: Cell, root_level: logging.Logger) -> None:
    follow_loglevel(cell.master)
    assert root_level.level == logging.WARNING
    for name, level in (("log_info", logging.INFO), ("log_err", logging.ERROR)):
        assert cell.configure("configuration", "global", loglevel=name).status == 0
        assert root_level.level == level


def test_a_line_is_written_with_its_level_and_fields(cell: Cell, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    log_interventions(cell.master)
    running = cell.submit()
    cell.cycle()
    cell.ask("delete_jobs", targets=[str(running)])
    [record] = [record for record in caplog.records if record.name == log_interventions.__module__]
    host = cell.state.jobs[running].tasks[1].host
    assert (record.levelname, record.getMessage()) == ("WARNING", f"job {running} (alice) on {host} is ended: qdel by alice@h1")
    fields = record.__dict__["fields"]
    assert (fields["event"], fields["job"], fields["by"]) == ("TaskDeletionRequested", running, "alice@h1")
