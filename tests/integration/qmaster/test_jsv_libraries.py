"""Helper libraries of verifiers: each changes a job as the libraries of 8.1.9 do, by the server and by the client."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from clients.verifiers import verify_request
from gridengine.protocols.gdi.requests import Submit
from tests.integration.cells import PATIENCE_S
from tests.integration.debian import need
from tests.integration.qmaster.verifying import SHARE, ask, submission

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
    ("set:pe_name:smp set:pe_min:2 set:pe_max:3", {"pe": "smp", "pe_range": "2,3"}),
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


@pytest.mark.statement("JV-3", "JV-4", "JV-7")
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
        calls = re.split(r" (?=(?:set|del|put|take|env|noenv):)", orders) if orders else []
        asked.append({**submission(), "context": {f"DO{at}": order for at, order in enumerate(calls, start=1)}})
    by_server = ask(path, bodies=asked)
    for (orders, fields), body, outcome in zip(OBEYED, asked, by_server, strict=True):
        expected = msgspec.convert({**body, **fields}, Submit)
        by_client = msgspec.convert(verify_request("qsub", body, [(4, str(path))]), Submit)
        for made in (outcome, by_client):
            assert isinstance(made, Submit), (orders, made)
            assert sorted(made.hard) == sorted(expected.hard), orders  # which are in no order
            assert msgspec.structs.replace(made, hard=expected.hard) == expected, orders
