"""Load values of a sensor, from the script on the exec host to the start of jobs that asked for them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.integration.cells import DemoCell, eventually
from tests.integration.test_remote_methods import configure

#: Says what the file `values` holds. What differs from its first answer it notes before it says it, for jobs to see, and says
#: it once: it goes on when both jobs have run.
SENSOR = """#!/bin/sh
cd {work}
while read line; do
    [ "$line" = quit ] && exit 0
    said=$(cat values)
    first=${{first:-$said}}
    [ "$said" = "$first" ] || echo changed >> told
    printf 'begin\\n%s\\nend\\n' "$said"
    while [ "$said" != "$first" ] && ! [ -e seen.number -a -e seen.word ]; do sleep 0.1; done
done
"""
ATTRIBUTES = ("mylicence mylicence INT <= YES NO 0 0", "edition edition RESTRING == YES NO NONE 0")


@pytest.fixture
def sensed_cell(demo_cell: DemoCell) -> Iterator[DemoCell]:
    """The cell with the attributes `mylicence` (INT) and `edition` (RESTRING) and a sensor that reports both."""
    cell = demo_cell
    table, attributes, sensor = cell.must("qconf", "-sc"), cell.work / "attributes", cell.work / "sensor"
    attributes.write_text("\n".join([table, *ATTRIBUTES]) + "\n")
    cell.must("qconf", "-Mc", str(attributes))
    say(cell, 0, "old")
    sensor.write_text(SENSOR.format(work=cell.work))
    sensor.chmod(0o755)
    lines = (line.split() for line in cell.must("qconf", "-sconf").splitlines())
    before = next(fields[1] for fields in lines if fields[0] == "load_report_time")
    configure(cell, "load_report_time", "0:0:1")
    configure(cell, "load_sensor", str(sensor))
    yield cell
    cell.command("qdel", "-u", "*")
    eventually("no job requests the attributes", lambda: cell.must("qstat", "-u", "*") == "")
    configure(cell, "load_sensor", "none")
    configure(cell, "load_report_time", before)
    attributes.write_text(table)
    cell.must("qconf", "-Mc", str(attributes))


def say(cell: DemoCell, number: int, text: str) -> None:
    new = cell.work / "values.new"
    new.write_text(f"{cell.host}:mylicence:{number}\n{cell.host}:edition:{text}\n")
    new.rename(cell.work / "values")


@pytest.mark.statement("LS-2", "CX-24", "CX-53", "CX-64")
def test_the_first_report_of_changed_values_starts_the_jobs_that_wait_for_them(sensed_cell: DemoCell) -> None:
    cell = sensed_cell
    submit = ("qsub", "-terse", "-cwd", "-o", "/dev/null", "-j", "y", "-b", "y")
    jobs = {
        name: cell.must(*submit, "-l", requests, "sh", "-c", f"cp told {name}.part && mv {name}.part seen.{name}").strip()
        for name, requests in (("number", "mylicence=1"), ("word", "edition=new|newer"))
    }
    for name, refused in (("number", "hl:mylicence=0"), ("word", "hl:edition=old")):
        eventually(f"{refused} keeps the job", lambda j=jobs[name], r=refused: r in cell.must("qstat", "-j", j))
    say(cell, 1, "newer")
    for name in jobs:
        seen = cell.work / f"seen.{name}"
        eventually(f"{name}: the job has run", lambda path=seen: path.exists() and path.read_text())
        assert seen.read_text() == "changed\n", "the sensor had said it once"
