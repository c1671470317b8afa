"""Verifiers as real processes: the server's, the client's, and the helper libraries."""

from __future__ import annotations

import asyncio
import logging
import os
import pwd
import signal
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from clients.program import CommandError
from clients.verifiers import verify_request
from daemons.qmaster.serve.requests.jsv import ServerVerifier
from gridengine.options.option import OptionError
from gridengine.protocols.gdi.requests import Answer, Submit
from gridengine.state.configured.configuration import HostConfiguration
from tests import needs
from tests.integration.cells import PATIENCE_S
from tests.integration.debian import need
from tests.integration.qmaster.verifying import ALICE, PATIENT, SHARE, ask, refusal, submission

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

@pytest.mark.statement("JV-1", "JV-2", "JV-4", "JV-7", "JV-8")
@pytest.mark.parametrize(
    ("text", "interpreter"),
    [(SHELL, "/bin/sh"), (PYTHON, "/usr/bin/env python3"), (PERL, "/usr/bin/perl"), (TCL, "/usr/bin/tclsh")],
    ids=["sh", "python", "perl", "tcl"],
)
def test_a_single_verifier_process_verifies_many_jobs(
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
    ("order", "text"),
    [
        ('jsv_set_param N "$(printf "a\\033b")"', "name contains a character that cannot be printed"),
        ("jsv_set_param js 99999999999", 'set parameter js to "99999999999": invalid job share'),
        ("jsv_add_env A=B x", "environment_names must not contain"),
    ],
)
def test_a_job_that_a_verifier_changed_beyond_the_bounds_is_refused(script: Callable[..., Path], order: str, text: str) -> None:
    body = f". {SHARE}/jsv.sh\njsv_on_verify() {{ {order}; jsv_correct; }}\njsv_main\n"
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
def test_the_next_job_has_its_answer_despite_leftovers_in_the_pipes_of_a_verifier(
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
def test_a_command_ends_despite_leftovers_in_the_pipes_of_a_verifier(
    script: Callable[..., Path], left: Path, monkeypatch: pytest.MonkeyPatch, body: str, timeout_s: int, text: str
) -> None:
    monkeypatch.setenv("SGE_JSV_TIMEOUT", str(timeout_s))
    request = submission() | {"context": {f"name{number}": "x" * 1000 for number in range(200)}}
    with pytest.raises(CommandError, match=text):
        verify_request("qsub", request, [(4, str(script(body.format(left))))])


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
    outcome = verify_request("qsub", request, [(4, str(script(body)))])
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
def test_a_parameter_that_a_verifier_made_invalid_is_refused(script: Callable[..., Path]) -> None:
    text = SHELL.replace('jsv_set_param N "', 'jsv_set_param p "')
    assert 'set parameter p to "x-red"' in refusal(ask(script(text), "x")[0])


@pytest.mark.statement("SE-5")
def test_a_failing_verifier_closes_the_cell_with_a_reason(script: Callable[..., Path], tmp_path: Path) -> None:
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
    request = verify_request("qsub", submission(), [(0, path), (4, path)])
    assert request["name"] == "x-red-red"
    assert capsys.readouterr().out.count("seen by") == 2
    with pytest.raises(CommandError) as failure:
        verify_request("qsub", submission("later"), [(4, path)])
    assert (failure.value.text, failure.value.status) == ("Unable to run job: not now\nExiting.", 1)
    with pytest.raises(OptionError) as missing:
        verify_request("qsub", submission(), [(4, f"{tmp_path}/none")])
    assert missing.value.exit_status == 3
    with pytest.raises(OptionError, match='not as "bob"'):
        verify_request("qsub", submission(), [(4, f"script:bob@{path}")])
    assert verify_request("qsub", submission(), [(0, "none")]) == submission()
    assert missing.value.text == f'JSV "{tmp_path}/none" is either not a file or not executable'
    with pytest.raises(CommandError, match="ended before its verdict"):
        verify_request("qsub", submission(), [(4, str(script("exit 1")))])
    monkeypatch.setenv("SGE_JSV_TIMEOUT", "1")
    with pytest.raises(CommandError, match="does not answer"):
        verify_request("qsub", submission(), [(4, str(script("sleep 60")))])
