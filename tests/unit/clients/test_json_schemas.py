"""-json of every listing command: valid by the schemas of docs/schemas, for jobs and hosts of all sorts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from clients import gdi, qevent
from gridengine.state.jobs import Usage
from tests.harness import Cell
from tests.unit.clients.shell import Shell

SCHEMAS = Path(__file__).parents[3] / "docs" / "schemas"


def valid(schema: str, text: str) -> Any:
    """The value of a text that a schema accepts."""
    data = json.loads(text)
    rules = json.loads((SCHEMAS / f"{schema}.json").read_text())
    jsonschema.Draft202012Validator.check_schema(rules)
    jsonschema.validate(data, rules, jsonschema.Draft202012Validator)
    return data


def data_of(schema: str, shell: Shell, line: str) -> Any:
    outcome = shell(line)
    assert (outcome.status, outcome.err) == (0, ""), outcome
    return valid(schema, outcome.out)


@pytest.fixture
def busy(shell: Shell, cell: Cell) -> Shell:
    """Jobs that run, wait, are held, failed and have ended."""
    cell.add("checkpoint", "ck", when="xsm")
    cell.add("project", "p1")
    shell("qsub -b y -N one -q all.q@h1 -l h_rt=1:00:00 sleep 9")
    shell("qsub -b y -N arr -t 1-5:2 -q all.q@h2 sleep 9")
    shell("qsub -b y -N par -pe mpi 3 -q all.q@h3 -soft -l mem_free=1G sleep 9")
    shell("qsub -b y -N bad -q all.q@h3 sleep 9")
    shell("qsub -b y -N ends sleep 9")
    cell.cycle()
    cell.state.task(1, 1).usage = Usage(cpu=1.5, mem=0.5, io=0.1, vmem=4096.0, maxvmem=8192.0)
    cell.end(4, failed=28, reason="no directory")
    cell.end(5, exit_status=3)
    shell("qsub -h -b y -N held -hold_jid one -a 203001010101 -ckpt ck -c 0:10:00 -P p1 -v A=1,B -ac x=y -m be -r y true")
    shell("qsub -h -b y -N waits -t 1-9:2 -binding linear:1 -o h1:/o true")
    return shell


@pytest.mark.parametrize("options", ["", "-u '*' -s prsz", "-ext -urg -pri", "-r", "-f", "-F", "-f -explain aAcE", "-g d", "-t"])
def test_qstat(busy: Shell, options: str) -> None:
    busy.as_root("qmod -d all.q@h2")
    data = data_of("qstat", busy, f"qstat {options} -json")
    assert {job["name"] for job in data["jobs"]} >= {"one", "arr", "par", "bad", "held", "waits"}
    assert ("queue_instances" in data) == ("-f" in options or "-F" in options)


def test_numbers_and_names_of_qstat(busy: Shell, cell: Cell) -> None:
    jobs = {job["name"]: job for job in data_of("qstat", busy, "qstat -json -r -ext -s prsz")["jobs"]}
    assert (jobs["one"]["start_time_s"], jobs["one"]["submit_time_s"]) == (cell.now, None)
    assert jobs["one"]["requests"]["hard"] == [{"name": "h_rt", "value": "3600", "urgency": 0.0}]
    assert jobs["one"]["shares"]["cpu_s"] == 1.5
    assert jobs["par"]["granted"] == [{"queue_instance": "all.q@h3", "slots": 3}]
    assert (jobs["waits"]["tasks"], jobs["waits"]["phase"], jobs["waits"]["state"]) == ("1-9:2", "pending", "hqw")
    assert jobs["ends"]["phase"] == "finished"


def test_no_jobs_is_an_empty_list(shell: Shell) -> None:
    assert data_of("qstat", shell, "qstat -json") == {"jobs": []}
    assert shell("qstat -q nosuch -json").status == 1


def test_cluster_queues(busy: Shell) -> None:
    (queue,) = data_of("qstat", busy, "qstat -g c -ext -json")["cluster_queues"]
    assert (queue["name"], queue["slots_total"], queue["slots_used"]) == ("all.q", 12, 7)


def test_everything_about_jobs(busy: Shell) -> None:
    data = data_of("qstat-j", busy, "qstat -j '*' -json")
    jobs = {job["name"]: job for job in data["jobs"]}
    assert jobs["one"]["tasks"][0]["usage"]["maxvmem_bytes"] == 8192
    assert "no directory" in jobs["bad"]["tasks"][0]["error"]
    assert (jobs["held"]["checkpoint_when"], jobs["held"]["checkpoint_interval_s"]) == ("msx", 600)
    assert jobs["held"]["holds"] == {"user": "1"}
    assert jobs["waits"]["array"] == {"first": 1, "last": 9, "step": 2}
    assert [reason["job_ids"] for reason in data_of("qstat-j", busy, "qstat -j -json")["reasons"]]
    outcome = busy("qstat -j 99 -json")
    assert valid("qstat-j", outcome.out) == {"jobs": [], "unknown": ["99"]}


@pytest.mark.parametrize("options", ["", "-q -j", "-F", "-l arch=lx-amd64", "-q -F slots,arch"])
def test_qhost(busy: Shell, options: str) -> None:
    hosts = {host["name"]: host for host in data_of("qhost", busy, f"qhost {options} -json")["hosts"]}
    assert ("global" in hosts) == ("-l" not in options)
    assert hosts["h1"]["num_proc"] == 4
    if "-j" in options:
        assert [job["name"] for job in hosts["h2"]["jobs"]] == ["arr"] * 3
        assert hosts["h3"]["queue_instances"][0]["slots_used"] == 3


def test_qselect(shell: Shell) -> None:
    assert data_of("qselect", shell, "qselect -q '*@h[12]' -json") == {"queue_instances": ["all.q@h1", "all.q@h2"]}
    outcome = shell("qselect -q nosuch -json")
    assert (valid("qselect", outcome.out), outcome.status) == ({"queue_instances": []}, 1)


def test_qacct(busy: Shell) -> None:
    (record,) = data_of("qacct", busy, "qacct -j ends -json")["records"]
    assert (record["job_id"], record["task_id"], record["exit_status"], record["cpu_s"]) == (5, None, 3, 0.5)
    (total,) = data_of("qacct", busy, "qacct -o alice -slots -json")["totals"]
    assert (total["owner"], total["slots"], total["wallclock_s"]) == ("alice", 1, 2.0)
    assert data_of("qacct", busy, "qacct -json")["totals"][0].keys() >= {"wallclock_s", "iow_s"}


def test_qexplain(busy: Shell) -> None:
    data = data_of("qexplain", busy, "qexplain -json '*'")
    kinds = {job["name"]: [cause["kind"] for cause in job["causes"]] for job in data["jobs"]}
    assert kinds["held"][:3] == ["hold", "dependency", "start_time"]
    assert kinds["one"] == []


def test_qexplain_story(busy: Shell) -> None:
    (one,) = data_of("qexplain-story", busy, "qexplain -story -json 5")["jobs"]
    assert one["job_id"] == 5 and not one["cut"]
    assert [line["event"] for line in one["events"]] == ["JobSubmitted", "TaskDispatched", "TaskStarted", "TaskEnded"]
    assert one["events"][0]["cause"] == "by alice@h1"


def test_qrstat(shell: Shell) -> None:
    shell.as_root("qconf -au alice arusers")
    shell("qrsub -d 100 -N mine -l h_rt=0:1:0")
    (one,) = data_of("qrstat", shell, "qrstat -json")["reservations"]
    assert (one["name"], one["end_time_s"] - one["start_time_s"]) == ("mine", 100)


def test_qconf(shell: Shell, cell: Cell) -> None:
    names = ("sq all.q", "sql", "sel", "se h1", "sc", "ssconf", "sconf", "spl", "sp mpi", "ss", "sh", "sm", "shgrpl")
    data = data_of("qconf", shell, "qconf -json " + " ".join(f"-{name}" for name in names))
    assert len(data["shown"]) == len(names)
    assert data["shown"][0]["objects"][0]["attributes"]["qname"] == "all.q"
    assert data["shown"][2]["names"] == ["h1", "h2", "h3"]
    assert data_of("qconf", shell, "qconf -shgrp_resolved @allhosts -json")["shown"][0]["names"] == ["h1", "h2", "h3"]
    cell.add("share_tree", "share_tree")
    for options in ("-sstnode /", "-secl", "-sprjl", "-sq 'all.q@h*'", "-sq"):
        data_of("qconf", shell, f"qconf {options} -json")
    outcome = shell("qconf -json -dq all.q")
    assert (outcome.status, "goes with options that show" in outcome.err) == (1, True)
    assert shell("qconf -sql").out == "all.q\n"


def test_groups_share_tree_scheduler_and_detached_settings(shell: Shell, cell: Cell) -> None:
    nothing = shell("qconf -sstree -json")
    assert (nothing.out, nothing.status) == ('{"shown":[{"kind":"share_tree","objects":[]}]}\n', 1)
    cell.add("share_tree", "share_tree")
    cell.add("host_group", "@most", hostlist="@allhosts h9")
    tree, hosts, stree, clients, scheduler, none = data_of(
        "qconf", shell, "qconf -shgrp_tree @most -shgrp_resolved @most -sstree -secl -sss -sds -json"
    )["shown"]
    inner = {"name": "@allhosts", "members": [{"name": "h1"}, {"name": "h2"}, {"name": "h3"}]}
    assert tree == {"kind": "host_group", "tree": {"name": "@most", "members": [inner, {"name": "h9"}]}}
    assert hosts["names"] == ["h9", "h1", "h2", "h3"]
    assert stree["objects"][0]["attributes"]
    assert (clients["event_clients"][0]["name"], scheduler["host"]) == ("scheduler", "master")
    assert none == {"kind": "cluster_queue", "detached": []}
    assert shell("qconf -shgrp_tree @nosuch -json").status == 1
    cell.configure("cluster_queue", "all.q", seq_no="0,[@most=3],[h9=4]", hostlist="h1")
    found = shell("qconf -sds -json")
    (entry,) = valid("qconf", found.out)["shown"]
    assert (found.status, found.err) == (shell("qconf -sds").status, "")
    assert {(each["attribute"], each["identifier"]) for each in entry["detached"]} >= {("seq_no", "h9")}


def test_qquota(shell: Shell, cell: Cell) -> None:
    assert data_of("qquota", shell, "qquota -json") == {"limits": []}
    rule = "limit users {*} hosts !h2 to slots=5,h_rt=3600"
    (shell.cwd / "set").write_text(f"{{\n name one\n description NONE\n enabled TRUE\n {rule}\n}}\n")
    assert shell.as_root("qconf -Arqs set").status == 0
    cell.submit("alice", hard=["h=h1"])
    cell.cycle()
    used, plain = data_of("qquota", shell, "qquota -json")["limits"]
    assert (used["rule"], used["resource"], used["limit"], used["used"]) == ("one/1", "slots", "5", "1")
    assert used["filters"][0] == {"scope": "users", "expanded": False, "included": ["alice"], "excluded": []}
    assert (plain["resource"], plain["used"]) == ("h_rt", None)
    assert {"scope": "hosts", "expanded": False, "included": [], "excluded": ["h2"]} in plain["filters"]


def test_qevent(shell: Shell, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def stream(name: str, body: object) -> Any:
        yield {"id": 11}
        yield {"number": 1, "type": "JOB", "action": "LIST", "name": "", "data": []}
        yield {"number": 2, "type": "JOB", "action": "ADD", "name": "1", "data": {"job_id": 1}}
        yield {"end": "shut down"}

    monkeypatch.setattr(gdi, "stream", stream)
    assert shell("qevent -sm -json").status == 1
    with pytest.raises(Exception, match="1"):
        qevent.qevent(["-sm", "-json"])
    lines = capsys.readouterr().out.splitlines()
    assert [valid("qevent", line)["action"] for line in lines] == ["LIST", "ADD"]
    assert shell("qevent -json -trigger JB_END /bin/true").status == 1
