"""The lines of a task list: commands, names, dependencies, templates, and the script that carries them."""

from __future__ import annotations

import shlex

import pytest

from clients.task_runner.local_host import arguments_of
from gridengine.errors import InvalidValueError
from gridengine.task_lists.list_script import HEAD_LINES, OUTPUTS, ListOptions, read_script, script_of
from gridengine.task_lists.task_lines import ListedCommand, read_lines


def fields(line: ListedCommand) -> tuple[object, ...]:
    return line.number, line.name, line.after, line.retries, line.command


def test_comments_and_empty_lines_have_no_number() -> None:
    lines = read_lines("# head\n\n  /bin/true  \r\n\t\n#$ -l h_rt=60\necho 'a  b' # c\n", "list")
    assert [(line.number, line.command) for line in lines] == [(1, "/bin/true"), (2, "echo 'a  b' # c")]


def test_a_line_may_have_a_name_predecessors_and_retries() -> None:
    text = "[name=merge after=a,b retries=2] merge x\n[name=a] a\n[ -f x ] && echo y\n[name=b after=a] b\n"
    assert [fields(line) for line in read_lines(text, "list")] == [
        (1, "merge", (2, 4), 2, "merge x"),
        (2, "a", (), None, "a"),
        (3, "", (), None, "[ -f x ] && echo y"),
        (4, "b", (2,), None, "b"),
    ]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("true\n[nam=x] true", 'list:2: "nam=x" is no option of a line: there are name, after and retries'),
        ("[name=a/b] true", 'list:1: "a/b" is no value for name'),
        ("[retries=-1] true", 'list:1: "-1" is no value for retries'),
        ("[retries=99999] true", 'list:1: "99999" is no value for retries'),
        ("[after=,] true", 'list:1: "," is no value for after'),
        ("[name=a] true\n\n[name=a] true", 'list:3: a second command has the name "a"'),
        ("true\n[after=b] true", "list:2: after=b: no command has this name"),
        ("[name=a after=a] true", "list:1: the command waits for itself"),
        ("true\n[name=a after=b] x\n[name=b after=c] y\n[name=c after=a] z", "list:2: the command waits for itself"),
        ("[name=a]", "list:1: no command follows"),
        ("echo a\0b", "list:1: the command contains a zero byte"),
        ("x" * 131072, "list:1: the command is longer than 131071 bytes"),
    ],
)
def test_a_wrong_line_is_refused_with_its_place(text: str, reason: str) -> None:
    with pytest.raises(InvalidValueError) as refusal:
        read_lines(text, "list")
    assert str(refusal.value).startswith(reason)


def test_added_lines_may_wait_for_earlier_ones() -> None:
    earlier = read_lines("[name=a] true\ntrue\n", "list")
    (line,) = read_lines("[after=a] more", "list", earlier=earlier)
    assert fields(line) == (3, "", (1,), None, "more")
    with pytest.raises(InvalidValueError, match='a second command has the name "a"'):
        read_lines("[name=a] true", "list", earlier=earlier)


@pytest.mark.parametrize(
    ("template", "line", "arguments"),
    [
        ("cat {}", "a b; rm -rf /", ["cat", "a b; rm -rf /"]),
        ("cp {1} {2}/{1}", "'a b' $(id)", ["cp", "a b", "$(id)/a b"]),
        ("x {2} {}", "\"it's\" two", ["x", "two", "\"it's\" two"]),
        ("x {1}{3}", "a b c", ["x", "ac"]),
        ("x {1}", "{2} {1}", ["x", "{2}"]),
        ("x {1} {9z} {0}", "a", ["x", "a", "{9z}", "{0}"]),
    ],
)
def test_a_template_quotes_what_it_inserts(template: str, line: str, arguments: list[str]) -> None:
    (made,) = read_lines(line, "list", template)
    assert shlex.split(made.command) == arguments


@pytest.mark.parametrize(
    ("template", "line", "reason"),
    [
        ("cp {1} {2}", "a b\nc", "list:2: the line has 1 fields, the template uses {2}"),
        ("cp {1}", "'a", "list:1: the fields cannot be read: no closing quotation"),
    ],
)
def test_a_line_without_the_fields_of_the_template_is_refused(template: str, line: str, reason: str) -> None:
    with pytest.raises(InvalidValueError) as refusal:
        read_lines(line, "list", template)
    assert str(refusal.value) == reason


@pytest.mark.parametrize(
    "options",
    [ListOptions("do {1}", "apart", 3, 7), ListOptions(ordered=True), *(ListOptions(output=kind) for kind in OUTPUTS)],
)
def test_a_script_has_all_of_its_list(options: ListOptions) -> None:
    text = "[name=a] one \udcff\n\n[after=a] two # \u20ac\n"
    script = script_of(text, options, "list")
    assert script.split("\n", HEAD_LINES)[HEAD_LINES] == text, "lines of the list keep their place"
    read, lines = read_script(script, "script")
    assert read.fields() == options.fields()
    assert [fields(line) for line in lines] == [fields(line) for line in read_lines(text, "list", options.template)]


def test_a_text_that_is_no_script_of_a_list_is_refused() -> None:
    for script in ("", "#!/bin/sh\necho\n", script_of("true", ListOptions(), "list").replace('"merged"', '"shredded"')):
        with pytest.raises(InvalidValueError):
            read_script(script, "script")
    with pytest.raises(InvalidValueError, match="list: the list has no commands"):
        script_of("# nothing\n", ListOptions(), "list")


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"output": "mixed"}, '"mixed" is no kind of output: there are merged, apart, failures, none'),
        ({"template": "echo"}, '"echo" has no place for the line: neither {} nor {1}'),
        ({"retries": 1001}, "1001 retries: an integer from 0 to 1000 is expected"),
        ({"max_fails": -1}, "-1 failures: a positive integer is expected"),
        ({"ordered": True, "output": "apart"}, "the order of the list is for merged output, not for apart"),
    ],
)
def test_wrong_options_are_refused(values: dict[str, object], reason: str) -> None:
    with pytest.raises(InvalidValueError) as refusal:
        ListOptions(**values)  # type: ignore[arg-type]
    assert str(refusal.value) == reason


@pytest.mark.parametrize(
    ("command", "is_direct"),
    [
        ("/bin/true", True),
        ("./run.sh --size=4 a,b %x @y +z", True),
        ("prog\ta", True),
        ("echo hello", False),
        ("cd /tmp", False),
        ("A=1 prog", False),
        ("prog ~/x", False),
        ("prog 'a'", False),
        ("prog *", False),
        ("prog $HOME", False),
        ("prog; prog", False),
        ("prog é", False),
    ],
)
def test_a_shell_runs_what_needs_one(command: str, is_direct: bool) -> None:
    assert arguments_of(command) == (command.split() if is_direct else ["/bin/sh", "-c", command])
