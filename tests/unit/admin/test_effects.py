"""`gridengine policy try` and the effects of `gridengine config plan`, on a cell in this process."""

from __future__ import annotations

from pathlib import Path

import pytest

from daemons.qmaster.serve.requests import forecasting
from gridengine.protocols.gdi.requests import Answer
from tests.harness import Cell
from tests.unit.admin.administrator import Administrator

HEADING = "effects on the cell as it is now, nothing is changed:\n"


@pytest.fixture
def cell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cell:
    (tmp_path / "cell").mkdir()
    monkeypatch.setenv("SGE_ROOT", str(tmp_path))
    monkeypatch.setenv("SGE_CELL", "default")
    return Cell(tmp_path / "cell", hosts=1, slots=1)


@pytest.fixture
def policy(cell: Cell, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Administrator:
    return Administrator(cell, "policy", capsys, monkeypatch)


@pytest.fixture
def config(cell: Cell, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Administrator:
    return Administrator(cell, "config", capsys, monkeypatch)


@pytest.fixture
def waiting(cell: Cell) -> tuple[int, int]:
    """The one slot is taken; a job with a demand for slots waits behind a job with a higher -p."""
    cell.add("parallel_environment", "two", slots="9", allocation_rule="$pe_slots")
    cell.configure("cluster_queue", "all.q", pe_list="two", slots="2")
    cell.submit(hard=["h_rt=100"], pe="two", pe_range="2", name="full")
    cell.cycle()
    wide = cell.submit(hard=["h_rt=60"], pe="two", pe_range="2", name="wide", priority=-300)
    slim = cell.submit(hard=["h_rt=60"], name="slim")
    cell.cycle()
    return wide, slim


@pytest.mark.statement("PR-1", "GD-2")
def test_a_weight_is_tried_and_not_changed(policy: Administrator, waiting: tuple[int, int]) -> None:
    wide, slim = waiting
    before = policy.cell.state.revision
    status, text = policy("try", "weight_urgency=1", "--when")
    assert status == 0
    assert text.startswith(f"~ scheduler\n    weight_urgency: 0.100000 -> 1\n{HEADING}")
    assert "  pending jobs with another place: 2\n" in text
    assert f'         2 -> 1      job {wide} ("wide") of alice\n' in text
    assert f'    job {slim} ("slim") of alice: 2027-01-15T08:01:40 -> 2027-01-15T08:02:40\n' in text
    assert policy.cell.state.revision == before
    assert "expected starts" not in policy("try", "weight_urgency=1")[1]


def test_settings_without_an_effect_say_so(policy: Administrator, waiting: tuple[int, int]) -> None:
    nothing = "  none on queue states, reservations, running tasks and 2 pending jobs\n"
    assert policy("try", "weight_urgency=0.1")[1].endswith(HEADING + nothing)
    assert policy("try", "weight_urgency=0.100000") == (0, "the cell has these values, nothing would change\n")


@pytest.mark.parametrize(
    ("setting", "place"),
    [
        ("queue/no.q:slots=1", 'cluster queue "no.q"'),
        ("user/eve:fshare=1", 'user "eve"'),
        ("rqs/none:limit=to slots=1", 'resource quota set "none"'),
    ],
)
def test_an_object_that_does_not_exist_is_named_in_one_sentence(policy: Administrator, setting: str, place: str) -> None:
    assert policy("try", setting) == (1, f"gridengine: there is no {place}\n")


def test_several_settings_of_several_objects_are_one_change(policy: Administrator, waiting: tuple[int, int]) -> None:
    status, text = policy("try", "weight_urgency=1", "queue/all.q:slots=1", "exechost/h1:complex_values=slots=9")
    assert status == 0
    assert text.count("~ ") == 3
    assert "pending jobs that could never start: 1\n" in text
    assert 'of alice: cannot run in PE "two" because it only offers 1 slots' in text


@pytest.mark.parametrize(
    ("setting", "reason"),
    [
        ("weight_urgency", '"weight_urgency": the form is ATTRIBUTE=VALUE or KIND/NAME:ATTRIBUTE=VALUE'),
        ("weight_urgent=1", 'scheduler configuration has no attribute "weight_urgent": did you mean "weight_urgency"'),
        ("weight_urgency=x", "weight_urgency"),
        ("tree/x:shares=1", 'there is no kind of object "tree"'),
        ("queue:slots=1", "a name is missing, the form is queue/NAME:slots=VALUE"),
        ("weight_urgency=1e999", 'scheduler, attribute "weight_urgency": the number is too large'),
        ("max_reservation=-4", "-4 is not within 0 and 4294967295"),
    ],
)
def test_wrong_settings_are_named(policy: Administrator, setting: str, reason: str) -> None:
    status, text = policy("try", setting)
    assert (status, reason in text) == (1, True), text
    assert HEADING not in text


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


@pytest.mark.statement("HG-8", "SP-5")
def test_a_plan_shows_effects_after_the_changes_unless_a_program_declines_them(
    config: Administrator, waiting: tuple[int, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = tmp_path / "files"
    config("export", files)
    edit(files / "hostgroups" / "@allhosts", "h1", "NONE")
    status, text = config("plan", files)
    assert status == 0
    plan, effects = text.split(HEADING)
    assert plan.endswith("1 queue instances are orphaned, their jobs go on (o): all.q@h1\n")
    assert "to state o" not in effects, "the plan has it"
    assert "task 1 in all.q@h1: queue instance all.q@h1 leaves the configuration, the task goes on" in effects
    assert "pending jobs that could never start: 2\n" in effects
    assert config("plan", files, "--no-effects") == (0, plan)

    async def without_extension(spool: str, question: bytes) -> Answer:
        return Answer(1, [("error", "cannot forecast: No module named daemons.forecast")])

    monkeypatch.setattr(forecasting, "ask_process", without_extension)
    status, text = config("plan", files)
    assert (status, text) == (0, f"{plan}no effects are shown: cannot forecast: No module named daemons.forecast\n")


@pytest.mark.statement("AR-82")
def test_a_refused_plan_has_the_sentences_of_the_qmaster_and_no_effects(
    config: Administrator, waiting: tuple[int, int], tmp_path: Path
) -> None:
    files = tmp_path / "files"
    config("export", files)
    (files / "exec_hosts" / "h1").unlink()
    status, text = config("plan", files)
    assert (status, HEADING in text) == (1, False)
    assert 'denied: there are still jobs on host "h1"' in text
