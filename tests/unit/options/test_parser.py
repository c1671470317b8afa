"""The parser of command lines and request files: order, arguments, faults with their place, usage."""

from __future__ import annotations

import pytest

from gridengine.options.accounting import ACCOUNTING_OPTIONS
from gridengine.options.configuration import CONFIGURATION_OPTIONS
from gridengine.options.control import CONTROL_OPTIONS
from gridengine.options.option import OptionError, options_of, read_options, split_line, split_words
from gridengine.options.status import STATUS_OPTIONS
from gridengine.options.submit import SUBMIT_OPTIONS

QSUB = options_of("qsub", SUBMIT_OPTIONS)
ALL_TABLES = (SUBMIT_OPTIONS, STATUS_OPTIONS, CONTROL_OPTIONS, ACCOUNTING_OPTIONS, CONFIGURATION_OPTIONS)


def read(line: str, options=QSUB, **keywords):  # type: ignore[no-untyped-def]
    settings, rest = read_options(line.split(), options, **keywords)
    return [(option.name, values) for option, values, _ in settings], rest


@pytest.mark.statement("SB-1")
def test_options_behind_the_script_belong_to_the_script() -> None:
    assert read("-N x run.sh -N y -cwd") == ([("-N", ["x"])], ["run.sh", "-N", "y", "-cwd"])


def test_a_lonely_dash_is_an_operand() -> None:
    assert read("-cwd - a") == ([("-cwd", [])], ["-", "a"])


def test_two_dashes_end_the_options() -> None:
    assert read("-cwd -- -b y") == ([("-cwd", [])], ["-b", "y"])


@pytest.mark.parametrize("line", ["-zz", "-cw x", "-Ny x", "--cwd", "-NN x"])
def test_names_are_exact(line: str) -> None:
    with pytest.raises(OptionError) as error:
        read(line)
    assert error.value.text == f'invalid option argument "{line.split()[0]}"'
    assert error.value.exit_status == 2


def test_a_missing_argument_is_reported() -> None:
    with pytest.raises(OptionError, match="-pe option must have argument") as error:
        read("-pe mpi")
    assert error.value.exit_status == 2


def test_a_fault_names_its_source() -> None:
    with pytest.raises(OptionError, match='^job.sh, line 3: invalid option argument "-zz"$'):
        read("-zz", location="job.sh, line 3")


@pytest.mark.statement("SB-5")
def test_options_of_other_commands_are_dropped_where_that_is_asked_for() -> None:
    others = {name: option for option in SUBMIT_OPTIONS for name in option.names}
    assert read("-inherit -N x -display h:1 -cwd", ignored=others) == ([("-N", ["x"]), ("-cwd", [])], [])


def test_an_optional_argument_is_taken_unless_an_option_follows() -> None:
    options = options_of("qstat", STATUS_OPTIONS)
    assert read("-F slots,arch -f", options)[0] == [("-F", ["slots,arch"]), ("-f", [])]
    assert read("-F -f", options)[0] == [("-F", []), ("-f", [])]
    assert read("-j", options)[0] == [("-j", [])]


@pytest.mark.statement("SO-6")
def test_an_optional_argument_before_a_required_one() -> None:
    assert read("-binding env linear:2 x") == ([("-binding", ["env", "linear:2"])], ["x"])
    assert read("-binding linear:2 x") == ([("-binding", ["linear:2"])], ["x"])


@pytest.mark.statement("QM-1", "QM-2")
def test_lists_of_arguments_go_on_until_the_next_option() -> None:
    options = options_of("qmod", CONTROL_OPTIONS)
    expected = [("-d", ["a.q", "b.q,c.q"]), ("-cj", ["12"])]
    assert read("-d a.q b.q,c.q -cj 12", options, mixed=True) == (expected, [])
    assert read("--disable a.q", options)[0] == [("-d", ["a.q"])]


def test_options_may_follow_operands_where_a_command_permits_it() -> None:
    options = options_of("qdel", CONTROL_OPTIONS)
    assert read("12 -t 3-5 14", options, mixed=True) == ([("-t", ["3-5"])], ["12", "14"])


@pytest.mark.parametrize(
    ("line", "tokens"),
    [
        ("-N x  -cwd", ["-N", "x", "-cwd"]),
        ("-v 'A=a b' -N \"x y\"", ["-v", "A=a b", "-N", "x y"]),
        ("-v A='b c'd", ["-v", "A=b cd"]),
        ("-N ''", ["-N", ""]),
        ("", []),
    ],
)
def test_tokens_of_a_line(line: str, tokens: list[str]) -> None:
    assert split_words(line) == tokens


@pytest.mark.statement("SB-2", "SB-5")
@pytest.mark.parametrize(
    ("line", "tokens"),
    [
        ("-N a#b", "-N|a"),
        ("-N 'a#b'", "-N|a"),
        ('-N "a#b"', "-N|a"),
        ("-cwd # don't", "-cwd"),
        ('-cwd # say "hello', "-cwd"),
        ("-j y#", "-j|y"),
        ("-j y #x", "-j|y"),
        ("-N x#y -j y", "-N|x"),
        ("-N it's", "-N|its"),
        ("-N it's me", "-N|its me"),
        ('-v A="b', "-v|A=b"),
        ('-v A="b c', "-v|A=b c"),
        ("-v 'A=b c'", "-v|A=b c"),
        ("-v A='b c'd", "-v|A=b cd"),
        ('-v A=\\"b', "-v|A=\\b"),
        ("-v A=b\\ c", "-v|A=b\\|c"),
        ("-v A='b\\'", "-v|A=b\\"),
        ('-v A="b\\"c"', "-v|A=b\\c"),
        ("-v A=''", "-v|A="),
        ('-v A=""', "-v|A="),
        ("-N ''", "-N|"),
        ("-v A=b\tc", "-v|A=b|c"),
        ("-N\tx", "-N|x"),
        ("-N\tx\t-j\ty", "-N|x|-j|y"),
        ("-N x\r", "-N|x"),
        ("-N x \r", "-N|x"),
        ("-j y\r", "-j|y"),
        ("-N x\r -j y", "-N|x|-j|y"),
        ("\t-N x", "-N|x"),
        ("   -N x", "-N|x"),
        ("-v A=ä", "-v|A=ä"),
        ("-N ä", "-N|ä"),
        ("-v A=\udcff", "-v|A=\udcff"),
        ("\ufeff-N x", "\ufeff-N|x"),
        ("#", ""),
        ("", ""),
        ("# -N x", ""),
        ("-N # x", "-N"),
        ("-cwd#", "-cwd"),
        ("-cwd #", "-cwd"),
        ("-cwd'#'", "-cwd"),
        ("-v A=b'#'", "-v|A=b"),
        ("-v A=b\\#c", "-v|A=b\\"),
        ("-l h_rt=10#ten", "-l|h_rt=10"),
        ("-l h_rt=10 #ten", "-l|h_rt=10"),
        ("-p -5#x", "-p|-5"),
        ("-t 1-2#x", "-t|1-2"),
        ("-o out#d", "-o|out"),
        ("-S /bin/sh#", "-S|/bin/sh"),
        ("-M a@b#c", "-M|a@b"),
        ("-q all.q#", "-q|all.q"),
        ("-pe make 1-2#", "-pe|make|1-2"),
        ("-N x y -j y", "-N|x|y|-j|y"),
        ("-N x\v-j y", "-N|x\v-j|y"),
        ("-N x\f-j y", "-N|x\f-j|y"),
        ("-N x\xa0-j y", "-N|x\xa0-j|y"),
        ("-v A=1,B=2", "-v|A=1,B=2"),
        ("-v A='1,B=2'", "-v|A=1,B=2"),
        ("-v A=`x`", "-v|A=`x`"),
        ("-v A=$HOME", "-v|A=$HOME"),
        ("-v 'A B=1'", "-v|A B=1"),
        ("-N x;y", "-N|x;y"),
        ("-N x\\", "-N|x\\"),
        ('-v "A=a#b', "-v|A=a"),
        ("-N x'y'z", "-N|xyz"),
        ("-N x''", "-N|x"),
        ("-ac 'a=b c'", "-ac|a=b c"),
        ("-N  x   -j   y  ", "-N|x|-j|y"),
        ("-o '/tmp/a b'", "-o|/tmp/a b"),
        ("-N 'x y' -j y", "-N|x y|-j|y"),
    ],
)
def test_tokens_of_a_line_of_a_file(line: str, tokens: str) -> None:
    """As 8.1.9 reads them, but for the last, where it takes all behind a quote for one word."""
    assert split_line(line) == (tokens.split("|") if tokens else [])


def test_an_open_quote_is_a_fault() -> None:
    with pytest.raises(OptionError, match="is not closed"):
        split_words("-N 'x")


@pytest.mark.parametrize("table", ALL_TABLES)
def test_no_command_has_two_options_of_one_name(table) -> None:  # type: ignore[no-untyped-def]
    taken = [(command, name) for option in table for command in option.commands for name in option.names]
    assert len(taken) == len(set(taken))


@pytest.mark.statement("SB-1")
def test_the_table_has_every_option_of_the_manual() -> None:
    manual = (
        "@ a ac ar A b binding c ckpt clear cwd C dc display dl e hard h help hold_jid hold_jid_ad i inherit j js jsv l m M "
        "masterq notify now N noshell nostdin o ot P p pe pty q R r sc shell soft sync S t tc terse u v verbose verify V w wd"
    )
    beyond = (
        "hold_jid_ok hold_jid_fail alloc attach comment tasks tasks-template tasks-output tasks-order tasks-retries max-fails"
    )
    assert {option.name for option in SUBMIT_OPTIONS} == {f"-{name}" for name in f"{manual} {beyond}".split()}
