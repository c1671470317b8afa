"""GPUs of a machine, by the files of its kernel."""

from __future__ import annotations

from pathlib import Path

import pytest

from clients.admin.gpu_count import count_gpus


@pytest.fixture(autouse=True)
def without_nvidias_program(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_arguments: object, **_options: object) -> None:
        raise FileNotFoundError("nvidia-smi")

    monkeypatch.setattr("subprocess.run", missing)


def amd(drm: Path, name: str, vendor: str) -> None:
    (drm / name / "device").mkdir(parents=True)
    (drm / name / "device" / "vendor").write_text(f"{vendor}\n")


def test_devices_of_nvidia_are_counted_and_not_what_lies_beside_them(tmp_path: Path) -> None:
    for name in ("nvidia0", "nvidia1", "nvidiactl", "nvidia-uvm", "null"):
        (tmp_path / name).touch()
    assert count_gpus(tmp_path, tmp_path) == 2
    assert count_gpus(tmp_path / "none", tmp_path / "none") == 0


def test_gpus_of_amd_count_only_with_the_compute_driver(tmp_path: Path) -> None:
    dev, drm = tmp_path / "dev", tmp_path / "drm"
    dev.mkdir()
    amd(drm, "renderD128", "0x1002")
    amd(drm, "renderD129", "0x1002")
    amd(drm, "renderD130", "0x8086")
    amd(drm, "card0", "0x1002")
    assert count_gpus(dev, drm) == 0, "graphics alone"
    (dev / "kfd").touch()
    assert count_gpus(dev, drm) == 2
