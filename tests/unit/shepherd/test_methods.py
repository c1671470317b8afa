"""The command lines of methods: arguments, users, variables, signals, environments."""

from __future__ import annotations

import pytest

from shepherd.methods import (
    Method,
    MethodError,
    expand,
    parse_control_method,
    parse_method,
    parse_signal,
    safe_start,
)


@pytest.mark.statement("QC-25")
@pytest.mark.parametrize(
    ("text", "method"),
    [
        ("/p", Method(None, ["/p"])),
        ("root@/p a 'b c'", Method("root", ["/p", "a", "b c"])),
        ("/p user@host", Method(None, ["/p", "user@host"])),
        ("/p; rm -rf $HOME", Method(None, ["/p;", "rm", "-rf", "$HOME"])),
        ("root@p", Method(None, ["root@p"])),
    ],
)
def test_arguments_and_user(text: str, method: Method) -> None:
    assert parse_method(text) == method


@pytest.mark.parametrize("text", ["", "  ", "/p 'x", "/p \\"])
def test_text_that_is_no_command_line(text: str) -> None:
    with pytest.raises(MethodError):
        parse_method(text)


@pytest.mark.statement("QC-27")
def test_variables() -> None:
    variables = {"job_id": "7", "job": "no", "host": "a b"}
    assert expand(["$job_id", "x${host}y", "$$", "a$", "$1", "$job_id.$job"], variables) == [
        "7", "xa by", "$$", "a$", "$1", "7.no",
    ]  # fmt: skip
    with pytest.raises(MethodError, match=r"\$HOME"):
        expand(["$HOME"], variables)


@pytest.mark.statement("QC-27")
@pytest.mark.parametrize(("text", "number"), [("SIGTERM", 15), ("term", 15), ("9", 9), ("SIGRTMIN", 34)])
def test_signals(text: str, number: int) -> None:
    assert parse_signal(text) == number


@pytest.mark.parametrize("text", ["0", "65", "-9", "SIGNOSUCH", "", "SIG_DFL", "_SETMASK", "٣"])
def test_no_signals(text: str) -> None:
    with pytest.raises(MethodError):
        parse_signal(text)


@pytest.mark.statement("QC-27")
def test_control_methods() -> None:
    assert parse_control_method(None) is parse_control_method("NONE") is None
    assert parse_control_method("SIGTSTP") == 20
    assert parse_control_method("root@/m $job_pid") == Method("root", ["/m", "$job_pid"])
    with pytest.raises(MethodError):
        parse_control_method("freeze it")


@pytest.mark.statement("EX-20")
def test_a_safe_start() -> None:
    dangerous = {"LD_AUDIT": "", "IFS": "x", "PYTHONSTARTUP": "x", "BASH_FUNC_a%%": "", "LC_ALL": "/x", "F": "() { :;}"}
    kept = {"JOB_ID": "7", "LANG": "C.UTF-8", "HOME": "/h", "TMPDIR": "/tmp/7.1.q", "MINE": "x", "PYTHONNOUSERSITE": "1"}
    found = safe_start(dangerous | kept | {"PATH": "/home/alice/bin"})
    assert found.pop("PATH").startswith("/usr/local/sbin:")
    assert found == kept


@pytest.mark.statement("EX-20")
@pytest.mark.parametrize(
    ("name", "value", "kept"),
    [
        ("LANG", "de_DE.UTF-8", True),
        ("LANG", "/tmp/x", False),
        ("LANGUAGE", "%l", False),
        ("LANGUAGE", "de:en", True),
        ("LC_MESSAGES", "/tmp/x", False),
        ("LC_MESSAGES", "C", True),
        ("DATA", "/tmp/x", True),
        ("DATE", "+%d", True),
        ("DATA", "() { :; }", False),
        ("LANG", "() { :; }", False),
    ],
)
def test_a_locale_that_is_a_file_of_the_users_is_left_out(name: str, value: str, kept: bool) -> None:
    assert (name in safe_start({name: value})) == kept


@pytest.mark.statement("QC-27")
def test_the_first_and_the_last_signal_are_signals() -> None:
    assert (parse_signal("1"), parse_signal("64")) == (1, 64)


@pytest.mark.statement("QC-27")
def test_a_command_with_a_user_is_no_signal() -> None:
    assert parse_control_method("alice@/m") == Method("alice", ["/m"])
    assert parse_control_method("/m") == Method(None, ["/m"])
    assert parse_control_method("") is parse_control_method("none") is None
