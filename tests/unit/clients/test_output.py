"""Text, XML and JSON are chosen in one place, and each can print the same data."""

from __future__ import annotations

import errno
import inspect
import os

import pytest

from clients import program
from clients.render import as_json, as_text, as_xml, output_of


@pytest.mark.parametrize(
    ("fields", "form"),
    [({}, as_text), ({"xml": True}, as_xml), ({"json": True}, as_json), ({"xml": False, "full": True}, as_text)],
)
def test_the_options_choose_the_form(fields: dict[str, bool], form: object) -> None:
    assert output_of(fields) is form


def test_all_forms_print_the_same_things() -> None:
    def functions(form: object) -> dict[str, list[str]]:
        public = {name: each for name, each in vars(form).items() if inspect.isfunction(each) and not name.startswith("_")}
        own = {name: each for name, each in public.items() if each.__module__ == form.__name__}  # type: ignore[attr-defined]
        return {name: list(inspect.signature(each).parameters) for name, each in own.items() if name != "write"}

    assert functions(as_text) == functions(as_xml) == functions(as_json)
    assert len(functions(as_text)) == 6


@pytest.mark.parametrize(
    ("problem", "status", "message"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), 1, "write error: No space left on device\n"),
        (OSError(errno.EIO, "Input/output error"), 1, "write error: Input/output error\n"),
        (BrokenPipeError(errno.EPIPE, "Broken pipe"), 141, ""),
    ],
)
def test_a_full_disk_is_named_and_a_reader_that_has_gone_is_not(
    problem: OSError, status: int, message: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(os, "dup2", lambda *descriptors: None)

    def command(arguments: list[str]) -> int:
        raise problem

    assert program.run_guarded("qstat", command, []) == status
    assert capfd.readouterr().err == message
