"""A checkpointing job on a whole cell: saved when it is suspended, and taken up again from its checkpoint."""

from __future__ import annotations

import pytest

from tests.integration.cells import DemoCell, eventually


@pytest.mark.statement("CK-2", "CK-4", "CK-7", "EN-1", "EN-4", "QC-16")
def test_a_suspended_job_goes_on_from_its_checkpoint(demo_cell: DemoCell) -> None:
    work = demo_cell.work
    (work / "job.sh").write_text(
        f"#!/bin/sh\necho $RESTARTED $SGE_CKPT_ENV $SGE_CKPT_DIR >>{work}/began\n"
        f"[ $RESTARTED = 2 ] && exit 0\nwhile :; do sleep 0.2; done\n"
    )
    (work / "migr.sh").write_text("#!/bin/sh\nkill -9 $1\n")
    (work / "migr.sh").chmod(0o755)
    (work / "save").write_text(
        "ckpt_name save\ninterface application-level\nckpt_command none\nrestart_command none\nclean_command none\n"
        f"migr_command {work}/migr.sh $job_pid\nckpt_dir {work}\nsignal none\nwhen x\n"
    )
    demo_cell.must("qconf", "-Ackpt", str(work / "save"))
    demo_cell.must("qconf", "-aattr", "queue", "ckpt_list", "save", "all.q")
    try:
        job = demo_cell.must("qsub", "-terse", "-ckpt", "save", "-o", "/dev/null", "-j", "y", str(work / "job.sh")).strip()
        eventually("it has begun", lambda: (work / "began").exists() and (work / "began").read_text())
        demo_cell.must("qmod", "-sj", job)
        eventually("it is over", lambda: demo_cell.command("qacct", "-j", job).stdout.count("jobnumber") == 2)
    finally:
        demo_cell.must("qconf", "-dattr", "queue", "ckpt_list", "save", "all.q")
        demo_cell.must("qconf", "-dckpt", "save")
    assert (work / "began").read_text().splitlines() == [f"0 save {work}", f"2 save {work}"]
    codes = [line.split()[1] for line in demo_cell.must("qacct", "-j", job).splitlines() if line.startswith("failed ")]
    assert codes == ["24", "0"]
