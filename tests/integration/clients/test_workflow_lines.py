"""The lines by which workflow systems submit, watch and delete jobs, as their sources have them; most are not run here.

The tests read the same parts of an answer as the workflow systems, in the same way. The answers were compared with 8.1.9.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.integration.cells import DemoCell, Done, eventually, run

NEXTFLOW = """\
#!/bin/bash
#$ -N nf-hello_1
#$ -o {work}/.command.log
#$ -j y
#$ -terse
#$ -notify
#$ -q all.q
#$ -pe smp 1
#$ -l h_rt=00:10:00,h_rss=1024M
{command}
"""
AIIDA = """\
#!/bin/bash
#$ -wd {work}
#$ -S /bin/sh
#$ -r no
#$ -m n
#$ -N aiida-7
#$ -V
#$ -o _scheduler-stdout.txt
#$ -e _scheduler-stderr.txt
#$ -pe smp 2
#$ -l h_rt=00:30:00
{command}
"""


class Lines:
    """Types lines in a shell of the cell, in a directory of its own."""

    def __init__(self, cell: DemoCell, work: Path) -> None:
        self.cell, self.work = cell, work
        self.user = run(["id", "-un"]).stdout.strip()

    def __call__(self, line: str) -> Done:
        environment = {**self.cell.environment, "USER": self.user}
        return run(["bash", "-c", line], env=environment, cwd=self.work)

    def must(self, line: str) -> str:
        done = self(line)
        assert (done.returncode, done.stderr) == (0, ""), f"{line}: {done}"
        return done.stdout

    def script(self, name: str, text: str, command: str) -> str:
        (self.work / name).write_text(text.format(work=self.work, command=command))
        return name

    def state(self, job: str) -> str:
        """As Luigi, Parsl and dpdispatcher read it; "" of a job that is over."""
        rows = [line.split() for line in self.must("qstat").splitlines()[2:]]
        return next((row[4] for row in rows if row[0] == job), "")


@pytest.fixture
def lines(demo_cell: DemoCell, tmp_path: Path) -> Iterator[Lines]:
    typed = Lines(demo_cell, tmp_path)
    try:
        yield typed
    finally:
        demo_cell.command("qdel", "-u", typed.user)
        eventually("no job is left", lambda: demo_cell.must("qstat") == "")


@pytest.mark.statement("ST-1", "SO-1")
def test_nextflow(lines: Lines) -> None:
    first, second = (lines.must(f"qsub -terse {lines.script('.command.run', NEXTFLOW, 'sleep 600')}") for _ in range(2))
    assert first.strip().isdigit()
    eventually("both run", lambda: lines.state(first.strip()) == lines.state(second.strip()) == "r")
    listing = lines.must(f"qstat -u {lines.user}").splitlines()
    assert {line.split()[0]: line.split()[4] for line in listing[2:]} == {first.strip(): "r", second.strip(): "r"}
    deleted = lines.must(f"qdel {first.strip()} {second.strip()}").splitlines()
    assert deleted == [f"{lines.user} has registered the job {job.strip()} for deletion" for job in (first, second)]


@pytest.mark.statement("ST-18", "QA-7")
def test_toil_asks_qacct_as_soon_as_qstat_knows_nothing(lines: Lines) -> None:
    options = "-V -b y -terse -j y -cwd -N toil_job_1 -v A=1,B='x y' -hard -l vf=1000K,h_vmem=2000000K"
    files = f"-o '{lines.work}/$JOB_ID.out' -e '{lines.work}/$JOB_ID.err'"
    job = lines.must(f"qsub {options} {files} sh -c 'echo $B; exit 3'").strip()
    asked: list[Done] = []

    def over() -> bool:
        asked.append(lines(f"qstat -j {job}"))
        return asked[-1].returncode != 0

    eventually("it is over", over)
    assert "Following jobs do not exist" in asked[-1].stderr
    fields = dict(line.split()[:2] for line in lines.must(f"qacct -j {job}").splitlines() if len(line.split()) > 1)
    assert (fields["failed"], fields["exit_status"]) == ("0", "3")
    assert (lines.work / f"{job}.out").read_text() == "x y\n"
    assert "exit_status  3 " in lines.must(f"qacct -o {lines.user} -j {job}"), "as Nipype asks"


@pytest.mark.statement("ST-28")
def test_aiida_nipype_reframe_and_gwf_read_xml(lines: Lines) -> None:
    running = lines.must(f"qsub -terse {lines.script('_aiidasubmit.sh', AIIDA, 'sleep 600')}").strip()
    done = lines(f"qsub -h -o {lines.work}/out -e {lines.work}/err _aiidasubmit.sh")
    found = re.search(r"^Your job (?P<jobid>\S+)", done.stdout)
    assert found is not None, "as ReFrame looks for it"
    held = found["jobid"]
    eventually("it runs", lambda: lines.state(running) == "r")
    of_user = f"qstat -u {lines.user} -xml"
    for line in ("qstat -ext -urg -xml -u '*'", of_user, "qstat -f -xml", f"{of_user} -s psr"):
        root = ElementTree.fromstring(lines.must(line))
        assert [child.tag for child in root] == ["queue_info", "job_info"], line
        states = {job.findtext("JB_job_number"): (job.get("state"), job.findtext("state")) for job in root.iter("job_list")}
        assert states == {running: ("running", "r"), held: ("pending", "hqw")}, line
        (started,) = root.iter("JAT_start_time")
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", started.text or "")
    lines.must(f"qdel {running} {held}")
    eventually("it is over", lambda: lines.state(running) == "")
    over = ElementTree.fromstring(lines.must(f"{of_user} -s z"))
    assert running in [job.findtext("JB_job_number") for job in over.iter("job_list") if job.get("state") == "zombie"]


@pytest.mark.statement("SO-1", "SO-12")
def test_luigi_and_cromwell(lines: Lines) -> None:
    files = f'-o ":{lines.work}/job.out" -e ":{lines.work}/job.err"'
    output = lines.must(f"echo 'echo from luigi' | qsub {files} -V -r y -pe smp 1 -N Square")
    job = str(int(output.split()[2]))
    eventually("it is over", lambda: lines.state(job) == "")
    assert (lines.work / "job.out").read_text() == "from luigi\n" and (lines.work / "job.err").read_text() == ""
    (lines.work / "script").write_text("exit 4\n")
    files = f"-o {lines.work}/stdout -e {lines.work}/stderr"
    job = lines.must(f"qsub -terse -V -b y -N cromwell_1_x -wd {lines.work} {files} /usr/bin/env bash script").strip()
    eventually("it is not alive", lambda: lines(f"qstat -j {job}").returncode == 1)
    assert "\nexit_status  4 " in lines.must(f"qacct -j {job}")


@pytest.mark.statement("ST-25")
def test_batchtools_lists_what_runs_and_what_waits(lines: Lines) -> None:
    template = "#!/bin/bash\n#$ -N job1\n#$ -j y\n#$ -o {work}/log\n#$ -cwd\n#$ -V\n#$ -q all.q\n{command}\n"
    output = [lines.must(f"qsub {option} {lines.script('job.job', template, 'sleep 600')}") for option in ("", "-h")]
    running, waiting = (re.search(r"\d+", text)[0] for text in output)  # type: ignore[index]
    eventually("it runs", lambda: lines.state(running) == "r")
    for states, job in (("rs", running), ("p", waiting)):
        assert re.findall(r"(?m)^\s*(\d+)", lines.must(f"qstat -u $USER -s {states}")) == [job]
    lines.must(f"qdel {running}")
    lines.must(f"qdel {waiting}")
