"""DeviceNumber files lead to the device that root meant (adr/0350)."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from gridengine.files.device_files import DeviceFileError, DeviceNumber, device_at, devices_at


def test_a_device_file_has_its_numbers() -> None:
    assert device_at("/dev/null") == DeviceNumber("c", 1, 3)
    assert devices_at(["/dev/null", "/dev/nothing"]) == ({DeviceNumber("c", 1, 3)}, ["/dev/nothing: No such file or directory"])


def test_no_other_file_and_no_link_is_a_device_file() -> None:
    for path, reason in (("/etc/passwd", "is no device file"), ("/proc/self/exe", ""), ("/dev/stdin", "is a symbolic link")):
        with pytest.raises(DeviceFileError, match=f"{path}.*{reason}"):
            device_at(path)


def test_a_directory_in_which_users_make_files_is_not_trusted(tmp_path: Path) -> None:
    path = tmp_path / "gpu"
    try:
        os.mknod(path, 0o666 | stat.S_IFCHR, os.makedev(1, 3))
    except PermissionError:
        path.touch()
    with pytest.raises(DeviceFileError, match="others than root may change the directory tmp"):
        device_at(f"/tmp/{path.name}")
