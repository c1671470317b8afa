"""Requests from a library's texts: sources in their order, ignored options, requested values."""

from __future__ import annotations

from typing import Any

import pytest

from gridengine.options.native import NativeOptions, fold_native
from gridengine.options.option import OptionError

NOW = 1_800_000_000.0
DEFAULTS = {"priority": 0, "binary": True, "no_shell": True, "verify": "e"}


def folded(**body: Any) -> dict[str, Any]:
    options = fold_native(body, NOW)
    assert not (options.option_file or options.script_prefix)
    return options.request


@pytest.mark.statement("DM-2")
def test_without_texts_there_are_the_defaults_alone() -> None:
    assert folded() == DEFAULTS


@pytest.mark.statement("DM-2")
def test_stronger_sources_come_later() -> None:
    files = [("/c/sge_request", "-P a -A a -N a -p -1"), ("/h/.sge_request", "-A b -N b -p -2")]
    category = {"category": "x.cat", "category_files": [("/c/qtask", "x.cat -N c -p -3")]}
    request = folded(request_files=files, native="-p -4", **category)
    assert (request["project"], request["account"], request["name"], request["priority"]) == ("a", "b", "c", -4)


@pytest.mark.statement("DM-2")
@pytest.mark.parametrize("option", ["-help", "-sync y", "-t 1-9", "-verify", "-w w", "-w v", "-w p"])
def test_options_for_the_library_itself_are_ignored(option: str) -> None:
    assert folded(native=option, cwd="/w") == DEFAULTS


@pytest.mark.statement("DM-2")
def test_the_working_directory_counts() -> None:
    assert folded(native="-cwd", cwd="/w")["cwd"] == "/w"
    assert folded(request_files=[("/c/sge_request", "-cwd")], cwd="/w")["cwd"] == "/w"


@pytest.mark.statement("DM-2")
@pytest.mark.parametrize(
    ("native", "name"),
    [
        ("-N 'a b'", "a b"),
        ("-N a'b c'd", "ab cd"),
        ('-N "a', "a"),  # a quote that is not closed ends with the text
        ("-N a#b", "a#b"),
        ("'-N' a\t", "a"),
        ("-N a\n-A b", "a"),
        ("-N -A", "-A"),
        ("-N a -N b", "b"),
    ],
)
def test_errors_equal_those_of_the_library_of_8_1_9(native: str, name: str) -> None:
    assert folded(native=native)["name"] == name


@pytest.mark.statement("DM-2", "QK-2")
@pytest.mark.parametrize(
    ("cell", "own", "name"),
    [
        ("x.cat -N cell", "", "cell"),
        ("x.cat -N cell", "x.cat -N own", "own"),
        ("!x.cat -N cell", "x.cat -N own", "cell"),
        ("# x.cat -N no\ny.cat -N y\nx.cat -N cell -noshell", "", "cell"),
    ],
)
def test_a_category_is_the_users_unless_the_cell_forbids_that(cell: str, own: str, name: str) -> None:
    files = [("/c/qtask", cell), ("/h/.qtask", own)]
    assert folded(category="x.cat", category_files=files)["name"] == name


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ({"native": "-zz"}, 'invalid option argument "-zz"'),
        ({"native": "-p x"}, 'invalid priority "x"'),
        ({"native": "-N a b"}, '"b" is no option'),
        ({"native": "word"}, '"word" is no option'),
        ({"native": "- "}, '"-" is no option'),
        ({"native": '"" -N x'}, '"" is no option'),
        ({"native": "-- -N x"}, '"-N" is no option'),
        ({"native": "-N"}, "-N option must have argument"),
        ({"native": "-N ''"}, "argument to -N option must not be empty"),
        ({"native": '-N"x"'}, 'invalid option argument "-Nx"'),
        *(({"native": option}, "invalid option argument") for option in ("-inherit", "-noshell", "-display :0", "-u a", "-ot 4")),
        ({"category": "no.cat"}, 'unknown job category "no.cat"'),
        ({"category": "x", "category_files": [("/c/qtask", "\nx -zz")]}, '/c/qtask, line 2: invalid option argument "-zz"'),
        ({"request_files": [("/c/sge_request", "-zz")]}, '/c/sge_request, line 1: invalid option argument "-zz"'),
    ],
)
def test_a_fault_has_the_commands_own_text_and_its_place(body: dict[str, Any], reason: str) -> None:
    with pytest.raises(OptionError) as fault:
        fold_native(body, NOW)
    assert str(fault.value).startswith(reason)


def test_an_option_file_is_asked_for_and_so_are_those_that_it_names() -> None:
    assert fold_native({"native": "-@ /a"}, NOW) == NativeOptions({}, option_file="/a")
    files = {"/a": "-N x\n-@ /b"}
    assert fold_native({"native": "-@ /a", "option_files": files}, NOW).option_file == "/b"
    request = folded(native="-@ /a", option_files={**files, "/b": "-A y"})
    assert (request["name"], request["account"]) == ("x", "y")
    with pytest.raises(OptionError):
        fold_native({"native": "-@ /a", "option_files": {"/a": "-@ /a"}}, NOW)


@pytest.mark.statement("DM-2")
def test_a_script_is_asked_for_and_weaker_than_the_native_specification() -> None:
    assert fold_native({"native": "-b n"}, NOW).script_prefix == "#$"
    assert fold_native({"native": "-b n -C %%"}, NOW).script_prefix == "%%"
    assert folded(native="-b n -C ''")["binary"] is False
    script = ("/s", "#$ -N x -A x\n\n#$ -b y")
    files = [("/c/sge_request", "-N weak -P weak")]
    request = folded(native="-b n -A strong", script=script, request_files=files)
    assert (request["name"], request["account"], request["project"], request["binary"]) == ("x", "strong", "weak", False)


def test_variables_are_those_of_the_caller() -> None:
    request = folded(native="-v A,B=2 -V", environment={"A": "1", "C": "3"})
    assert request["environment"] == {"A": "1", "B": "2", "C": "3"}
    assert request["environment_names"] == ["A", "B", "C"]


def test_aliases_and_verifiers_are_reported() -> None:
    options = fold_native({"alias_files": [("/c/sge_aliases", "/tmp_mnt * * /")], "paths": ["/tmp_mnt/x", ""], "host": "h"}, NOW)
    assert options.request["path_aliases"] == [("/tmp_mnt", "*", "/")]
    assert fold_native({"native": "-jsv /a -jsv /b"}, NOW).verifiers == ("/a", "/b")
