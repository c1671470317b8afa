"""Verifiers as real processes: the server's, the client's, and the helper libraries."""

from __future__ import annotations

import asyncio
import logging
import os
import pwd
import re
import signal
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest

from clients.program import Failure
from clients.verifiers import verified
from daemons.qmaster.serve.jsv import ServerVerifier
from gridengine.gdi.requests import Answer, Caller, Submit
from gridengine.options.option import OptionError
from gridengine.state.configured.configuration import HostConfiguration
from tests import needs
from tests.integration.cells import PATIENCE_S
from tests.integration.debian import need

SHARE = Path(__file__).parents[3] / "cluster-config" / "jsv"
#: verifiers may begin slowly
PATIENT = f"jsv_timeout={PATIENCE_S:.0f}"
ALICE = Caller("alice", 1001, "users", 100, "h1")
SHELL = f""". {SHARE}/jsv.sh
jsv_on_start() {{ jsv_send_env; }}
jsv_on_verify() {{
    case $(jsv_get_param N) in
        bad) jsv_reject "this name; is $(jsv_get_param USER)'s"; return ;;
        later) jsv_reject_wait "not now"; return ;;
        fine) jsv_set_param N kept; jsv_accept; return ;;
    esac
    if [ "$(jsv_sub_is_param l_hard h_rt)" = false ]; then jsv_sub_add_param l_hard h_rt 60; fi
    jsv_sub_del_param l_hard arch
    jsv_set_param N "$(jsv_get_param N)-$(jsv_sub_get_param ac team)"
    jsv_mod_env A "$(jsv_get_env A)!"
    jsv_add_env B "two  words"
    jsv_del_env C
    jsv_log_info "seen by $$"
    jsv_correct "done"
}}
jsv_main
"""
PYTHON = f"""import os, sys
sys.dont_write_bytecode = True
sys.path.insert(0, {str(SHARE)!r})
import jsv

def verify(job):
    name = job.params["N"]
    if name == "bad":
        return job.reject("this name; is %s's" % job.params["USER"])
    if name == "later":
        return job.reject_wait("not now")
    if name == "fine":
        job.set("N", "kept")
        return job.accept()
    if "h_rt" not in job.items("l_hard"):
        job.set_item("l_hard", "h_rt", "60")
    job.delete_item("l_hard", "arch")
    job.set("N", "%s-%s" % (name, job.items("ac")["team"]))
    job.set_env("A", job.env["A"] + "!")
    job.set_env("B", "two  words")
    job.delete_env("C")
    job.log("seen by %d" % os.getpid())
    return job.correct("done")

jsv.main(verify, environment=True)
"""
PERL = f"""use lib "{SHARE}";
use JSV qw(:ALL);
jsv_on_start(sub {{ jsv_send_env() }});
jsv_on_verify(sub {{
    my %job = jsv_get_param_hash();
    return jsv_reject("this name; is $job{{USER}}'s") if $job{{N}} eq "bad";
    return jsv_reject_wait("not now") if $job{{N}} eq "later";
    if ($job{{N}} eq "fine") {{ jsv_set_param("N", "kept"); return jsv_accept() }}
    jsv_sub_add_param("l_hard", "h_rt", 60) unless exists $job{{l_hard}}{{h_rt}};
    jsv_sub_del_param("l_hard", "arch");
    jsv_set_param("N", "$job{{N}}-" . jsv_sub_get_param("ac", "team"));
    jsv_mod_env("A", jsv_get_env("A") . "!");
    jsv_add_env("B", "two  words");
    jsv_del_env("C");
    jsv_log_info("seen by $$");
    jsv_correct("done");
}});
jsv_main();
"""
TCL = f"""source {SHARE}/jsv_include.tcl
proc jsv_on_start {{}} {{ jsv_send_env }}
proc jsv_on_verify {{}} {{
    switch -- [jsv_get_param N] {{
        bad {{ jsv_reject "this name; is [jsv_get_param USER]'s"; return }}
        later {{ jsv_reject_wait "not now"; return }}
        fine {{ jsv_set_param N kept; jsv_accept; return }}
    }}
    if {{![jsv_sub_is_param l_hard h_rt]}} {{ jsv_sub_add_param l_hard h_rt 60 }}
    jsv_sub_del_param l_hard arch
    jsv_set_param N "[jsv_get_param N]-[jsv_sub_get_param ac team]"
    jsv_mod_env A "[jsv_get_env A]!"
    jsv_add_env B "two  words"
    jsv_del_env C
    jsv_log_info "seen by [pid]"
    jsv_correct done
}}
jsv_main
"""

#: verifiers that do to a job what its context says: `DO1=VERB:NAME:VALUE:MORE`
OBEDIENT_SHELL = f""". {SHARE}/jsv.sh
jsv_on_start() {{ jsv_send_env; }}
jsv_on_verify() {{
    for at in 1 2 3; do
        order=$(jsv_sub_get_param ac DO$at)
        IFS=: read -r verb name value more <<END
$order
END
        case $verb in
            set) jsv_set_param "$name" "$value" ;;
            del) jsv_del_param "$name" ;;
            put) jsv_sub_add_param "$name" "$value" "$more" ;;
            take) jsv_sub_del_param "$name" "$value" ;;
            env) jsv_mod_env "$name" "$value" ;;
            noenv) jsv_del_env "$name" ;;
        esac
    done
    jsv_correct
}}
jsv_main
"""
OBEDIENT_PYTHON = f"""import sys
sys.dont_write_bytecode = True
sys.path.insert(0, {str(SHARE)!r})
import jsv

def verify(job):
    does = dict(set=job.set, put=job.set_item, take=job.delete_item, env=job.set_env, noenv=job.delete_env)
    does["del"] = job.delete
    for name, order in sorted(job.items("ac").items()):
        verb, *rest = order.split(":")
        does[verb](*rest)
    return job.correct()

jsv.main(verify, environment=True)
"""
OBEDIENT_PERL = f"""use lib "{SHARE}";
use JSV qw(:ALL);
my %does = (set => \\&jsv_set_param, del => \\&jsv_del_param, put => \\&jsv_sub_add_param, take => \\&jsv_sub_del_param,
            env => \\&jsv_mod_env, noenv => \\&jsv_del_env);
jsv_on_start(sub {{ jsv_send_env() }});
jsv_on_verify(sub {{
    my %job = jsv_get_param_hash();
    for my $name (sort keys %{{$job{{ac}} || {{}}}}) {{
        my ($verb, @rest) = split /:/, $job{{ac}}{{$name}};
        $does{{$verb}}->(@rest);
    }}
    jsv_correct();
}});
jsv_main();
"""
OBEDIENT_TCL = f"""source {SHARE}/jsv_include.tcl
array set does {{set jsv_set_param del jsv_del_param put jsv_sub_add_param take jsv_sub_del_param}}
array set does {{env jsv_mod_env noenv jsv_del_env}}
proc jsv_on_start {{}} {{ jsv_send_env }}
proc jsv_on_verify {{}} {{
    global does
    foreach at {{1 2 3}} {{
        if {{![jsv_sub_is_param ac DO$at]}} {{ continue }}
        set rest [lassign [split [jsv_sub_get_param ac DO$at] :] verb]
        $does($verb) {{*}}$rest
    }}
    jsv_correct
}}
jsv_main
"""
#: orders, and what becomes of the job: the same as with 8.1.9 and its own libraries. Source: O.
OBEYED: tuple[tuple[str, dict[str, Any]], ...] = (
    ("", {}),
    ("put:l_hard:h_rt:100", {"hard": ("mem_free=1M", "arch=*", "h_rt=100")}),
    ("put:l_hard:arch:lx-*", {"hard": ("mem_free=1M", "arch=lx-*")}),
    ("take:l_hard:arch", {"hard": ("mem_free=1M",)}),
    ("put:l_soft:h_vmem:1G", {"soft": ("h_vmem=1G",)}),
    ("set:N:renamed", {"name": "renamed"}),
    ("set:A:new account", {"account": "new account"}),
    ("set:p:-7", {"priority": -7}),
    ("set:pe_name:smp set:pe_min:2 set:pe_max:3", {"pe": "smp", "pe_range": "2-3"}),
    ("set:q_hard:all.q", {"hard_queues": ("all.q",)}),
    ("env:A:x  y noenv:C", {"environment": {"A": "x  y", "SGE_O_HOST": "h"}, "environment_names": ("A",)}),
    ("set:CMDARGS:2 set:CMDARG0:5 set:CMDARG1:w  w", {"args": ("5", "w  w")}),
    ("set:o:/tmp/o set:e:/tmp/e set:j:y", {"stdout": (("", "/tmp/o"),), "stderr": (("", "/tmp/e"),), "merge": True}),
    ("put:ac:K:v take:ac:DO1 take:ac:DO2", {"context": {"DO3": "take:ac:DO2", "K": "v"}}),
    ("set:h:u set:notify:y set:R:y", {"holds": "u", "notify": True, "reserve": True}),
    ("set:m:be set:M:a@b set:w:n", {"mail_options": "be", "mail_list": ("a@b",), "verify": "n"}),
    ("set:S:/bin/bash set:cwd:/tmp set:r:y", {"shells": (("", "/bin/bash"),), "cwd": "/tmp", "rerun": True}),
    ("set:t_min:1 set:t_max:4 set:t_step:1", {"tasks": "1-4:1"}),
    ("set:c_occasion:n set:js:3 set:hold_jid:a", {"checkpoint_when": "n", "job_share": 3, "hold_jid": ("a",)}),
    ("del:l_hard", {"hard": ()}),
)


@pytest.fixture
def script(tmp_path: Path) -> Callable[[str], Path]:
    def write(text: str, interpreter: str = "/bin/sh") -> Path:
        path = tmp_path / "verifier"
        path.write_text(f"#!{interpreter}\n{text}")
        path.chmod(0o755)
        return path

    return write


def submission(name: str = "x") -> dict[str, Any]:
    return {
        **{"name": name, "binary": True, "script_file": "/bin/sleep", "args": ["1"], "hard": ["mem_free=1M", "arch=*"]},
        **{"context": {"team": "red"}, "environment": {"A": "$(date) `id`", "C": "3", "SGE_O_HOST": "h"}},
        "environment_names": ["A", "C"],
    }


def ask(
    path: Path | str, *names: str, params: str = PATIENT, bodies: Sequence[dict[str, Any]] = ()
) -> list[Submit | Answer]:
    """The outcomes of submissions, one after the other, by one server verifier."""
    configuration = {"jsv_url": f"script:{path}", "qmaster_params": params}

    async def run() -> list[Submit | Answer]:
        server = ServerVerifier(lambda: HostConfiguration.of(configuration))
        requests = [msgspec.convert(body, Submit) for body in (*map(submission, names), *bodies)]
        async with asyncio.timeout(PATIENCE_S):
            outcomes = await asyncio.gather(*(server.verify(request, ALICE, lambda: 7) for request in requests))
            await server.stop()
        return outcomes

    return asyncio.run(run())


def refusal(outcome: Submit | Answer) -> str:
    assert isinstance(outcome, Answer)
    assert outcome.status == 1
    return outcome.answers[0][1]


@pytest.mark.statement("JV-1", "JV-2", "JV-4", "JV-7", "JV-8")
@pytest.mark.parametrize(
    ("text", "interpreter"),
    [(SHELL, "/bin/sh"), (PYTHON, "/usr/bin/env python3"), (PERL, "/usr/bin/perl"), (TCL, "/usr/bin/tclsh")],
    ids=["sh", "python", "perl", "tcl"],
)
def test_one_process_verifies_many_jobs(
    script: Callable[..., Path], text: str, interpreter: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    if interpreter == "/usr/bin/tclsh":
        need("tclsh")
    changed, bad, later, fine, again = ask(script(text, interpreter), "x", "bad", "later", "fine", "y")
    assert isinstance(changed, Submit)
    assert changed.name == "x-red"
    assert sorted(changed.hard) == ["h_rt=60", "mem_free=1M"]
    assert changed.environment == {"A": "$(date) `id`!", "B": "two  words", "SGE_O_HOST": "h"}
    assert changed.environment_names == ("A", "B")
    assert refusal(bad) == "this name; is alice's"
    assert refusal(later) == "not now"
    assert isinstance(fine, Submit) and fine.name == "kept", "8.1.9 takes changes with ACCEPT, too"
    assert isinstance(again, Submit) and again.name == "y-red"
    assert len({record.getMessage() for record in caplog.records if "seen by" in record.getMessage()}) == 1


@pytest.mark.parametrize(
    ("text", "interpreter"),
    [
        (OBEDIENT_SHELL, "/bin/sh"),
        (OBEDIENT_PYTHON, "/usr/bin/env python3"),
        (OBEDIENT_PERL, "/usr/bin/perl"),
        (OBEDIENT_TCL, "/usr/bin/tclsh"),
    ],
    ids=["sh", "python", "perl", "tcl"],
)
def test_all_libraries_make_the_same_of_a_job(
    script: Callable[..., Path], text: str, interpreter: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if interpreter == "/usr/bin/tclsh":
        need("tclsh")
    monkeypatch.setenv("SGE_JSV_TIMEOUT", f"{PATIENCE_S:.0f}")
    path = script(text, interpreter)
    asked = []
    for orders, _ in OBEYED:
        # an order ends before the next verb, since values hold blanks
        said = re.split(r" (?=(?:set|del|put|take|env|noenv):)", orders) if orders else []
        asked.append({**submission(), "context": {f"DO{at}": order for at, order in enumerate(said, start=1)}})
    by_server = ask(path, bodies=asked)
    for (orders, fields), body, outcome in zip(OBEYED, asked, by_server, strict=True):
        expected = msgspec.convert({**body, **fields}, Submit)
        by_client = msgspec.convert(verified("qsub", body, [(4, str(path))]), Submit)
        for made in (outcome, by_client):
            assert isinstance(made, Submit), (orders, made)
            assert sorted(made.hard) == sorted(expected.hard), orders  # which are in no order
            assert msgspec.structs.replace(made, hard=expected.hard) == expected, orders


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ('jsv_set_param N "$(printf "a\\033b")"', "name contains a character that cannot be printed"),
        ("jsv_set_param js 99999999999", 'set parameter js to "99999999999": invalid job share'),
        ("jsv_add_env A=B x", "environment_names must not contain"),
    ],
)
def test_what_a_verifier_makes_of_a_job_is_within_the_bounds_of_one(script: Callable[..., Path], said: str, text: str) -> None:
    body = f". {SHARE}/jsv.sh\njsv_on_verify() {{ {said}; jsv_correct; }}\njsv_main\n"
    assert text in refusal(ask(script(body), "x")[0])


@pytest.mark.statement("JV-1", "JV-6")
def test_a_verifier_that_hangs_or_dies_is_started_again_once(
    script: Callable[..., Path], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    first_fails = f"[ -e {tmp_path}/ran ] || {{ touch {tmp_path}/ran; exit 1; }}\n" + SHELL
    (outcome,) = ask(script(first_fails), "x")
    assert isinstance(outcome, Submit), outcome
    assert "started again: it ended" in caplog.text
    assert "no verdict within 1 s" in refusal(ask(script("sleep 60"), "x", params="jsv_timeout=1")[0])
    assert "it ended" in refusal(ask(script("exit 0"), "x")[0])
    assert refusal(ask(tmp_path / "none", "x")[0]).endswith(f" failed: {tmp_path}/none: No such file or directory")
    assert 'unknown command from the verifier: "HELLO"' in refusal(ask(script("echo HELLO; sleep 9"), "x")[0])


LEAVES_A_CHILD = """
before=$(wc -l <{0})
setsid sh -c 'echo $$ >>{0}; exec sleep 1000' &
while [ $(wc -l <{0}) = $before ]; do sleep 0.01; done  # else the child may still be in the session of its parent
"""


@pytest.fixture
def left(tmp_path: Path) -> Iterator[Path]:
    """A file of the ids of processes that verifiers leave; none is left behind the test."""
    left = tmp_path / "left"
    left.touch()
    yield left
    for child in left.read_text().split():
        with suppress(ProcessLookupError):  # a verifier that was slow was ended together with its child
            os.kill(int(child), signal.SIGKILL)


@pytest.mark.statement("JV-1")
@pytest.mark.parametrize(
    ("body", "timeout_s", "text"),
    [
        ("cat /dev/zero", 60, "a line is longer than"),
        ("yes", 60, 'unknown command from the verifier: "y"'),
        (LEAVES_A_CHILD + "exec sleep 1000", 1, "no verdict within 1 s"),
        (LEAVES_A_CHILD, 1, "verifier failed"),  # "it ended" where that is seen before what it says is waited for
    ],
    ids=["a long line", "floods", "leaves a child and hangs", "leaves a child"],
)
def test_whatever_a_verifier_leaves_in_its_pipes_the_next_job_has_its_answer(
    script: Callable[..., Path], left: Path, body: str, timeout_s: int, text: str
) -> None:
    refused = ask(script(body.format(left)), "x", "y", params=f"jsv_timeout={timeout_s}")
    assert all(text in refusal(each) for each in refused), refused


@pytest.mark.statement("JV-1", "JV-6")
@pytest.mark.parametrize(
    ("body", "timeout_s", "text"),
    [
        ("cat /dev/zero", 60, "a line is longer than"),
        ("yes", 60, 'unknown command from the verifier: "y"'),
        (LEAVES_A_CHILD, 1, "does not answer"),
        ("echo STARTED; exec sleep 1000", 1, "does not answer"),  # all of the job does not fit into a pipe
    ],
    ids=["a long line", "floods", "leaves a child", "does not listen"],
)
def test_whatever_a_verifier_leaves_in_its_pipes_a_command_ends(
    script: Callable[..., Path], left: Path, monkeypatch: pytest.MonkeyPatch, body: str, timeout_s: int, text: str
) -> None:
    monkeypatch.setenv("SGE_JSV_TIMEOUT", str(timeout_s))
    request = submission() | {"context": {f"name{number}": "x" * 1000 for number in range(200)}}
    with pytest.raises(Failure, match=text):
        verified("qsub", request, [(4, str(script(body.format(left))))])


@pytest.mark.statement("JV-1", "JV-2")
def test_a_verifier_may_say_several_things_at_once_and_listen_later(
    script: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of the job does not fit into a pipe, so the rest of it must come while its lines are waited for."""
    monkeypatch.setenv("SGE_JSV_TIMEOUT", f"{PATIENCE_S:.0f}")
    body = (
        "printf 'STARTED\nLOG INFO one\nLOG INFO two\n'; sleep 0.1; echo LOG INFO three\n"
        "n=0; while read -r line; do case $line in *x*) n=$((n+1));; BEGIN) break;; esac; done\n"
        "echo PARAM N n$n; echo RESULT STATE CORRECT; read quit\n"
    )
    request = submission("y") | {"context": {f"name{number}": "x" * 1000 for number in range(200)}}
    outcome = verified("qsub", request, [(4, str(script(body)))])
    assert outcome["name"].startswith("n") and int(outcome["name"][1:]) >= 1


@pytest.mark.statement("JV-1", "JV-6")
def test_a_changed_script_is_taken_and_slow_ones_are_noted(
    script: Callable[..., Path], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    path = script(SHELL)
    configuration = {"jsv_url": str(path), "qmaster_params": f"jsv_threshold=0,{PATIENT}"}

    async def run() -> tuple[Submit | Answer, Submit | Answer]:
        server = ServerVerifier(lambda: HostConfiguration.of(configuration))
        first = await server.verify(Submit(**submission()), ALICE, lambda: 7)
        script(SHELL.replace("team)", "none)x"))
        second = await server.verify(Submit(**submission()), ALICE, lambda: 7)
        await server.stop()
        return first, second

    first, second = asyncio.run(run())
    assert isinstance(first, Submit) and first.name == "x-red"
    assert isinstance(second, Submit) and second.name == "x-x"
    assert "verification of a job of alice took" in caplog.text


@pytest.mark.statement("JV-1")
@needs.root
def test_the_verifier_of_a_user_has_nothing_of_root(monkeypatch: pytest.MonkeyPatch, groups_of_root: None) -> None:
    monkeypatch.setenv("OF_WHO_STARTED_THE_DAEMON", "secret")
    with tempfile.TemporaryDirectory(prefix="ge-jsv-") as name:  # pytest's own are closed to other users
        place = Path(name)
        place.chmod(0o777)
        path, seen = place / "verifier", place / "seen"
        path.write_text(f'#!/bin/sh\n{{ echo "$(id -u):$(id -g):$(id -G):$(pwd)"; env; }} > {seen}\n')
        path.chmod(0o755)
        ask(f"daemon@{path}", "x")
        ids, *variables = seen.read_text().splitlines()
    user = pwd.getpwnam("daemon")
    groups = " ".join(map(str, os.getgrouplist("daemon", user.pw_gid)))
    assert ids == f"{user.pw_uid}:{user.pw_gid}:{groups}:/"
    assert f"HOME={user.pw_dir}" in variables
    assert "secret" not in "".join(variables)


@pytest.mark.statement("JV-4")
def test_what_a_verifier_breaks_is_refused(script: Callable[..., Path]) -> None:
    text = SHELL.replace('jsv_set_param N "', 'jsv_set_param p "')
    assert 'set parameter p to "x-red"' in refusal(ask(script(text), "x")[0])


@pytest.mark.statement("SE-5")
def test_a_verifier_closes_the_cell_and_says_why(script: Callable[..., Path], tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    body = f'if [ -e {closed} ]; then jsv_reject "closed until noon"; else jsv_accept; fi'
    path = script(f". {SHARE}/jsv.sh\njsv_on_verify() {{ {body}; }}\njsv_main\n")
    closed.touch()
    assert [refusal(outcome) for outcome in ask(path, "x", "y")] == ["closed until noon"] * 2
    closed.unlink()
    assert all(isinstance(outcome, Submit) for outcome in ask(path, "x", "y"))


@pytest.mark.statement("JV-1", "SO-17", "JV-6")
def test_verifiers_of_the_client(
    script: Callable[..., Path], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SGE_JSV_TIMEOUT", f"{PATIENCE_S:.0f}")
    path = str(script(SHELL))
    request = verified("qsub", submission(), [(0, path), (4, path)])
    assert request["name"] == "x-red-red"
    assert capsys.readouterr().out.count("seen by") == 2
    with pytest.raises(Failure) as failure:
        verified("qsub", submission("later"), [(4, path)])
    assert (failure.value.text, failure.value.status) == ("Unable to run job: not now\nExiting.", 1)
    with pytest.raises(OptionError) as missing:
        verified("qsub", submission(), [(4, f"{tmp_path}/none")])
    assert missing.value.exit_status == 3
    with pytest.raises(OptionError, match='not as "bob"'):
        verified("qsub", submission(), [(4, f"script:bob@{path}")])
    assert verified("qsub", submission(), [(0, "none")]) == submission()
    assert missing.value.text == f'JSV "{tmp_path}/none" is either not a file or not executable'
    with pytest.raises(Failure, match="ended before its verdict"):
        verified("qsub", submission(), [(4, str(script("exit 1")))])
    monkeypatch.setenv("SGE_JSV_TIMEOUT", "1")
    with pytest.raises(Failure, match="does not answer"):
        verified("qsub", submission(), [(4, str(script("sleep 60")))])
