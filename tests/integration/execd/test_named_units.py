"""Named units of a resource with the real commands and real jobs: qconf, the job's environment, qstat, qhost, qexplain, qacct."""

from __future__ import annotations

import json

from tests.integration.cells import DemoCell, eventually


def test_jobs_have_units_of_their_own_that_every_command_names(demo_cell: DemoCell) -> None:
    work, must, host = demo_cell.work, demo_cell.must, demo_cell.host
    before = must("qconf", "-sc")
    (work / "complexes").write_text(f"{before}mic mic RSMAP <= YES YES 0 0\n")
    (work / "complexes.before").write_text(before)
    jobs: list[str] = []
    try:
        must("qconf", "-Mc", "complexes")
        must("qconf", "-mattr", "exechost", "complex_values", "mic=2(left right)", host)
        assert "mic=2(left right)" in must("qconf", "-se", host)
        script = f'echo "$SGE_HGR_mic" > {work}/mic.$JOB_ID; while [ ! -e {work}/mic.over ]; do sleep 0.1; done\n'
        (work / "mic.sh").write_text(script)
        jobs += [must("qsub", "-terse", "-o", "/dev/null", "-j", "y", "-l", "mic=1", "mic.sh").strip() for _ in range(3)]

        def given() -> list[str]:
            return [path.read_text().strip() for job in jobs if (path := work / f"mic.{job}").exists()]

        eventually("two of three jobs have units", lambda: list(filter(None, given())) == ["left", "right"])
        assert f"mic={host}=(left)" in must("qstat", "-j", jobs[0])
        [task] = json.loads(must("qstat", "-j", jobs[1], "-json"))["jobs"][0]["tasks"]
        assert task["units"] == [{"host": host, "name": "mic", "units": ["right"]}]
        assert "hc:mic=0\n" in must("qhost", "-F", "mic") and "hc:mic=0\n" in must("qstat", "-F", "mic")
        whole = f'host "{host}", mic: 2 of 2 in use (left by job {jobs[0]}, right by job {jobs[1]})'
        assert whole in must("qexplain", jobs[2])
        (work / "mic.over").touch()
        eventually("the third has a unit that came back", lambda: len(list(filter(None, given()))) == 3)
        eventually("none of them is left", lambda: not set(jobs) & set(must("qstat", "-u", "*").split()))
        assert "hc:mic=2(left right)\n" in must("qstat", "-F", "mic")
        assert f"mic={host}=(left)" in must("qacct", "-j", jobs[0])
    finally:
        (work / "mic.over").touch()
        eventually("none of them is left", lambda: not set(jobs) & set(must("qstat", "-u", "*").split()))
        must("qconf", "-dattr", "exechost", "complex_values", "mic", host)
        must("qconf", "-Mc", "complexes.before")
