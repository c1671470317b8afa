"""The effect of each submit option on the request, and the values that it refuses."""

from __future__ import annotations

import shlex
from typing import Any

import pytest

from gridengine.options.option import OptionError, options_of, read_options
from gridengine.options.submit import SUBMIT_OPTIONS
from gridengine.options.submit_folds import Submission, addresses
from gridengine.protocols.gdi.requests import Submit

NOW = 1_800_000_000.0


def fold(*sources: str, command: str = "qsub", environment: dict[str, str] | None = None) -> Submission:
    """Options of several sources, the weakest first."""
    target = Submission(command, environment or {"HOME": "/home/alice", "X": "x y"}, "/work/dir", NOW)
    for level, source in enumerate(sources):
        target.level = level
        target.soft = False
        for option, values, place in read_options(shlex.split(source), options_of(command, SUBMIT_OPTIONS))[0]:
            option.apply(target, values, place)
    return target


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        pytest.param("-A acc", {"account": "acc"}, marks=pytest.mark.statement("SO-4")),
        pytest.param("-b y", {"binary": True}, marks=pytest.mark.statement("SO-5")),
        pytest.param("-binding linear:2", {"binding": "set linear:2"}, marks=pytest.mark.statement("SO-6")),
        pytest.param("-binding env striding:2:3:0,1", {"binding": "env striding:2:3:0,1"}, marks=pytest.mark.statement("SO-6")),
        pytest.param("-ckpt c -c sx", {"checkpoint": "c", "checkpoint_when": "sx"}, marks=pytest.mark.statement("SO-7")),
        pytest.param("-c 0:10:0", {"checkpoint_when": "0:10:0"}, marks=pytest.mark.statement("SO-7")),
        pytest.param("-cwd", {"cwd": "/work/dir"}, marks=pytest.mark.statement("SO-8")),
        pytest.param("-wd sub", {"cwd": "/work/dir/sub"}, marks=pytest.mark.statement("SO-8")),
        pytest.param("-cwd -wd /tmp", {"cwd": "/tmp"}, marks=pytest.mark.statement("SO-8")),
        pytest.param("-o h1:/x,/y -o /z", {"stdout": [["h1", "/x"], ["", "/z"]]}, marks=pytest.mark.statement("SO-12")),
        pytest.param("-o [fd88::7]:/x", {"stdout": [["[fd88::7]", "/x"]]}, marks=pytest.mark.statement("SO-12")),
        pytest.param("-e :/tmp/a:b", {"stderr": [["", "/tmp/a:b"]]}, marks=pytest.mark.statement("SO-12")),
        pytest.param("-j y", {"merge": True}, marks=pytest.mark.statement("SO-12")),
        pytest.param("-h", {"holds": "u"}, marks=pytest.mark.statement("SO-13")),
        pytest.param("-ar 3 -R y", {"ar": 3, "reserve": True}, marks=pytest.mark.statement("SO-3", "SO-31")),
        pytest.param("-js 4", {"job_share": 4}, marks=pytest.mark.statement("SO-16")),
        pytest.param("-l a=1,b=2 -l a=3", {"hard": ["a=3", "b=2"]}, marks=pytest.mark.statement("SO-18")),
        pytest.param("-l arch='x,y',excl", {"hard": ["arch=x", "y", "excl"]}, id="shell quotes are the shell's"),
        pytest.param("-l 'arch=\"x,y\"'", {"hard": ['arch="x,y"']}, marks=pytest.mark.statement("SO-18")),
        pytest.param("-m be -M a@b,c", {"mail_options": "be", "mail_list": ["a@b", "c"]}, id="mail"),
        pytest.param("-m be -m n -m a", {"mail_options": "a"}, marks=pytest.mark.statement("SO-19")),
        pytest.param("-notify -now y", {"notify": True, "now": True}, marks=pytest.mark.statement("SO-21", "SO-22")),
        pytest.param("-N one -N two", {"name": "two"}, marks=pytest.mark.statement("SO-23")),
        pytest.param("-P prj -p -5", {"project": "prj", "priority": -5}, marks=pytest.mark.statement("SO-26", "SO-27")),
        pytest.param("-pe mpi* 2-4,8-", {"pe": "mpi*", "pe_range": "2-4,8-"}, marks=pytest.mark.statement("SO-28")),
        pytest.param("-q a.q,b@h -q c", {"hard_queues": ["a.q", "b@h", "c"]}, marks=pytest.mark.statement("SO-30")),
        pytest.param("-r n", {"rerun": False}, marks=pytest.mark.statement("SO-32")),
        pytest.param("-shell n", {"no_shell": True}, marks=pytest.mark.statement("SO-33")),
        pytest.param(
            "-S h1:/bin/sh,/bin/bash", {"shells": [["h1", "/bin/sh"], ["", "/bin/bash"]]}, marks=pytest.mark.statement("SO-35")
        ),
        pytest.param("-t 2-8:2 -tc 3", {"tasks": "2-8:2", "task_concurrency": 3}, marks=pytest.mark.statement("SO-36")),
        pytest.param("-t 2:4", {"tasks": "2-4"}, marks=pytest.mark.statement("SO-36")),
        pytest.param("-w e", {"verify": "e"}, marks=pytest.mark.statement("SO-41")),
        pytest.param("-hold_jid 1,x* -hold_jid 1,2", {"hold_jid": ["1", "x*", "2"]}, marks=pytest.mark.statement("SO-15")),
        pytest.param("-masterq a.q", {"master_queues": ["a.q"]}, marks=pytest.mark.statement("SO-20")),
        pytest.param("-a 01150801", {"start_after": 1_800_000_060.0}, marks=pytest.mark.statement("SO-1")),
        pytest.param("-dl 202701150801.30", {"deadline": 1_800_000_090.0}, marks=pytest.mark.statement("SO-11")),
    ],
)
def test_an_option_fills_its_field(line: str, expected: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "UTC")
    assert fold(line).request == expected


def test_every_field_is_one_of_submit() -> None:
    """Options and the request's struct cannot drift apart."""
    fields = set(Submit.__struct_fields__)
    line = (
        "-a 01150801 -ac a=1 -ar 1 -A x -b y -binding linear -c s -ckpt c -cwd -dl 01150801 -e /e -h -hold_jid 1 "
        "-hold_jid_ad 1 -hold_jid_ok 1 -hold_jid_fail 1 -i /i -j y -js 1 -l a=1 -soft -l b=1 -q s -hard -q h -m a -M m "
        "-masterq m -notify -now y -N n -o /o "
        "-comment x -P p -p 1 -pe p 1 -alloc 2 4 -R y -r y -shell n -S /s -t 1 -tc 1 -v A=1 -w n"
    )
    origin = "script script_encoding script_file args kind path_aliases submit_cwd home login_shell submit_path".split()
    of_libraries = "transfer_files session error_ends".split()
    assert fold(line).request.keys() == fields - {*origin, *of_libraries, "override_tickets", "pty"}


@pytest.mark.statement("SO-14")
def test_hard_and_soft_hold_for_what_follows() -> None:
    request = fold("-l a=1 -soft -l b=2 -q s.q -hard -q h.q -l c=3").request
    assert request["hard"] == ["a=1", "c=3"]
    assert request["soft"] == ["b=2"]
    assert (request["hard_queues"], request["soft_queues"]) == (["h.q"], ["s.q"])


@pytest.mark.statement("SO-2")
@pytest.mark.parametrize(
    ("line", "context"),
    [
        ("-ac a=1,b -dc a -ac c=3", {"b": "", "c": "3"}),
        ("-ac a=1 -sc d=4 -ac e", {"d": "4", "e": ""}),
        ("-sc d=4 -dc d", {}),
    ],
)
def test_context_in_the_order_of_the_options(line: str, context: dict[str, str]) -> None:
    assert fold(line).request["context"] == context


@pytest.mark.statement("SO-2")
def test_qalter_sends_the_changes_of_a_context_that_it_does_not_know() -> None:
    request = fold("-ac a=1 -dc b -sc d=4", command="qalter").request
    assert request == {"context_changes": [["ac", "a", "1"], ["dc", "b", ""], ["sc", "", ""], ["ac", "d", "4"]]}


@pytest.mark.statement("SO-39")
def test_variables_from_the_environment_and_from_the_line() -> None:
    request = fold("-v A=1,X,NONE -v A=2", environment={"X": "multi\nline"}).request
    assert request["environment"] == {"A": "2", "X": "multi\nline", "NONE": ""}
    assert request["environment_names"] == ["A", "X", "NONE"]


@pytest.mark.statement("SO-39")
def test_the_whole_environment_does_not_replace_given_variables() -> None:
    request = fold("-v A=1 -V", environment={"A": "outer", "B": "b"}).request
    assert request["environment"] == {"A": "1", "B": "b"}


def test_a_comma_within_quotes_does_not_divide_a_list() -> None:
    assert fold("-v 'A=\"1,2\",B=3'").request["environment"] == {"A": '"1,2"', "B": "3"}


def test_a_variable_that_is_no_text_is_refused_or_left_out() -> None:
    with pytest.raises(OptionError, match="is not text in UTF-8"):
        fold("-v BAD", environment={"BAD": "\udcff"})
    assert fold("-V", environment={"BAD": "\udcff", "GOOD": "1"}).request["environment"] == {"GOOD": "1"}


@pytest.mark.statement("SB-3")
def test_later_sources_win_and_lists_add_up() -> None:
    request = fold(
        "-N file -l h_rt=1 -q a.q -M x -v A=1 -m b -o /x -hold_jid 1",
        "-N line -l h_rt=2,h_cpu=3 -q b.q -M y -v B=2 -m e -o h1:/y -hold_jid 2",
    ).request
    assert request["name"] == "line"
    assert request["hard"] == ["h_rt=2", "h_cpu=3"]
    assert request["hard_queues"] == ["b.q"]
    assert request["mail_list"] == ["y"]
    assert request["environment_names"] == ["A", "B"]
    assert request["mail_options"] == "be"
    assert request["stdout"] == [["", "/x"], ["h1", "/y"]]
    assert request["hold_jid"] == ["1", "2"]


@pytest.mark.statement("SB-4")
def test_clear_forgets_everything_before_it() -> None:
    target = fold("-N file -terse -soft -l a=1", "-p -1 -clear -cwd")
    assert target.request == {"cwd": "/work/dir"}
    assert target.settings == {}
    assert "-clear" not in options_of("qalter", SUBMIT_OPTIONS)


@pytest.mark.parametrize(
    ("line", "reason", "status"),
    [
        ("-p 2000", "invalid priority", 7),
        ("-p x", "invalid priority", 7),
        ("-tc -1", "invalid task concurrency", 7),
        ("-a 99", "date and time", 7),
        ("-b x", "neither y", 7),
        ("-m zz", "mail options", 7),
        ("-t 0", "invalid task id", 7),
        ("-t x", "not a range", 7),
        ("-pe mpi x", "not a range", 7),
        ("-w x", "invalid option argument", 7),
        ("-c zz", "nsmxr", 2),
        ("-q ''", "is an empty list", 7),
        ("-hold_jid ''", "must not be empty", 7),
        ("-e ''", "is an empty list", 7),
        ("-e h1:", "names no path", 7),
        ("-binding foo", "no binding strategy", 2),
        ("-binding explicit", "no binding strategy", 2),
        ("-ac ''", "is an empty list", 7),
        ("-v ''", "is an empty list", 7),
        ("-v '=1'", "not a variable", 7),
        ("-N a/b", "must not contain /", 2),
        ("-ar x", 'invalid advance reservation id "x", must be an unsigned integer', 2),
        ("-ar -1", "invalid advance reservation id", 2),
        ("-pty maybe", "maybe", 7),
        ("-ot 5", 'invalid option argument "-ot"', 2),
        ("-inherit", "invalid option argument", 2),
        ("-S /bin/sh,/bin/bash", "two files are specified for the same host", 7),
        ("-o h1:/a,h1:/b", "same host, h1", 7),
        ("-binding explicit:0,1:0,1", "no binding strategy", 2),
        ("-binding linear:0", "no binding strategy", 2),
    ],
)
def test_a_bad_value_is_refused(line: str, reason: str, status: int) -> None:
    with pytest.raises(OptionError, match=reason) as error:
        fold(line)
    assert error.value.exit_status == status


@pytest.mark.statement("DP-5")
def test_qalter_takes_dependencies_off_with_an_empty_list() -> None:
    assert fold("-hold_jid ''", command="qalter").request == {"hold_jid": []}


@pytest.mark.statement("SO-13", "SO-25", "SO-38")
def test_options_of_qalter_alone() -> None:
    target = fold("-h uO -ot 7 -u alice,bob", command="qalter")
    assert target.request == {"holds": "uO", "override_tickets": 7}
    assert target.settings == {"users": ["alice", "bob"]}


@pytest.mark.statement("SO-19")
@pytest.mark.parametrize(
    ("sources", "kept"),
    [
        ("a@h,b@h", "a@h,b@h"),
        ("l@i,m@i,l@i", "l@i,m@i"),
        ("a@h b@h", "b@h"),
        ("a@h b@g", "a@h,b@g"),
        ("a@h a@g", "a@h,a@g"),
        ("a b", "b"),
        ("a,b", "a,b"),
        ("a,a", "a"),
        ("r l@h", "r,l@h"),
        ("r@h s@g l@i", "r@h,s@g,l@i"),
        ("r@h s@g l@h", "l@h,s@g"),
        ("r@h,q@h l@h", "l@h,q@h"),
        ("r@h l@h,m@h", "m@h"),
        ("a@h l@i,m@i", "a@h,m@i"),
        ("r@H l@h", "r@H,l@h"),
        ("r@h,q@g,p@h z@g,y@h", "y@h,z@g,p@h"),
        ("a@h b c@h d", "c@h,d"),
        ("a@h,b@h c@h", "c@h,b@h"),
    ],
)
@pytest.mark.parametrize("apart", [True, False])
def test_mail_addresses_add_up_one_for_a_host(sources: str, kept: str, apart: bool) -> None:
    """Each as 8.1.9 shows it, whether the options are in one source or in several."""
    target = Submission("qsub", {}, "/", 0.0)
    for level, text in enumerate(sources.split()):
        target.level = level if apart else 0
        addresses(target, "mail_list", [text])
    assert target.request["mail_list"] == kept.split(",")
