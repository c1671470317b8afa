"""`make fuzz-api EXAMPLES= SEED=`: schemathesis on the REST API of a demo cell, as a user and as a manager.

Defines a finding: a server error, a status, content type or body that the document lacks, a method that is not refused. Exit
status 1 if there is a finding; the requests that repeat it are printed. Source: docs/api.md.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import time
from collections import Counter

from tests.fuzz.__main__ import tracebacks
from tests.integration.cells import BIN, DemoCell
from tools.launchers import write_launchers

CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance,unsupported_method"
LEFT_OUT = ("/api/v1/events", "/api/v1/requests/shutdown")
"""A stream without an end, and the end of the cell."""
NOBODY: dict[str, object] = {"user": "nobody", "group": "nogroup", "extra_groups": []}


def main() -> int:
    parser = argparse.ArgumentParser(prog="make fuzz-api")
    parser.add_argument("program", help="schemathesis")
    parser.add_argument("--examples", type=int, default=100, help="of each operation")
    parser.add_argument("--seed", type=int, default=0, help="0: another one every time")
    options = parser.parse_args()
    seed = options.seed or int(time.time())
    write_launchers(BIN, sys.executable)
    cell = DemoCell()
    try:
        cell.start()
        users: list[dict[str, object]] = [NOBODY, {}] if os.geteuid() == 0 else [{}]
        with cell.web_server() as port:
            found = sum(_played(cell, options.program, port, options.examples, seed, user) for user in users)
        return 1 if found + tracebacks(cell.place / "spool") else 0
    finally:
        cell.remove()


def _played(cell: DemoCell, program: str, port: int, examples: int, seed: int, user: dict[str, object]) -> int:
    """1 if anything was found."""
    token = cell.command("gridengine", "web", "--token", **user).stdout.strip()
    command = [os.path.abspath(program), "run", f"http://localhost:{port}/api/v1/openapi.json", "--phases", "coverage,fuzzing"]
    command += ["--max-examples", str(examples), "--seed", str(seed), "--checks", CHECKS, "--continue-on-failure"]
    command += ["--header", f"Authorization: Bearer {token}", "--warnings", "off", "--report", "ndjson"]
    command += ["--report-ndjson-path", str(cell.work / "played.ndjson")]
    for path in LEFT_OUT:
        command += ["--exclude-path", path]
    print(f"as {user.get('user', 'a manager')}, seed {seed}:", flush=True)
    found = int(subprocess.run(command, cwd=cell.work).returncode != 0)
    statuses = Counter(re.findall(r'"status_code": ?(\d+)', (cell.work / "played.ndjson").read_text()))
    print("answers by status:", ", ".join(f"{status}: {count}" for status, count in sorted(statuses.items())), flush=True)
    return found


if __name__ == "__main__":
    sys.exit(main())
