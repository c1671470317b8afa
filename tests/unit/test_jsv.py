"""The verifier protocol: parameters there and back, and the conversation."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from gridengine.errors import InvalidValueError
from gridengine.jsv.bindings import binding_parameters, binding_text
from gridengine.jsv.conversation import MAX_LINES, Conversation, VerifierError, escape, unescape, verifier_path
from gridengine.jsv.parameters import corrected, parameters
from gridengine.protocols.gdi.requests import Submit

FULL: dict[str, Any] = {
    "name": "jtest", "script_file": "sleep", "args": ["10", "a b", "it's"], "binary": True, "account": "acct",
    "hard": ["h_rt=100", "mem_free=1M"],
        "soft": ["arch=lx-amd64"],
        "hard_queues": ["all.q", "*@g1"],
        "no_shell": True,
    "pe": "smp", "pe_range": "2-4,8", "tasks": "2-8:2", "task_concurrency": 3, "context": {"a": "1", "b": ""},
    "binding": "set linear:2:1,0",
        "checkpoint_when": "sx",
        "cwd": "/home/alice",
        "stderr": [["g1", "/e"], ["", "/f"]],
    "stdout": [["", "/o"]], "merge": True, "hold_jid": ["1", "abc"], "job_share": 7, "mail_options": "be",
    "mail_list": ["a@b", "c"],
        "master_queues": ["all.q"],
        "notify": True,
        "priority": -3,
        "rerun": True,
        "reserve": True,
    "shells": [["", "/bin/sh"]], "holds": "u", "environment": {"A": "1", "B": "x\ny", "SGE_O_HOME": "/"},
    "environment_names": ["A", "B"],
}
LINES = """\
CMDNAME sleep|CMDARGS 3|CMDARG0 10|CMDARG1 a b|CMDARG2 it's|ac a=1,b|A acct|b y|c_occasion sx|\
cwd /home/alice|e g1:/e,/f|hold_jid 1,abc|h u|j y|js 7|l_hard h_rt=100,mem_free=1M|l_soft arch=lx-amd64|\
m be|M a@b,c|masterq all.q|notify y|N jtest|o /o|p -3|binding_strategy linear|binding_type set|\
binding_amount 2|binding_socket 1|binding_core 0|pe_name smp|pe_min 2|pe_max 8|q_hard all.q,*@g1|R y|r y|\
shell n|S /bin/sh|t_min 2|t_max 8|t_step 2|tc 3"""


@pytest.mark.statement("JV-3")
def test_every_parameter_in_its_order() -> None:
    assert [f"{name} {value}" for name, value in parameters(FULL)] == LINES.split("|")
    assert parameters({"script_file": "/x/run.sh"}) == [("CMDNAME", "/x/run.sh"), ("CMDARGS", "0"), ("N", "run.sh")]


@pytest.mark.statement("JV-3", "JV-4")
def test_setting_what_is_there_changes_nothing() -> None:
    same = {name: value for name, value in parameters(FULL) if not name.startswith("pe_")}
    assert corrected(FULL, same) == {**FULL, "context": {"a": "1", "b": ""}}


@pytest.mark.statement("JV-4")
@pytest.mark.parametrize(
    ("name", "value", "field", "expected"),
    [
        ("N", "new", "name", "new"),
        ("l_hard", "h_rt=5", "hard", ["h_rt=5"]),
        ("l_hard", "", "hard", []),
        ("q_soft", "b.q,c.q", "soft_queues", ["b.q", "c.q"]),
        ("p", "-7", "priority", -7),
        ("j", "n", "merge", False),
        ("r", "", "rerun", None),
        ("shell", "y", "no_shell", False),
        ("cwd", "", "cwd", ""),
        ("o", "h:/a,/b", "stdout", [["h", "/a"], ["", "/b"]]),
        ("ac", "x=1", "context", {"x": "1"}),
        ("h", "n", "holds", ""),
        ("pe_max", "16", "pe_range", "2-16"),
        ("pe_name", "", "pe", ""),
        ("t_max", "20", "tasks", "2-20:2"),
        ("CMDARG1", "z", "args", ["10", "z", "it's"]),
        ("CMDARGS", "1", "args", ["10"]),
        ("CMDARG4", "z", "args", ["10", "a b", "it's", "", "z"]),
        ("CMDNAME", "/bin/true", "script_file", "/bin/true"),
        ("binding_amount", "4", "binding", "set linear:4:1,0"),
        ("w", "e", "verify", "e"),
        ("m", "n", "mail_options", ""),
        ("m", "e,b", "mail_options", "be"),
        ("c_interval", "0:5:0", "checkpoint_when", "0:5:0"),
        ("o", "/a:b", "stdout", [["", "/a:b"]]),
        ("M", "a@b,a@b,c@b", "mail_list", ["a@b", "c@b"]),
        ("display", "host:0", "environment_names", ["A", "B", "DISPLAY"]),
        ("CMDNAME", "/bin/true", "name", "jtest"),
    ],
)
def test_corrections(name: str, value: str, field: str, expected: object) -> None:
    assert corrected(FULL, {name: value})[field] == expected


@pytest.mark.statement("JV-3")
def test_dates_come_back(monkeypatch: pytest.MonkeyPatch) -> None:
    request = {"script_file": "x", "start_after": 1_893_456_000.0}
    shown = dict(parameters(request))["a"]
    assert corrected({}, {"a": shown})["start_after"] == request["start_after"]
    assert corrected(request, {"a": ""})["start_after"] == 0.0


@pytest.mark.statement("JV-4")
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("p", "high"), ("j", "maybe"), ("USER", "root"), ("nosuch", "1"), ("a", "soon"),
        ("m", "x"), ("N", "a/b"), ("w", "x"), ("c_interval", "soon"), ("js", "-1"), ("l_hard", "=1"),
    ],
)
def test_bad_corrections_name_the_parameter(name: str, value: str) -> None:
    with pytest.raises(InvalidValueError, match=f"parameter {name}"):
        corrected(FULL, {name: value})


@pytest.mark.statement("SO-6", "JV-3")
@pytest.mark.parametrize(
    "text",
    [
        "set linear",
        "env linear:2",
        "set linear:2:1,0",
        "pe striding:2:4",
        "set striding:2:4:0,1",
        "set explicit:0,1:1,0",
        "",
    ],
)
def test_bindings_come_back(text: str) -> None:
    assert binding_text(binding_parameters(text)) == text


@pytest.mark.statement("JV-2", "JV-8")
def test_a_conversation_with_corrections() -> None:
    talk = Conversation(FULL, "client", "qsub", "alice", "users")
    assert talk.open() == ["START"]
    assert talk.receive("LOG INFO hello there\n") == []
    assert talk.receive("SEND ENV") == []
    lines = talk.receive("STARTED")
    assert lines[:5] == [
        "PARAM VERSION 1.0",
        "PARAM CONTEXT client",
        "PARAM CLIENT qsub",
        "PARAM USER alice",
        "PARAM GROUP users",
    ]
    assert lines[-3:] == ["ENV ADD A 1", "ENV ADD B x\\ny", "BEGIN"]
    for line in ("PARAM N new", "ENV MOD A 2", "ENV DEL B", "ENV ADD C p\\\\q\\nr", "RESULT STATE CORRECT fine"):
        assert talk.receive(line) == []
    assert (talk.state, talk.message, talk.rejected, talk.logs) == ("CORRECT", "fine", False, [("info", "hello there")])
    outcome = talk.outcome()
    assert outcome["name"] == "new"
    assert outcome["environment"] == {"A": "2", "C": "p\\q\nr", "SGE_O_HOME": "/"}
    assert outcome["environment_names"] == ["A", "C"]
    assert FULL["name"] == "jtest"


@pytest.mark.statement("JV-3", "SO-18")
def test_lists_of_a_verifier_are_read_as_those_of_qsub() -> None:
    assert corrected({}, {"l_hard": "a=1 b=2,c='x, y'"})["hard"] == ["a=1", "b=2", "c='x, y'"]
    assert corrected({}, {"q_hard": "a.q,,b.q", "M": "'a,b'@c"}) == {"hard_queues": ["a.q", "b.q"], "mail_list": ["'a,b'@c"]}


@pytest.mark.statement("JV-4")
def test_no_variable_passes_for_another_one() -> None:
    talk = Conversation({"environment": {"A": "1", "A x": "2"}, "environment_names": ["A", "A x"]}, "client", "qsub", "u", "g")
    talk.receive("SEND ENV")
    assert [line for line in talk.receive("STARTED") if line.startswith("ENV")] == ["ENV ADD A 1"]


@pytest.mark.statement("JV-2", "JV-4", "JV-8")
def test_accept_keeps_changes_and_the_environment_comes_on_request_only() -> None:
    talk = Conversation(FULL, "server", "qmaster", "alice", "users", 17)
    lines = talk.receive("STARTED")
    assert "PARAM JOB_ID 17" in lines
    assert not any(line.startswith("ENV") for line in lines)
    talk.receive("PARAM N other")
    talk.receive("ENV ADD C 1")
    talk.receive("RESULT STATE ACCEPT")
    outcome = talk.outcome()
    assert (outcome["name"], outcome["environment"]["C"]) == ("other", "1")
    talk = Conversation(FULL, "server", "qmaster", "alice", "users", 17)
    talk.receive("STARTED")
    talk.receive("RESULT STATE ACCEPT")
    assert talk.outcome() == FULL


@pytest.mark.statement("JV-3")
def test_a_server_verifier_gets_what_was_given_alone() -> None:
    origin = {"SGE_O_LOGNAME": "alice", "SGE_O_HOST": "h"}
    request = msgspec.to_builtins(Submit(script_file="true", binary=True, environment=origin))
    request = {name: tuple(value) if value == [] else value for name, value in request.items()}
    found = dict(parameters(request))
    assert found == {"CMDNAME": "true", "CMDARGS": "0", "A": "sge", "b": "y", "M": "alice@h", "N": "true"}


@pytest.mark.statement("JV-2")
@pytest.mark.parametrize("state", ["REJECT", "REJECT_WAIT"])
def test_rejection(state: str) -> None:
    talk = Conversation(FULL, "client", "qsub", "alice", "users")
    talk.receive("STARTED")
    talk.receive(f"RESULT STATE {state} no way today")
    assert (talk.rejected, talk.message) == (True, "no way today")


@pytest.mark.statement("JV-2")
@pytest.mark.parametrize(
    "line", ["ERROR bad", "PARAM N x", "RESULT STATE ACCEPT", "LOG LOUD x", "SEND MONEY", "ENV ADD A 1"]
)
def test_lines_out_of_turn_are_faults(line: str) -> None:
    with pytest.raises(VerifierError):
        Conversation(FULL, "client", "qsub", "a", "b").receive(line)


def test_escapes_come_back() -> None:
    for text in ("", "a\\nb", "a\nb\r\t\\", "\\", "\\\\n"):
        assert unescape(escape(text)) == text
        assert "\n" not in escape(text)


@pytest.mark.statement("JV-1")
def test_urls() -> None:
    assert verifier_path("/a/b") == ("", "/a/b")
    assert verifier_path("script:bob@/a/b") == ("bob", "/a/b")
    assert verifier_path("bob@/a@b") == ("bob", "/a@b")
    for bad in ("binary:/x", "", "bob@"):
        with pytest.raises(InvalidValueError):
            verifier_path(bad)


@pytest.mark.statement("JV-2", "JV-6")
def test_a_verifier_that_floods_is_given_up() -> None:
    talk = Conversation({}, "server", "qmaster", "alice", "users", 1)
    for _ in range(MAX_LINES):
        talk.receive("LOG INFO flood")
    with pytest.raises(VerifierError, match="more than"):
        talk.receive("LOG INFO flood")
