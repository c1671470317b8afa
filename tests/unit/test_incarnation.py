"""The identity of the boot of this host."""

from __future__ import annotations

from pathlib import Path

import pytest

from gridengine.files.incarnation import incarnation, is_of_earlier_boot


@pytest.mark.statement("EX-10")
def test_the_identity_is_of_the_boot_and_of_the_first_process() -> None:
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    assert incarnation().startswith(f"{boot}-")
    assert incarnation().removeprefix(f"{boot}-").isdecimal()


@pytest.mark.statement("EX-10")
@pytest.mark.parametrize(("known", "is_earlier"), [("", False), ("another-boot-12", True)])
def test_an_earlier_boot_has_another_identity(known: str, is_earlier: bool) -> None:
    assert is_of_earlier_boot(known) == is_earlier
    assert not is_of_earlier_boot(incarnation())
    assert not is_of_earlier_boot(f"{incarnation()}0"), "a container that was started again"


def test_a_task_does_not_read_the_identity_again(monkeypatch: pytest.MonkeyPatch) -> None:
    known = incarnation()
    monkeypatch.setattr(Path, "read_text", lambda _: pytest.fail("a file was read"))
    assert incarnation() == known
