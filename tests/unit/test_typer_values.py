"""Options of programs that typer runs: texts and flags need no pydantic, all others are checked as typer checks them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import pytest
import typer
from typer.testing import CliRunner

import gridengine.terminal.typer_values as typer_values

app = typer.Typer()


@app.command()
def show(
    name: str = "none",
    flag: Annotated[bool, typer.Option("--flag")] = False,
    number: Annotated[int, typer.Option(min=1)] = 1,
    place: Path | None = None,
    values: Annotated[list[str] | None, typer.Option("--word")] = None,
    doubled: Annotated[str, typer.Option(parser=lambda text: text * 2)] = "",
) -> None:
    print(repr((name, flag, number, place, values, doubled)))


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The kinds of values for which typer's own way was taken."""
    kinds: list[Any] = []
    own = typer_values._build
    assert own is not None

    def build(descriptor: Any) -> Any:
        kinds.append(descriptor.annotation)
        return own(descriptor)

    monkeypatch.setattr(typer_values, "_build", build)
    return kinds


def shown(*values: str) -> Any:
    done = CliRunner().invoke(app, values)
    assert done.exit_code == 0, done.output
    return eval(done.output, {"PosixPath": Path})


def test_texts_flags_and_what_is_not_given_need_no_pydantic(built: list[Any]) -> None:
    assert shown("--name", "a b", "--flag")[:2] == ("a b", True)
    assert shown("--place", "/")[3] == Path("/")
    assert set(built) == {int, str}, "a number, and a text that has a parser"


@pytest.mark.parametrize(
    ("values", "place", "value"),
    [
        (("--number", "7"), 2, 7),
        (("--place", "/x/y"), 3, Path("/x/y")),
        (("--word", "a", "--word", "b"), 4, ["a", "b"]),
        (("--doubled", "ab"), 5, "abab"),
    ],
)
def test_all_others_are_as_typer_makes_them(values: tuple[str, ...], place: int, value: Any) -> None:
    assert shown(*values)[place] == value


@pytest.mark.parametrize("values", [("--number", "many"), ("--number", "0")])
def test_wrong_values_are_refused(values: tuple[str, ...]) -> None:
    assert CliRunner().invoke(app, values).exit_code == 2
