"""docs/web.md names the page for every option of the commands, and the forms have these options."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from pathlib import Path

import pytest

from daemons.web.pages.altering import JOBS, RESERVATIONS
from daemons.web.pages.option_form import OptionForm
from daemons.web.pages.reservations import FORM as RESERVE
from daemons.web.pages.submitting import FORM as SUBMIT
from gridengine.options.commands import COMMANDS

TEXT = (Path(__file__).parents[3] / "docs" / "web.md").read_text()
ROW = re.compile(r"^\| ((?:`q\w+`(?:, )?)+) \| `([^`]+)` \| (.+) \|$", re.MULTILINE)


def documented_options() -> dict[str, list[tuple[str, str]]]:
    """(option, where) of each command; rows of several commands are of each of them."""
    found: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for names, options, where in ROW.findall(TEXT):
        for name in re.findall(r"\w+", names):
            found[name] += [(option, where) for option in options.split()]
    return found


@pytest.mark.parametrize("command", ["qsub", "qalter", "qmod", "qrsub", "qralter", "qrdel", "qconf"])
def test_every_option_has_its_page(command: str) -> None:
    (known,) = (each for each in COMMANDS if each.name == command)
    names = Counter(option for option, _ in documented_options()[command])
    assert [option for option, count in names.items() if count > 1] == []
    assert set(names) == {option.name for option in known.options}


@pytest.mark.parametrize("command", ["qdel", "qhold", "qrls", "qresub"])
def test_options_of_commands_that_share_a_row_are_in_it(command: str) -> None:
    (known,) = (each for each in COMMANDS if each.name == command)
    assert {option.name for option in known.options} <= {option for option, _ in documented_options()[command]}


@pytest.mark.parametrize(
    ("command", "form", "place"),
    [
        ("qsub", SUBMIT, "Submit: a field each, two"), ("qalter", JOBS.form, "Job, Change: a field each"),
        ("qrsub", RESERVE, "Reserve: a field"), ("qralter", RESERVATIONS.form, "Reservation, Change"),
    ],
)
def test_the_forms_have_these_fields(command: str, form: OptionForm, place: str) -> None:
    options = {option for option, where in documented_options()[command] if where.startswith(place)}
    fields = {name.removeprefix("soft ") for name in form.fields}
    assert fields <= options
    assert options - fields <= {"-soft", "-hard", "-verify", "-w", "-find", "-h", "-help", "-u"}
