"""The command lines of docs/api.md for the REST API are typed unchanged, in their order, in one shell."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator

import pytest

from tests.integration.cells import ROOT, DemoCell
from tests.integration.debian import need

USUAL = "http://localhost:8646"


def lines() -> list[str]:
    """The command lines of a page, each with its continuation lines."""
    page = (ROOT / "docs/api.md").read_text().partition("## Worked examples")[0]
    apart = re.findall(r"^ {4,6}(\S.*(?:(?<=\\)\n.*)*)", page, re.MULTILINE)
    return [line for line in apart if line.startswith(("curl ", "TOKEN=", "ETAG="))]


@pytest.fixture
def shell(demo_cell: DemoCell, server: tuple[str, str]) -> Iterator[subprocess.Popen[str]]:
    """A shell of a user of the demo cell, whose input are command lines."""
    need("curl")
    need("uuidgen")
    pipe = subprocess.PIPE
    environment = {**demo_cell.environment, "USER": "root", "no_proxy": "*"}
    process = subprocess.Popen(["bash"], stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, env=environment, text=True)
    yield process
    process.communicate()


def typed(shell: subprocess.Popen[str], line: str, url: str) -> str:
    """The output of a line."""
    assert shell.stdin is not None and shell.stdout is not None
    shell.stdin.write(f"{line.replace(USUAL, url)}\necho; echo ' end'\n")
    shell.stdin.flush()
    return "".join(iter(shell.stdout.readline, " end\n")).strip()


@pytest.mark.statement("DM-5")
def test_each_line_has_the_documented_effect(shell: subprocess.Popen[str], server: tuple[str, str]) -> None:
    token, listed, submitted, tagged, put, events = lines()
    assert USUAL in listed and typed(shell, token, server[0]) == ""
    assert set(json.loads(typed(shell, listed, server[0]))) == {"items", "total"}
    job = json.loads(typed(shell, submitted, server[0]))["data"]
    assert job["job_id"] > 0 and job["name"] == "true"
    assert typed(shell, tagged, server[0]) == "" and re.fullmatch(r'"[^"]+"', typed(shell, 'echo "$ETAG"', server[0]))
    assert "@allhosts" in json.loads(typed(shell, put, server[0]))["answers"][0][1]
    streamed = typed(shell, f"sed '/^event: here/q' < <({events})", server[0])  # which goes on for ever
    assert streamed.splitlines()[-1] == "event: here"
