"""Record by record against the reporting file of a real 8.1.9: as many fields, and each of the same kind.

`tests/data/reporting-8.1.9.txt` has lines of it, with other names.
"""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

import pytest

from gridengine.protocols.delivery import Ended, Load, UsageReport
from gridengine.state.jobs import Usage
from tests.harness import LOAD, Cell

SAMPLES = (Path(__file__).parents[2] / "data" / "reporting-8.1.9.txt").read_text().splitlines()
MIDNIGHT = 1_800_057_600.0
AMOUNT = r"[a-z_]+=\d+\.\d{6}"
KINDS = {
    "number": r"-?\d+",
    "amount": r"\d+\.\d{6}",
    "amounts": rf"{AMOUNT}(,{AMOUNT})*",
    "uses": rf"{AMOUNT}=\d+\.\d{{6}}(,{AMOUNT}=\d+\.\d{{6}})*",
}
NAMES = {"ar_attr": "ar_attribute"}
"""Types that have other names in 8.1.9 than in its manual."""


def kinds(line: str) -> list[str]:
    """The kind of each field behind the type of the record."""
    return [next((kind for kind, form in KINDS.items() if re.fullmatch(form, field)), "text") for field in line.split(":")[2:]]


def key(line: str) -> tuple[str, ...]:
    """The key of similar records: the type, for job_log the event and its cause, for acct whether the job runs on."""
    fields = line.split(":")
    kind = NAMES.get(fields[1], fields[1])
    if kind == "job_log":
        user = fields[8] if fields[8] in ("master", "scheduler", "execution daemon") else "user"
        return kind, fields[3], user
    return (kind, str(fields[14] == "-1")) if kind == "acct" else (kind,)


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, ...], list[str]]:
    """Lines of a cell with all events of the samples, by the key of similar records."""
    cell = Cell(tmp_path_factory.mktemp("cell"))
    cell.add("user", "alice")
    cell.add("complex", "lic", shortcut="lic", type="INT", relop="<=", requestable="YES", consumable="YES")
    cell.configure("exec_host", "global", complex_values="lic=5")
    cell.configure("exec_host", "h1", report_variables="np_load_avg")
    nodes = [("id", "0"), ("name", "Root"), ("type", "0"), ("shares", "1"), ("childnodes", "1")]
    nodes += [("id", "1"), ("name", "default"), ("type", "0"), ("shares", "10"), ("childnodes", "NONE")]
    attributes = [(name, value, line) for line, (name, value) in enumerate(nodes, 1)]
    cell.admin("config_add", kind="share_tree", name="", attributes=attributes)
    parameters = "reporting=true joblog=true log_consumables=true sharelog=10"
    cell.configure("configuration", "global", reporting_params=parameters)
    cell.report("h1", Load(cell.now, {**LOAD, "np_load_avg": "0.5"}, full=True, incarnation="boot1"))
    for action in ("disable", "enable"):
        cell.admin("change_states", action=action, what="queue", targets=["all.q@h2"])
    _jobs(cell)
    _reservation(cell)
    _long_job(cell)
    for _ in range(2):
        cell.pass_time(10)
    found = defaultdict(list)
    for line in (cell.directory / "reporting").read_text().splitlines():
        found[key(line)].append(line)
    return found


def _jobs(cell: Cell) -> None:
    job = cell.submit(hard=["lic=2"])
    cell.cycle()
    for action in ("suspend", "unsuspend"):
        cell.ask("change_states", action=action, what="job", targets=[str(job)])
    for failed, exit_status in ((25, 99), (26, 100)):
        cell.end(job, failed=failed, exit_status=exit_status)
        cell.now += 60
        cell.cycle()
    deleted = cell.submit()
    cell.cycle()
    cell.ask("delete_jobs", targets=[str(deleted)])
    cell.end(deleted, failed=100, exit_status=137)


def _reservation(cell: Cell) -> None:
    answer = cell.admin("reserve", duration=40, name="myar")
    assert answer.status == 0, answer.answers
    cell.pass_time(1)
    cell.admin("delete_reservations", targets=["1"])
    cell.pass_time(1)


def _long_job(cell: Cell) -> None:
    cell.now = MIDNIGHT - 100
    for host in cell.names:
        cell.report(host, Load(cell.now, dict(LOAD), full=True, incarnation="boot1"))
    job = cell.submit()
    cell.cycle()
    long = next(key for key in cell.running if key.job == job)
    cell.now = MIDNIGHT + 1
    cell.report(cell.running[long], UsageReport(long, Usage(cpu=1.0)))
    cell.report(cell.running.pop(long), Ended(long, 0, 3, 0, "", MIDNIGHT - 100, cell.now, {"cpu": 2.0, "ru_inblock": 3.0}))


@pytest.mark.statement("RP-1", "RP-3", "RP-4", "AR-118", "AR-119", "AR-120", "AR-121", "AR-122")
@pytest.mark.parametrize("sample", SAMPLES, ids=[f"{number} {' '.join(key(line))}" for number, line in enumerate(SAMPLES)])
def test_a_record_has_the_fields_of_8_1_9(ours: dict[tuple[str, ...], list[str]], sample: str) -> None:
    assert key(sample) in ours, "there is none"
    expected = kinds(sample)
    if key(sample) == ("queue",):  # an empty state is a text, too
        expected[-1] = "text"
    for line in ours[key(sample)]:
        assert kinds(line) == expected, line
