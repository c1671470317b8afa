"""A list of options means the same in each place: command line, request file, `-@` file, script, native specification."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gridengine.options.native import DEFAULTS, fold_native
from gridengine.options.option import Option, OptionError, options_of, read_options, split_words
from gridengine.options.script_options import script_settings
from gridengine.options.sources import Source, file_settings, fold_sources, line_settings, with_option_files
from gridengine.options.submit import SUBMIT_OPTIONS
from gridengine.options.submit_folds import Submission
from gridengine.values.units import format_memory, format_time, parse_memory, parse_time

NOW = 1_800_000_000.0
HERE = "/home/alice"
QSUB, QALTER = options_of("qsub", SUBMIT_OPTIONS), options_of("qalter", SUBMIT_OPTIONS)
#: what a command or a library does itself, or what means nothing in one of the places
APART = frozenset("-@ -C -b -clear -help -jsv -sync -t -tasks -terse -verify -w".split())
#: what changes a job in another way than it makes one
OF_NEW_JOBS = frozenset("-ac -dc -sc -h -hold_jid -hold_jid_ad -hold_jid_ok -hold_jid_fail -u -ot".split())
SOUND = (
    "y", "no", "5", "-7", "1-4:2", "all.q,b.q@h", "h_rt=1:0:0,a=lx-*", "h:/tmp/a,/b", "/tmp/x y", "K=v,L", "a@b", "be",
    "12242359", "a b", "linear:2", "pe", "striding:1:2", "-x", "sx",
)
ODD = st.one_of(st.sampled_from(SOUND), st.text(st.characters(codec="utf-8", exclude_characters="'#\n\r\0"), max_size=12))


def option_lists(names: frozenset[str]) -> st.SearchStrategy[list[str]]:
    """Arguments of some of these options: valid lists, and lists with any values and with too many elements."""
    options = [QSUB[name] for name in sorted(names)]
    fitting = [tokens for option in options for tokens in _forms(option) if outcome(of_command_line, tokens, "") != "refused"]
    assert {tokens[0] for tokens in fitting} == {option.name for option in options}, "each has a sound form"
    sound = st.lists(st.sampled_from(fitting), max_size=6)
    odd = st.builds(lambda option, values: [option.name, *values], st.sampled_from(options), st.lists(ODD, max_size=2))
    return st.one_of(sound, sound, st.lists(odd, max_size=3)).map(lambda parts: [part for tokens in parts for part in tokens])


def _forms(option: Option) -> list[list[str]]:
    return [[option.name, *values] for values in itertools.product(SOUND, repeat=len(option.arguments))]


def folded(sources: list[Source], command: str = "qsub") -> dict[str, Any]:
    target = Submission(command, {}, HERE, NOW)
    fold_sources(target, sources)
    return target.request


def of_command_line(tokens: list[str], line: str) -> dict[str, Any]:
    return folded([[line_settings(split_words(DEFAULTS), "", QSUB)], [line_settings(tokens, "", QSUB)]])


def of_file(tokens: list[str], line: str) -> dict[str, Any]:
    return folded([[line_settings(split_words(DEFAULTS), "", QSUB)], file_settings(line, "f", QSUB, strict=True)])


def of_option_file(tokens: list[str], line: str) -> dict[str, Any]:
    settings, _ = read_options(["-@", "f"], QSUB)
    expanded = with_option_files(settings, QSUB, {"f": line}.__getitem__)
    return folded([[line_settings(split_words(DEFAULTS), "", QSUB)], [expanded]])


def of_script(tokens: list[str], line: str) -> dict[str, Any]:
    script = f"#!/bin/sh\n#$ {line}\ntrue\n".encode()
    return folded([[line_settings(split_words(DEFAULTS), "", QSUB)], script_settings(script, "#$", "s", QSUB)])


def of_native(tokens: list[str], line: str) -> dict[str, Any]:
    return fold_native({"native": line, "cwd": HERE}, NOW).request


READERS: tuple[Callable[[list[str], str], dict[str, Any]], ...] = (of_command_line, of_file, of_option_file, of_script, of_native)


def outcome(read: Callable[[list[str], str], dict[str, Any]], tokens: list[str], line: str) -> dict[str, Any] | str:
    """The request, or that there is none: any other exception is a fault."""
    try:
        return read(tokens, line)
    except OptionError:
        return "refused"


@pytest.mark.statement("SB-2", "SB-3", "DM-2")
@settings(max_examples=400, deadline=None)
@given(tokens=option_lists(frozenset(option.name for option in QSUB.values()) - APART))
def test_all_readers_read_the_same(tokens: list[str]) -> None:
    line = " ".join(f"'{part}'" for part in tokens)
    expected = outcome(of_command_line, tokens, line)
    for read in READERS:
        assert outcome(read, tokens, line) == expected, read.__name__


@pytest.mark.statement("SO-1", "SO-3")
@settings(max_examples=300, deadline=None)
@given(tokens=option_lists(frozenset(QSUB.keys() & QALTER.keys()) - APART - OF_NEW_JOBS))
def test_qalter_asks_for_what_qsub_asks_for(tokens: list[str]) -> None:
    def read(command: str) -> dict[str, Any] | str:
        options = options_of(command, SUBMIT_OPTIONS)
        return outcome(lambda tokens, _: folded([[line_settings(tokens, "", options)]], command), tokens, "")

    assert read("qsub") == read("qalter")


@settings(max_examples=300, deadline=None)
@given(seconds=st.integers(0, 10**9), shape=st.integers(0, 2))
def test_a_time_is_read_in_each_of_its_forms(seconds: int, shape: int) -> None:
    hours, minutes = seconds // 3600, seconds // 60
    text = (str(seconds), f"{minutes // 60}:{minutes % 60}:{seconds % 60}", f"{hours}:{minutes % 60:02}:{seconds % 60:02}")[shape]
    assert parse_time(text) == seconds


@settings(max_examples=300, deadline=None)
@given(seconds=st.integers(0, 10**9), size=st.integers(0, 2**50))
def test_printed_values_are_read_back(seconds: int, size: int) -> None:
    assert parse_time(format_time(seconds)) == seconds
    assert parse_memory(format_memory(size)) == pytest.approx(size, rel=0.0005, abs=0.0005)


@settings(max_examples=300, deadline=None)
@given(amount=st.integers(0, 10**6), unit=st.sampled_from(["", *"kKmMgG"]))
def test_a_size_is_read_in_each_of_its_units(amount: int, unit: str) -> None:
    power = {"": 0, "k": 1, "m": 2, "g": 3}[unit.lower()]
    assert parse_memory(f"{amount}{unit}") == amount * (1000 if unit.islower() else 1024) ** power
