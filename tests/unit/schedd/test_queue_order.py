"""qsort_args: a site's own order of queue instances for parallel jobs."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.builders import Cluster

ORDER = """
def backwards(instances, arguments):
    return sorted(instances, reverse=True)

def only(instances, arguments):
    return [name for name in instances if name.endswith(arguments[0])] + ["no.q@such"]

def broken(instances, arguments):
    raise RuntimeError("no")
"""


def cluster(directory: Path, call: str) -> Cluster:
    (directory / "order.py").write_text(ORDER)
    made = Cluster(3, slots=4)
    made.complex("where STRING == YES NO NONE 0")
    made.pe("own", "$fill_up", qsort_args=f"{directory}/order.py {call}" if call else "NONE")
    made.queue(pe_list="own")
    return made


@pytest.mark.statement("PE-16")
@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("", {"all.q@h1": 4, "all.q@h2": 1}),
        ("backwards", {"all.q@h3": 4, "all.q@h2": 1}),
        ("only 2", {}),
        ("broken", {"all.q@h1": 4, "all.q@h2": 1}),
        ("nosuch", {"all.q@h1": 4, "all.q@h2": 1}),
    ],
)
def test_the_order_is_the_sites(tmp_path: Path, call: str, expected: dict[str, int]) -> None:
    here = cluster(tmp_path, call)
    job = here.submit(pe="own", pe_range="5")
    here.cycle()
    assert here.spread(job) == expected


@pytest.mark.statement("PE-16")
def test_arguments_may_be_what_the_job_requests(tmp_path: Path) -> None:
    here = cluster(tmp_path, "only $where")
    for host in here.hosts:
        here.values(host, "where=2")
    job = here.submit(pe="own", pe_range="3", hard={"where": "2"})
    here.cycle()
    assert here.spread(job) == {"all.q@h2": 3}


@pytest.mark.statement("PE-16")
def test_a_changed_file_counts_and_a_broken_one_is_logged_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    here = cluster(tmp_path, "backwards")
    file, placed = tmp_path / "order.py", []
    for number, text in enumerate((ORDER, "def backwards(", "def backwards(", ORDER.replace("reverse=True", "key=middle")), 1):
        file.write_text(text + "\ndef middle(name):\n    return not name.endswith('2')\n" if "middle" in text else text)
        os.utime(file, ns=(number, number))
        job = here.submit(pe="own", pe_range="4")
        here.cycle()
        placed += here.spread(job)
        here.end(job)
    assert placed == ["all.q@h3", "all.q@h1", "all.q@h1", "all.q@h2"]
    assert len(caplog.records) == 1 and "order.py" in caplog.records[0].getMessage()
