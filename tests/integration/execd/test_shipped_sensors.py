"""The load sensors that are shipped: each answers, also where it finds nothing."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.integration.cells import PATIENCE_S

SENSORS = Path(__file__).parents[3] / "cluster-config" / "sensors"


def ask(name: str, **environment: str) -> list[str]:
    """The lines of two answers; the second must be as long as the first."""
    outcome = subprocess.run(
        [SENSORS / name],
        input="\n\nquit\n\n",
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=True,
        env={"PATH": os.environ["PATH"], "SGE_HOST": "h1", **environment},
    )
    assert outcome.stderr == ""
    first, second = [part.split("\n")[1:-1] for part in outcome.stdout.split("end\n")[:-1]]
    assert [line.rpartition(":")[0] for line in first] == [line.rpartition(":")[0] for line in second]
    return first


@pytest.mark.statement("LS-2")
def test_scratch_space(tmp_path: Path) -> None:
    [line] = ask("scratch_space", SCRATCH=str(tmp_path))
    assert line.startswith("h1:scratch_free:") and line.endswith("K") and int(line[16:-1]) > 0
    assert ask("scratch_space", SCRATCH=str(tmp_path / "none")) == []


@pytest.mark.statement("LS-3")
def test_licences(tmp_path: Path) -> None:
    file = tmp_path / "licences"
    file.write_text("matlab 10 7\nansys 2 5\n# comment here\n")
    assert ask("licences", LICENCES=str(file)) == ["global:matlab:3", "global:ansys:0"]
    assert ask("licences", LICENCES=str(tmp_path / "none")) == []


@pytest.mark.statement("LS-2")
def test_gpus(tmp_path: Path) -> None:
    file = tmp_path / "gpus"
    file.write_text("0, NVIDIA A100, 40000, 0\n1, NVIDIA A100, 1000, 98\n2, NVIDIA A100, 39000, 3\n")
    expected = ["h1:gpu_total:3", "h1:gpu_free:2", "h1:gpu_model:NVIDIA_A100", "h1:gpu_mem_free:40000M"]
    assert ask("gpus", GPUS=str(file)) == expected
    assert ask("gpus", GPUS=str(tmp_path / "none")) == []


@pytest.mark.statement("LS-2")
def test_temperature(tmp_path: Path) -> None:
    assert ask("temperature", ZONES=str(tmp_path)) == []
    for number, degrees in enumerate((42000, 61500)):
        (tmp_path / f"thermal_zone{number}").mkdir()
        (tmp_path / f"thermal_zone{number}/temp").write_text(f"{degrees}\n")
    assert ask("temperature", ZONES=str(tmp_path)) == ["h1:temperature:61"]


@pytest.mark.statement("LS-2")
def test_nfs_mounts(tmp_path: Path) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text(f"server:/a {tmp_path} nfs4 rw 0 0\n/dev/sda /none ext4 rw 0 0\n")
    assert ask("nfs_mounts", MOUNTS=str(mounts)) == ["h1:nfs_ok:1"]
    mounts.write_text("server:/a /none/such nfs rw 0 0\n")
    assert ask("nfs_mounts", MOUNTS=str(mounts)) == ["h1:nfs_ok:0"]


@pytest.mark.statement("LS-2")
def test_network_traffic() -> None:
    """Of the time between two reports, so the first has no value."""
    script = f"(echo; sleep 0.1; echo; echo quit) | SGE_HOST=h1 {SENSORS / 'network_traffic'}"
    output = subprocess.run(["sh", "-c", script], stdout=subprocess.PIPE, text=True, timeout=PATIENCE_S, check=True).stdout
    first, second, _ = output.split("end\n")
    assert first == "begin\n"
    assert [line.rpartition(":")[0] for line in second.splitlines()[1:]] == ["h1:net_in", "h1:net_out"]
