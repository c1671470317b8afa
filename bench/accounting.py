"""Duration of qacct in a cell with the accounting records of years: medians of whole commands in ms, as JSON.

    accounting.py CELL.env [--records 10000000] [--times 5]
    accounting.py --fill SPOOL.db --records N

An env file as `make cell` writes it; its qmaster is stopped while N records are put into its spool. Exit status 1 if the record
of a job takes longer than the limit of 50 ms. `qstat_calm`, `qstat_beside`: qstat alone, and while another user requests sums of
all records. Called by `make bench-accounting`.
"""

from __future__ import annotations

import argparse
import json
import shlex
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

RECORD_MS = 50.0
_BATCH = 50_000
_PATIENCE_S = 120.0
_CLOCK = 'a=$(date +%s%N); {command} >/dev/null; s=$?; b=$(date +%s%N); echo "$s $(( (b-a)/1000 ))"'
_PERIOD_S = 31_536_000 * 3


def fill(spool: Path, count: int) -> None:
    """Put records of tasks that ended in the last three years into the spool of a qmaster that does not run."""
    import apsw

    from daemons.qmaster.spooling import spool_file
    from daemons.qmaster.spooling.accounting_table import AccountingTable
    from daemons.qmaster.spooling.followed_file import AccountingRows
    from gridengine.usage.accounting import FIELDS, AccountingRecord

    db = apsw.Connection(str(spool))
    table = AccountingTable(db)
    usual = dict.fromkeys(FIELDS, "0") | {
        **dict.fromkeys(("project", "granted_pe", "category", "pe_taskid"), "NONE"),
        "qname": "all.q", "group": "users", "account": "sge", "department": "defaultdepartment",
        "ru_utime": "0.005161", "ru_stime": "0.002799", "ru_maxrss": "4980.000000", "cpu": "0.007960",
        "ru_minflt": "474", "ru_nvcsw": "10", "ru_nivcsw": "20", "maxvmem": "3661824.000000", "slots": "1",
    }
    begin = int(time.time()) - _PERIOD_S

    def record(number: int) -> AccountingRecord:
        end = begin + number * _PERIOD_S // count
        fields = usual | {
            "hostname": f"node{number % 200:03}",
            "owner": f"user{number % 97}" if number % 50 else "alice",
            "job_name": f"job{number % 1000}",
            "job_number": str(number),
            "submission_time": str(end - 300),
            "start_time": str(end - 200),
            "end_time": str(end),
            "ru_wallclock": "200",
        }
        return AccountingRecord(fields.values())

    for first in range(1, count + 1, _BATCH):
        with db:
            table.add((number, 1, record(number)) for number in range(first, min(first + _BATCH, count + 1)))
    # the accounting file is taken to have them
    spool_file.remember(db, AccountingRows.key, f"{table.last()} 0 0")
    db.close()


class Cell:
    """A cell that an env file describes."""

    def __init__(self, env: Path) -> None:
        names = ("MGR", "ALICE", "BOB", "START_QMASTER")
        script = f'. {shlex.quote(str(env))} && printf "%s\\n" ' + " ".join(f'"${name}"' for name in names)
        found = subprocess.run(["bash", "-c", script], check=True, capture_output=True, text=True).stdout.splitlines()
        self.settings = dict(zip(names, found, strict=True))

    def run(self, user: str, script: str) -> str:
        """Output of a shell script, run as a user of the env file. Raises CalledProcessError."""
        command = [*shlex.split(self.settings[user]), "bash", "-c", script]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    def ms(self, command: str, times: int, user: str = "ALICE") -> float:
        """The median time of a command."""
        script = f"for i in $(seq {times}); do {_CLOCK.format(command=command)}; done"
        taken = [line.split() for line in self.run(user, script).splitlines()]
        if any(status != "0" for status, _ in taken):
            raise SystemExit(f"{command} failed")
        return round(statistics.median(int(each) for _, each in taken) / 1000, 1)

    def refill(self, count: int) -> None:
        """Stop the qmaster, put the records into its spool, start it again."""
        spool = self.run("MGR", "sed -n 's/^qmaster_spool_dir *//p' $SGE_ROOT/$SGE_CELL/common/bootstrap").strip()
        self.run("MGR", "qconf -km")
        self._until(f"! test -s {spool}/qmaster.pid")
        program = [sys.executable, str(Path(__file__).resolve()), "--fill", f"{spool}/spool.db", "--records", str(count)]
        self.run("MGR", f"cd {Path(__file__).resolve().parent.parent} && PYTHONPATH=. {shlex.join(program)}")
        subprocess.run(shlex.split(self.settings["START_QMASTER"]), check=True, capture_output=True)
        self._until("qstat")

    def _until(self, script: str) -> None:
        end = time.monotonic() + _PATIENCE_S
        while subprocess.run([*shlex.split(self.settings["MGR"]), "bash", "-c", script], capture_output=True).returncode:
            if time.monotonic() > end:
                raise SystemExit(f"in vain: {script}")
            time.sleep(1.0)


def measured(cell: Cell, records: int, times: int) -> dict[str, Any]:
    """Medians in ms."""
    asked = {
        "job": f"qacct -j {records // 2}",
        "job_json": f"qacct -j {records // 2} -json",
        "alice": "qacct -o alice",
        "day": "qacct -d 1 -o",
        "all": "qacct",
    }
    found: dict[str, Any] = {name: cell.ms(command, times if "job" in name else 3) for name, command in asked.items()}
    found["qstat_calm"] = cell.ms("qstat", 20)
    summing = subprocess.Popen([*shlex.split(cell.settings["BOB"]), "qacct"], stdout=subprocess.DEVNULL)
    found["qstat_beside"] = cell.ms("qstat", 20)
    summing.wait()
    return found


def main() -> int:
    """Fill a spool, or measure a cell."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("env", nargs="?", type=Path)
    parser.add_argument("--fill", type=Path)
    parser.add_argument("--records", type=int, default=10_000_000)
    parser.add_argument("--times", type=int, default=21)
    asked = parser.parse_args()
    if asked.fill:
        fill(asked.fill, asked.records)
        return 0
    if not asked.env:
        parser.error("an env file is needed")
    cell = Cell(asked.env)
    cell.refill(asked.records)
    found = measured(cell, asked.records, asked.times)
    print(json.dumps({"records": asked.records, **found}, indent=1))
    return int(found["job"] > RECORD_MS)


if __name__ == "__main__":
    sys.exit(main())
